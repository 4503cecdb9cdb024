"""The interpreter that goes into every pod: Python with its own loader and libraries, for any folder of any image.

Made of the base layer's files. The standard library is one archive of compiled modules, so a pod has few files to copy:

    python                    the launcher, a static program: needs nothing of the image it runs in
    lib/ld-linux-…, lib*.so   loader and libraries
    lib/interpreter           the interpreter
    lib/python311.zip         the standard library
    lib/python3.11/lib-dynload/*.so   its modules in C that need no further library
"""

import tempfile
from pathlib import Path

from deploy.images.base import STANDARD
from deploy.images.interpreter import VERSION, Interpreter
from deploy.images.machine import Machine
from deploy.images.tree import EXECUTABLE, File, Tree

PLACE = "opt/perdure/agent"  # in our image
LIBRARIES = ("libc.so.6", "libm.so.6", "libz.so.1", "libexpat.so.1", "libffi.so.8")
ARCHIVE = f"lib/python{VERSION.replace('.', '')}.zip"
# Modules in C by name; the others need further libraries, are for other work, or for tests.
IN_C = (
    "_asyncio", "_contextvars", "_ctypes", "_decimal", "_json", "_multiprocessing", "_posixshmem", "_queue",
    "_typing", "_zoneinfo", "mmap", "resource", "termios",
)  # fmt: skip
# Packages and modules that a supervisor in a pod never needs: tools for developers, and what needs absent modules in C.
LEFT_OUT = (
    "curses", "dbm", "distutils", "ensurepip", "idlelib", "lib-dynload", "lib2to3", "pydoc_data", "sqlite3", "tkinter",
    "turtledemo", "unittest", "venv", "wsgiref", "xmlrpc",
)  # fmt: skip


def build(base: Tree, interpreter: Interpreter, launcher: bytes, machine: Machine) -> Tree:
    """The bundle's files, by path from its folder."""
    tree = Tree()
    tree["python"] = File(launcher, EXECUTABLE)
    tree["lib/interpreter"] = File(base.file(f"usr/bin/python{VERSION}"), EXECUTABLE)
    tree[f"lib/{machine.loader}"] = File(base.file(f"usr/lib/{machine.gnu}/{machine.loader}"), EXECUTABLE)
    for name in LIBRARIES:
        tree[f"lib/{name}"] = File(base.file(f"usr/lib/{machine.gnu}/{name}"))
    for name in IN_C:
        module = f"lib-dynload/{name}.cpython-{VERSION.replace('.', '')}-{machine.gnu}.so"
        tree[f"lib/python{VERSION}/{module}"] = File(base.file(f"{STANDARD}/{module}"))
    tree[ARCHIVE] = File(_standard_library(base, interpreter))
    return tree


def _standard_library(base: Tree, interpreter: Interpreter) -> bytes:
    sources = Tree()
    for path, entry in base.under(STANDARD):
        if path.endswith(".py") and path.split("/")[0] not in LEFT_OUT:
            sources[path] = entry
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "library"
        sources.extract(folder)
        archive = Path(scratch) / "library.zip"
        interpreter.compile(folder, f"/{STANDARD}", archive)
        return archive.read_bytes()
