"""The images' own Python, run from a folder on this machine: it compiles modules exactly as the image will load them.

Its loader is started with its own libraries, so neither this machine's Python nor its C library takes part, nothing is
installed, and root is not needed.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from deploy.images.machine import Machine, Refused

VERSION = "3.11"
COMPILER = Path(__file__).with_name("compiler.py")


class Interpreter:
    def __init__(self, root: Path, machine: Machine) -> None:
        self._root = root
        self._libraries = root / "usr" / "lib" / machine.gnu
        self._loader = self._libraries / machine.loader

    def run_program(self, program: Path, arguments: Sequence[str | Path], environment: dict[str, str]) -> str:
        """Run a program of the image with the image's libraries. Raises Refused with what it said."""
        done = subprocess.run(
            [self._loader, "--library-path", self._libraries, program, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise Refused(f"{program.name} ended with {done.returncode}:\n{done.stdout[-2000:]}")
        return done.stdout

    def compile(self, folder: Path, installed_at: str, archive: Path | None = None) -> None:
        """Compile the modules below `folder`, for where the image has them; `archive` becomes a zip of the results.

        The same input gives the same bytes.
        """
        python = self._root / "usr" / "bin" / f"python{VERSION}"
        # A fixed seed: sets of constants are written in the order of their hashes.
        environment = {"PYTHONHOME": str(self._root / "usr"), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        more = [archive] if archive else []
        self.run_program(python, ["-s", "-S", COMPILER, folder, installed_at, *more], environment)
