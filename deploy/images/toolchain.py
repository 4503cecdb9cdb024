"""Compiling the launcher: a small C compiler and a C library for static programs, unpacked and run in place."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy.images import deb
from deploy.images.apt import Package
from deploy.images.interpreter import Interpreter
from deploy.images.machine import Machine
from deploy.images.tree import Tree

PACKAGES = ("tcc", "musl-dev")
SOURCE = Path(__file__).with_name("launcher.c")


def launcher(packages: Sequence[Package], interpreter: Interpreter, machine: Machine) -> bytes:
    """The launcher as a static program for this machine. Raises Refused with the compiler's words."""
    tools = Tree()
    for package in packages:
        for path, entry in deb.entries(package.file):
            tools[path] = entry
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "tools"
        tools.extract(root)
        made = Path(scratch) / "launcher"
        interpreter.run_program(root / "usr/bin/tcc", _arguments(root, made, machine), {})
        return made.read_bytes()


def _arguments(root: Path, made: Path, machine: Machine) -> list[str | Path]:
    compiler = root / "usr/lib" / machine.gnu / "tcc"
    library = root / "usr/lib" / machine.musl
    return [
        "-static",
        "-nostdinc",
        "-nostdlib",
        f"-B{compiler}",
        f"-I{root / 'usr/include' / machine.musl}",
        f'-DLOADER="{machine.loader}"',
        "-o",
        made,
        library / "crt1.o",
        library / "crti.o",
        SOURCE,
        library / "libc.a",
        compiler / "libtcc1.a",
        library / "crtn.o",
    ]
