"""Migrations run from a wheel, wherever it is unpacked and whatever lies in the working directory."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.arch.source import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]
UV = Path(sys.executable).with_name("uv")
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from store import migrate, schema
assert migrate.upgrade(sys.argv[2]) == schema.check(sys.argv[2]) == schema.head()
print(migrate.__file__)
"""


def test_migrations_run_from_a_wheel(tmp_path: Path) -> None:
    build = [UV, "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", tmp_path]
    subprocess.run([*map(str, build), "deploy/dist/server"], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "100% installed"  # a path that a configuration file would trip over
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    users = tmp_path / "users"
    (users / "store").mkdir(parents=True)
    (users / "store" / "__init__.py").write_text("raise SystemExit('the wrong store')\n")
    (users / "alembic.ini").write_text("[alembic]\nscript_location = nowhere\n")
    command = [sys.executable, "-I", "-c", PROGRAM, str(installed), f"sqlite:///{tmp_path / 'control.db'}"]
    done = subprocess.run(command, cwd=users, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(installed / "store" / "migrate.py")
