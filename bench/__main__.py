"""`make bench`: every benchmark one after another, one JSON line each on stdout; or only those that are named."""

import subprocess
import sys

ALL = ("overhead", "accept", "throughput")


def main(wanted: list[str]) -> int:
    unknown = set(wanted) - set(ALL)
    if unknown:
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(ALL)}", file=sys.stderr)
        return 2
    # A process each: one leaves no memory, no engine client and no threads behind for the next.
    return max(
        subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False).returncode for name in wanted or ALL
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
