"""What is asked of ranks, as files: repeats change nothing, and of two requests the sooner end counts."""

import time
from pathlib import Path
from typing import Any

import pytest

from activities.adapters.local.shim import asking, checkpointing, files, gate, peers, spec
from activities.adapters.local.shim.stopping import CAUSES, Stops


def stop(grace: float, until: float | None = None, cause: str | None = None) -> dict[str, Any]:
    save = None if until is None else {"id": "s", "until": until}
    made: dict[str, Any] = {"reason": f"after {grace:g}", "grace": grace, "checkpoint": save}
    return made if cause is None else {**made, "cause": cause}


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (stop(5), stop(9), stop(5)),
        (stop(9), stop(5), {**stop(5), "reason": "after 9"}),
        (stop(9, 100), stop(9, 50), stop(9, 50)),
        (stop(9, 100), stop(5), stop(5)),
        (stop(9, cause="shutdown"), stop(9, cause="shutdown"), stop(9, cause="shutdown")),
        (stop(9, cause="shutdown"), stop(9), stop(9)),
        (stop(9), stop(9, cause="shutdown"), stop(9)),
    ],
    ids=["longer", "shorter", "less time to save", "no save", "told twice", "people, too", "the machine, too"],
)
def test_of_two_stops_the_sooner_end_counts_and_people_are_the_cause(
    first: dict[str, Any], second: dict[str, Any], expected: dict[str, Any], tmp_path: Path
) -> None:
    for wanted in (first, second, second):
        asking.stop(str(tmp_path), wanted)
    assert files.read_json(str(tmp_path / "stop.json")) == expected
    made = gate.decision(str(tmp_path))
    assert made is not None
    assert made["gate"] == gate.CLOSED


def test_a_request_to_the_job_is_carried_out_once_per_id(tmp_path: Path) -> None:
    one, two = (checkpointing.control_request(name, checkpoint=True) for name in ("one", "two"))
    done = [asking.control(str(tmp_path), str(tmp_path), request, None) for request in (one, two, one)]
    assert done == [True, True, False]
    assert files.read_json(str(tmp_path / "control.json")) == two


def rank_of(folder: Path, here: list[int], **changes: Any) -> spec.Spec:
    raw: dict[str, Any] = {
        "run_folder": str(folder), "rank": here[0], "ranks": 4, "node": "n", "token": "t", "argv": ["true"], "env": {},
        "cwd": "/", "masked": [], "secret_folder": None, "secret_files": {}, "service": False, "deadline": None,
        "grace": 30.0, "hang_after": None, "restart": {}, "readiness": None, "gate_within": 60.0, "log_size": 1,
        "log_files": 1, "notify": "", "key": "", "here": here,
    }  # fmt: skip
    folder.joinpath("x").touch()  # so that the folder has changed
    return spec.Spec(str(folder), {**raw, **changes})


def test_ranks_that_are_not_all_here_leave_the_gate_to_others(tmp_path: Path) -> None:
    view = gate.Gate(rank_of(tmp_path, [0]))
    assert view.look() is None
    late = gate.Gate(rank_of(tmp_path, [0], gate_within=0.0)).look()
    assert late is not None
    assert (late["gate"], late["why"]) == (gate.CLOSED, "another machine's rank was not there within 0 s")


def test_a_save_is_settled_when_the_ranks_here_and_those_elsewhere_have_answered(tmp_path: Path) -> None:
    wait = checkpointing.CheckpointFirst(rank_of(tmp_path, [2, 3]))
    wanted = {"id": "s", "until": time.time() + 60}
    assert not wait.settled(wanted)
    for rank in (2, 3):
        files.write_json(str(tmp_path / f"ack-{rank}.json"), {"id": "s"})
    assert not wait.settled(wanted)
    files.write_json(str(tmp_path / "saved.json"), {"id": "another"})
    assert not wait.settled(wanted)
    files.write_json(str(tmp_path / "saved.json"), {"id": "s"})
    assert wait.settled(wanted)


@pytest.mark.parametrize(
    ("request_", "failed", "expected"),
    [
        (None, (0, None), ("gang", 3.0)),
        (None, (0, 0.8), ("gang", 0.8)),
        (stop(9, time.time() + 86_400, cause="shutdown"), (0, None), ("shutdown", 3.0)),
        (stop(9, cause="shutdown"), (0, None), ("shutdown", 9.0)),
        (stop(9, cause="shutdown"), None, ("shutdown", 9.0)),
        (stop(9), None, ("request", 9.0)),
    ],
    ids=["gang", "late", "while it saves", "leaving, and gang", "leaving", "asked"],
)
def test_why_a_rank_is_ended_and_how_long_it_has(
    tmp_path: Path,
    request_: dict[str, Any] | None,
    failed: tuple[int, float | None] | None,
    expected: tuple[str, float],
) -> None:
    stops = Stops(rank_of(tmp_path, [2]))
    stops.begun()
    if request_ is not None:
        asking.stop(str(tmp_path), request_)
    if failed is not None:
        peers.announce(str(tmp_path), failed[0], "it ended badly", failed[1])
    found = stops.find()
    assert found is not None
    assert (CAUSES[found.cause], found.grace) == expected
