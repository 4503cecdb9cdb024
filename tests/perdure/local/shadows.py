"""A user's own code under the names of our folders: in a folder, and installed into an environment."""

import subprocess
import sys
import sysconfig
from pathlib import Path

OURS = ("activities", "api", "definitions", "policies", "simulator", "store", "workers", "workflows")
ALARM = "raise SystemExit('the user\\'s own code was taken for ours')\n"


def write_shadows(folder: Path) -> None:
    """Put a module or package under each of our server folders' names; importing one ends the process."""
    for number, name in enumerate(OURS):
        if number % 2:
            (folder / f"{name}.py").write_text(ALARM)
        else:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(ALARM)


def environment_with_shadows(folder: Path) -> Path:
    """A virtual environment with the project's packages, and the user's shadows installed before them.

    Returns its interpreter.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next((folder / "lib").glob("python3*")) / "site-packages"
    write_shadows(packages)
    (packages / "perdure-test.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    return folder / "bin" / "python"
