"""The main job, disturbed on purpose: `make demo`.

Starts a control plane of its own, trains once undisturbed, trains again while the worker, the workflow engine and a
rank are killed, and checks that the second run came to the very same weights. KEEP=1 leaves the control plane running,
in the usual home and on the usual ports.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import yaml
from demo_stage import DemoFailed, Plane, control_plane, processes_of
from rich.console import Console
from rich.table import Table

from perdure.client import Run
from perdure.errors import PerdureError

HERE = Path(__file__).resolve().parent
STEPS, SAVE_EVERY = 900, 50
LEAST_ACCURACY = 0.95
BETWEEN = range(15, 40)
WORKER_DIES_AT, ENGINE_DIES_AT, RANK_DIES_AT = 60, 160, 320
console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 120)


def main() -> NoReturn:
    keep = os.environ.get("KEEP") == "1"
    # The job runs the `python` of its submitter: the one that has numpy, scikit-learn and perdure.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    home = None if keep else Path(tempfile.mkdtemp(prefix="perdure-demo-"))
    try:
        with control_plane(console, home) as plane:
            _play(plane)
        if home is not None:
            _nothing_left(home)
    except (DemoFailed, PerdureError) as failure:
        console.print(f"[bold red]The demo failed:[/] {failure}")
        if home is not None:
            console.print(f"What was there is kept in {home}")
        sys.exit(1)
    except KeyboardInterrupt:
        console.print("Interrupted; jobs and control plane were stopped.")
        sys.exit(130)
    if home is not None:
        shutil.rmtree(home)
        console.print("The control plane has stopped and nothing is left. KEEP=1 make demo leaves it running.")
    else:
        console.print("The control plane goes on running. `perdure down` stops it.")
    sys.exit(0)


def _play(plane: Plane) -> None:
    console.print("\n[bold]1. An undisturbed run[/], to know what should come out")
    calm = plane.submit(_document("digits-undisturbed", step_seconds=0.0), HERE)
    expected = _result(plane, calm)
    console.print(f"   weights sha256 {expected['sha256']}, test accuracy {expected['accuracy']:.4f}")

    console.print("\n[bold]2. The same run, disturbed[/]")
    run = plane.submit(_document("digits", step_seconds=0.04), HERE)
    _kill_worker(plane, run)
    _kill_engine(plane, run)
    killed_at = _kill_rank(plane, run)
    found = _result(plane, run)

    console.print("\n[bold]3. What became of it[/]")
    _check_attempts(run, killed_at)
    _check_result(found, expected)
    _show(plane, run)


def _document(name: str, step_seconds: float) -> dict[str, Any]:
    """The example's own job.yaml, with the demo's name, number of steps and pace."""
    document: dict[str, Any] = yaml.safe_load((HERE / "job.yaml").read_text())
    document["metadata"]["name"] = name
    options = {"--steps": STEPS, "--save-every": SAVE_EVERY, "--step-seconds": step_seconds}
    document["spec"]["args"] = [str(word) for option in options.items() for word in option]
    return document


def _kill_worker(plane: Plane, run: Run) -> None:
    plane.until_step(run, WORKER_DIES_AT)
    _kill_part(plane, run, "worker")


def _kill_engine(plane: Plane, run: Run) -> None:
    plane.until_step(run, ENGINE_DIES_AT)
    _kill_part(plane, run, "temporal")


def _kill_part(plane: Plane, run: Run, name: str) -> None:
    """SIGKILL a process of the control plane; the same attempt must go on, meanwhile and afterwards."""
    before = next(iter(run.attempts())).token
    step = run.refresh().step or 0
    pid = plane.pid(name)
    os.kill(pid, signal.SIGKILL)
    console.print(f"   step {step}: SIGKILL to the {name} process (pid {pid})")
    plane.until_back(name, pid)
    later = plane.until_step(run, step + 20)
    attempts = list(run.attempts())
    _check(
        [attempt.token for attempt in attempts] == [before],
        f"the {name} process is back, and attempt 1 went on: step {later}",
        f"attempt 1 should have gone on; there are {len(attempts)} attempts",
    )


def _kill_rank(plane: Plane, run: Run) -> int:
    """SIGKILL rank 1 between two checkpoints and return the step that had been reached."""
    plane.until_step(run, RANK_DIES_AT)
    plane.until(run, "a moment between two checkpoints", lambda: plane.latest_step(run) % SAVE_EVERY in BETWEEN)
    pids = processes_of(PERDURE_JOB=run.id, PERDURE_RANK="1")
    _check(len(pids) >= 1, "", "no process of rank 1 can be found")
    step = plane.latest_step(run)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    console.print(f"   step {step}: SIGKILL to rank 1 (pid {', '.join(map(str, pids))})")
    view = plane.until(run, "the second attempt", lambda: run.refresh().attempt == 2 and run.view.phase == "Running")
    console.print(f"   attempt {view.attempt} is running: {view.reason}")
    return step


def _result(plane: Plane, run: Run) -> dict[str, Any]:
    """Wait for the end and read what the job left in its artifacts."""
    view = plane.until_end(run)
    if view.phase != "Succeeded":
        raise DemoFailed(f"job {view.name} is {view.phase}: {view.reason}")
    result: dict[str, Any] = json.loads(run.artifact("result.json"))
    return result


def _check_attempts(run: Run, killed_at: int) -> None:
    attempts = list(run.attempts())
    _check(len(attempts) == 2, "exactly two attempts", f"two attempts were expected, there are {len(attempts)}")
    first, second = attempts
    start, reached = second.from_step or 0, max(first.reached_step or 0, killed_at)
    _check(
        0 < start < STEPS,
        f"attempt 2 resumed from the verified checkpoint of step {start}",
        f"attempt 2 began from step {start}, which is not between 0 and {STEPS}",
    )
    _check(
        0 <= reached - start <= SAVE_EVERY,
        f"lost work: {reached - start} steps of at most {SAVE_EVERY}",
        f"{reached - start} steps were lost; a checkpoint was due every {SAVE_EVERY}",
    )


def _check_result(found: dict[str, Any], expected: dict[str, Any]) -> None:
    _check(
        found["accuracy"] >= LEAST_ACCURACY,
        f"test accuracy {found['accuracy']:.4f}",
        f"test accuracy is {found['accuracy']}, less than {LEAST_ACCURACY}",
    )
    _check(
        found["sha256"] == expected["sha256"],
        "the weights are those of the undisturbed run, to the bit",
        f"the weights are {found['sha256']}, undisturbed they were {expected['sha256']}",
    )


def _check(holds: bool, so: str, otherwise: str) -> None:
    if not holds:
        raise DemoFailed(otherwise)
    if so:
        console.print(f"   [green]✓[/] {so}")


def _show(plane: Plane, run: Run) -> None:
    table = Table(
        "attempt", "began", "from step", "reached", "checkpoint", "end", title="Attempts", title_justify="left"
    )
    for attempt in run.attempts():
        began = f"{attempt.started_at:%H:%M:%S}" if attempt.started_at else "-"
        steps = (attempt.from_step, attempt.reached_step, attempt.checkpoint_step)
        table.add_row(
            str(attempt.number), began, *("-" if step is None else str(step) for step in steps), attempt.reason
        )
    console.print()
    console.print(table)
    console.print("\nTimeline")
    for event in run.events():
        console.print(f"  {event.at:%H:%M:%S.%f}"[:-3], f"{event.actor:12} {event.reason}", markup=False)
    console.print(f"\nAPI documentation      {plane.api}/docs")
    console.print(f"The job's workflow     {run.refresh().links.workflow}\n", markup=False)


def _nothing_left(home: Path) -> None:
    left = processes_of(below=home)
    if left:
        raise DemoFailed(f"processes are left: {left}")


if __name__ == "__main__":
    main()
