"""One adapter per outside system; the only home of third-party SDKs."""
