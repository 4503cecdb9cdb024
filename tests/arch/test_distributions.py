"""Both distributions build from a checkout, and the light one works where nothing of the server is installed."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.arch.source import ROOT, SERVER_FOLDERS
from tests.support.stack import running_stack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
UV = Path(sys.executable).with_name("uv")
SERVER_ONLY = ("temporalio", "sqlalchemy", "fastapi", "alembic", "cryptography", *SERVER_FOLDERS)


def run(*command: str | Path, cwd: Path = ROOT, environment: Mapping[str, str] | None = None) -> str:
    inherited = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    inherited.setdefault("UV_SYSTEM_CERTS", "1")
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**inherited, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both wheels by top name, built without a network: the build backend is the one of this environment."""
    target = tmp_path_factory.mktemp("wheels")
    for source in (".", "deploy/dist/server"):
        run(UV, "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", target, source)
    return {path.name.split("-")[0]: path for path in target.glob("*.whl")}


def top_level(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name.split("/")[0] for name in archive.namelist() if ".dist-info/" not in name}


def test_each_wheel_holds_its_own_folders_and_no_leftovers(wheels: dict[str, Path]) -> None:
    assert top_level(wheels["perdure"]) == {"perdure"}
    assert top_level(wheels["perdure_server"]) == set(SERVER_FOLDERS)
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            assert [name for name in archive.namelist() if "__pycache__" in name or name.endswith(".pyc")] == []


@pytest.fixture(scope="module")
def light(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the light distribution and nothing else."""
    folder = tmp_path_factory.mktemp("light")
    run(UV, "venv", "--python", sys.executable, folder / "venv")
    python = folder / "venv" / "bin" / "python"
    lock = ROOT / "requirements" / "light.lock.txt"
    run(UV, "pip", "install", "--python", python, "--require-hashes", "-r", lock)
    run(UV, "pip", "install", "--python", python, "--no-deps", "--offline", wheels["perdure"])
    return python


def test_the_light_wheel_works_alone(light: Path, tmp_path: Path) -> None:
    probe = f"import importlib.util as u; print([n for n in {SERVER_ONLY!r} if u.find_spec(n)])"
    assert run(light, "-I", "-c", f"import perdure; {probe}", cwd=tmp_path).strip() == "[]"
    assert "0.1.0" in run(light.with_name("perdure"), "version", cwd=tmp_path)


def test_the_light_installation_submits_to_an_api_elsewhere(light: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "hello.txt").write_text("hello from afar")
    with running_stack(tmp_path / "home") as stack:
        remote = {
            "PERDURE_HOME": str(tmp_path / "nothing-here"),
            "PERDURE_API_URL": f"http://127.0.0.1:{stack.ports['API']}",
            "PERDURE_API_KEY": (stack.home / "admin.token").read_text().strip(),
        }
        cli = light.with_name("perdure")
        run(cli, "run", "--name", "far", "--wait", "--", "cat", "hello.txt", cwd=project, environment=remote)
        assert "hello from afar" in run(cli, "jobs", "logs", "far", cwd=project, environment=remote)


def test_both_wheels_together_bring_every_folder(wheels: dict[str, Path], tmp_path: Path) -> None:
    run(UV, "venv", "--python", sys.executable, tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    run(UV, "pip", "install", "--python", python, "--no-deps", "--offline", *wheels.values())
    probe = f"import importlib.util as u; print([n for n in {SERVER_FOLDERS!r} if not u.find_spec(n)])"
    assert run(python, "-I", "-c", probe, cwd=tmp_path).strip() == "[]"
