"""Starts the pair of one rank: `python -I -S shim/__main__.py <rank folder>`, its launch as JSON on standard input.

Answers with one line on standard output once the rank's identity is durable: `started`; or `held`, `ended`, `lost`
when there is nothing to start, or `fault: ...`. By then the pair is a daemon that needs nobody.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys


def main() -> None:
    gc.disable()  # nothing here makes cycles, and a collector's writes would part the pages that the pair shares
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    pair, spec = importlib.import_module("shim.pair"), importlib.import_module("shim.spec")
    try:
        launch = spec.parse(sys.argv[1], _read(0))
    except ValueError as error:
        print(f"fault: {error}")
        sys.exit(1)
    if os.fork() > 0:
        os._exit(0)
    os.setsid()
    os.chdir("/")
    os.umask(0o077)
    report = os.dup(1)
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)
    pair.run(launch, report)


def _read(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 1 << 16):
        parts.append(part)
    return b"".join(parts)


if __name__ == "__main__":
    main()
