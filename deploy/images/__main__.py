"""Build both images: python -m deploy.images [--out DIR] [--upgrade]"""

import argparse
import sys
from pathlib import Path

from deploy.images import oci
from deploy.images.builder import ROOT, Builder
from deploy.images.machine import Refused, this_machine
from deploy.testcluster import cache

FILES = {"training": "training.tar", "perdure": "perdure.tar"}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.images", description="Build the container images.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "images", help="folder for the tar files")
    parser.add_argument("--upgrade", action="store_true", help="take newer Debian packages")
    parser.add_argument("--only", choices=FILES, help="build this image alone")
    given = parser.parse_args(arguments)
    try:
        build(given.out, [given.only] if given.only else list(FILES), upgrade=given.upgrade)
    except Refused as refusal:
        print(f"images: {refusal}", file=sys.stderr)
        return 1
    return 0


def build(out: Path, wanted: list[str], *, upgrade: bool = False) -> dict[str, Path]:
    """Build the wanted images into `out`. Two builds at a time wait for each other. Raises Refused."""
    out.mkdir(parents=True, exist_ok=True)
    made = {}
    with (
        cache.only_one("images", _say),
        Builder(cache.folder() / "images", this_machine(), _say, upgrade=upgrade) as builder,
    ):
        for name in wanted:
            _say(f"image {name}")
            image = getattr(builder, name)()
            made[name] = out / FILES[name]
            oci.save(image, made[name])
            _say(f"  {made[name]}: {' and '.join(image.names)}")
    return made


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
