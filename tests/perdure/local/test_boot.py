"""Children see our code under our names, whatever the user has, and end with their parent."""

import os
import subprocess
import sys
from pathlib import Path

from perdure.local import _boot
from perdure.local.lock import acquire, is_held
from tests.perdure.local.shadows import environment_with_shadows, write_shadows
from tests.support.polling import eventually
from tests.support.processes import seen

BOOT = _boot.__file__
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-I", sys.argv[1], "--parent", str(os.getpid()), "workers.temporal_server"])
print(child.pid, flush=True)
sys.stdin.read()
"""


def boot(
    *arguments: str, python: str = sys.executable, isolated: bool = True, **given: object
) -> subprocess.CompletedProcess[str]:
    command = [python, *(["-I"] if isolated else []), BOOT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **given)  # type: ignore[call-overload, no-any-return]


def test_shadows_in_the_working_directory_and_on_the_search_path_are_not_seen(tmp_path: Path) -> None:
    write_shadows(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "PERDURE_API_PORT": "none"}
    done = boot("workers.migrate", cwd=tmp_path, env=environment)
    assert done.returncode == 78
    assert "PERDURE_API_PORT" in done.stderr  # our own code ran: it refused its settings


def test_shadows_that_are_installed_come_after_ours(tmp_path: Path) -> None:
    python = environment_with_shadows(tmp_path / "env")
    done = boot("workers.migrate", python=str(python), env=os.environ | {"PERDURE_API_PORT": "none"})
    assert done.returncode == 78
    assert "PERDURE_API_PORT" in done.stderr


def test_a_shadow_that_was_imported_before_us_is_refused_by_name(tmp_path: Path) -> None:
    python = environment_with_shadows(tmp_path / "env")
    packages = next((tmp_path / "env" / "lib").glob("python3*")) / "site-packages"
    (packages / "store" / "__init__.py").unlink(missing_ok=True)
    (packages / "definitions" / "__init__.py").write_text("")
    (packages / "early.pth").write_text("import definitions\n")
    done = boot("workers.migrate", python=str(python))
    assert done.returncode == 78
    assert f"`definitions` would be imported from {packages}" in done.stderr
    assert "[PD-4010]" in done.stderr


def test_an_interpreter_that_is_not_isolated_is_refused() -> None:
    done = boot("workers.migrate", isolated=False)
    assert done.returncode == 78
    assert "python -I" in done.stderr


def test_a_child_whose_parent_has_gone_already_does_nothing(tmp_path: Path) -> None:
    done = boot("--parent", "1", "workers.migrate", env=os.environ | {"PERDURE_HOME": str(tmp_path / "home")})
    assert done.returncode == 0
    assert not (tmp_path / "home").exists()


def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    environment = os.environ | {"PERDURE_HOME": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", "import os" + PARENT, BOOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    ) as parent:
        assert parent.stdout is not None
        child = seen(int(parent.stdout.readline()))
        eventually(lambda: (tmp_path / "temporal.db.new").exists(), 30, "the child at work")
        parent.kill()
    eventually(lambda: not child.alive(), 10, "the end of the child")


def test_what_a_child_starts_does_not_hold_the_lock(tmp_path: Path) -> None:
    """A job must not keep the home closed: the descriptor is closed when a child of ours starts a program."""
    descriptor = acquire(tmp_path / "lock")
    script = tmp_path / "probe.py"
    script.write_text(
        "import subprocess, sys\n"
        f"sys.path.insert(0, {str(Path(BOOT).parents[2])!r})\n"
        "from perdure.local import _boot\n"
        "_boot._keep_lock_private()\n"
        "job = subprocess.Popen(['sleep', '60'], close_fds=False, stdout=subprocess.DEVNULL)\n"
        "print(job.pid, flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {_boot.LOCK_VARIABLE: str(descriptor)},
        pass_fds=(descriptor,),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    job = seen(int(done.stdout))
    os.close(descriptor)
    assert not is_held(tmp_path / "lock")
    assert job.alive()
    job.kill()
