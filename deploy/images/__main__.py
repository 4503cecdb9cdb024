"""Build both images: python -m deploy.images [--out DIR] [--only NAME] [--upgrade]"""

import argparse
import sys
from pathlib import Path

from deploy.images.builder import NAMES, ROOT, build
from deploy.images.machine import Refused


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.images", description="Build the container images.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "images", help="folder for the tar files")
    parser.add_argument("--only", choices=NAMES, help="build this image alone")
    parser.add_argument("--upgrade", action="store_true", help="take newer Debian packages")
    given = parser.parse_args(arguments)
    try:
        build(given.out, [given.only] if given.only else list(NAMES), _say, upgrade=given.upgrade)
    except Refused as refusal:
        print(f"images: {refusal}", file=sys.stderr)
        return 1
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
