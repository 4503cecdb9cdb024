"""Starts one module of the control plane in an interpreter that sees only our code and the installed packages.

    python -I _boot.py [--parent PID] MODULE [ARGUMENT ...]

`-I` alone keeps out the working directory and PYTHONPATH, but not a package of the user's that was installed under one
of our names: so our own root goes first on the path, and each of our folders must then come from it. With `--parent`
the process ends when that process does.
"""

import ctypes
import importlib
import importlib.util
import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("perdure", "definitions", "policies", "store", "activities", "workflows", "api", "workers", "simulator")
LOCK_VARIABLE = "PERDURE_LOCK_FD"
REFUSED = 78  # EX_CONFIG: starting again cannot help
PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    if not sys.flags.isolated:
        _refuse("start this file with `python -I`: the interpreter is not isolated")
    if arguments[0] == "--parent":
        _die_with(int(arguments[1]))
        arguments = arguments[2:]
    sys.path.insert(0, str(ROOT))
    for folder in FOLDERS:
        _require_ours(folder)
    _keep_lock_private()
    sys.argv = arguments
    importlib.import_module(arguments[0]).main()


def _die_with(parent: int) -> None:
    """Ask the kernel for SIGKILL when the parent ends, and notice when it has ended already."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def _require_ours(folder: str) -> None:
    spec = importlib.util.find_spec(folder)
    if spec is None:
        _refuse(f"{folder} is not installed beside {ROOT / 'perdure'} [PD-4007]")
    elif spec.origin is None or Path(spec.origin).resolve() != ROOT / folder / "__init__.py":
        _refuse(f"`{folder}` would be imported from {spec.origin}, not from {ROOT / folder} [PD-4010]")


def _keep_lock_private() -> None:
    """We hold the home's lock; what we start (jobs above all, which outlive us) must not."""
    if descriptor := os.environ.get(LOCK_VARIABLE):
        os.set_inheritable(int(descriptor), False)


def _refuse(why: str) -> None:
    print(f"refused: {why}", file=sys.stderr, flush=True)
    os._exit(REFUSED)


if __name__ == "__main__":
    main(sys.argv[1:])
