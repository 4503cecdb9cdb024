"""PID 1 of a job's container: `python -I -S <root>/bin/agent/main.py`. What it is to do stands in `specs.json`."""

from __future__ import annotations

import gc
import importlib
import os
import sys


def main() -> None:
    gc.disable()  # pairs are forked from here and share this code's memory for as long as nobody writes to it
    binaries = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, binaries)
    sys.dont_write_bytecode = True
    importlib.import_module("agent.life").run(os.path.dirname(binaries))


if __name__ == "__main__":
    main()
