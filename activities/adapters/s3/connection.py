"""Where a bucket is, and clients of it. Credentials come from the SDK's own chain (environment, file, role)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import boto3
from botocore.config import Config

from activities.ports import PortError

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

SCHEME = "s3"
CONNECT_WITHIN = 5  # seconds
ANSWER_WITHIN = 60  # seconds without a byte
TRIES = 4  # of one call, with growing pauses between them
CONNECTIONS = 32
DEFAULT_REGION = "us-east-1"  # what stores that know no regions expect in a signature


@dataclass(frozen=True)
class S3Place:
    """`prefix` is empty or ends with a slash. `pod_endpoint`: the same store as pods reach it, where that differs."""

    bucket: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None
    pod_endpoint: str | None = None

    @classmethod
    def parse(
        cls, address: str, *, endpoint: str | None, region: str | None, pod_endpoint: str | None = None
    ) -> "S3Place":
        """Read `s3://bucket/prefix`. Raises PortError(permanent, PD-3414) for anything else."""
        parts = urlsplit(address)
        if parts.scheme != SCHEME or not parts.netloc or parts.query or parts.fragment or "@" in parts.netloc:
            raise PortError(
                f"{address[:80]!r} is not s3://BUCKET or s3://BUCKET/PREFIX", permanent=True, code="PD-3414"
            )
        prefix = parts.path.strip("/")
        return cls(parts.netloc, f"{prefix}/" if prefix else "", endpoint, region, pod_endpoint)

    def __str__(self) -> str:
        return f"{SCHEME}://{self.bucket}/{self.prefix}"


def connect(place: S3Place, endpoint: str | None = None) -> "S3Client":
    """A client, safe to share between threads. Makes no call. Raises PortError PD-3414 for an unusable endpoint."""
    config = Config(
        signature_version="s3v4",
        connect_timeout=CONNECT_WITHIN,
        read_timeout=ANSWER_WITHIN,
        retries={"total_max_attempts": TRIES, "mode": "standard"},
        max_pool_connections=CONNECTIONS,
        # The signature covers each body's sha256, which every S3 store verifies, also those that know no checksums.
        s3={"addressing_style": "path" if place.endpoint else "auto", "payload_signing_enabled": True},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    try:
        return boto3.session.Session().client(
            "s3",
            endpoint_url=endpoint or place.endpoint,
            region_name=place.region or (DEFAULT_REGION if place.endpoint else None),
            config=config,
        )
    except ValueError as error:
        raise PortError(f"no client for {place}: {error}", permanent=True, code="PD-3414") from error
