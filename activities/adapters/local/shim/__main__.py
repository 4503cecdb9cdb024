"""Starts pairs of supervisors for ranks of one attempt: `python -I -S shim/__main__.py <attempt folder>`.

The launches come as a JSON list on standard input. Each rank is answered with one line on standard output: its number
and `started`, once its identity is durable; or `held`, `ended`, `lost` when there is nothing to start, or `fault: ...`.
By then its pair is a daemon that needs nobody. Pairs that are forked from here share their code's memory.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    gc.disable()  # nothing here makes cycles, and a collector's writes would part the pages that all pairs share
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    pair, spec = importlib.import_module("shim.pair"), importlib.import_module("shim.spec")
    try:
        launches = spec.parse(sys.argv[1], _read(0))
    except ValueError as error:
        print(f"fault: {error}")
        sys.exit(1)
    for launch in launches:
        try:
            forked = os.fork()
        except OSError as error:
            os.write(1, f"{launch.rank} {pair.FAULT}: {error}\n".encode())
            continue
        if forked == 0:
            _become_daemon(pair, launch)
    os._exit(0)


def _become_daemon(pair: Any, launch: Any) -> None:
    """Does not return."""
    os.setsid()
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
