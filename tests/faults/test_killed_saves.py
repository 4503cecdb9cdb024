"""SIGKILL at random moments of a save, 200 times: there is always a complete checkpoint, and it is the right one."""

import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from activities.checkpoints import judge, remove
from definitions import protocol
from definitions.attempt import CheckpointRecord
from definitions.job_state import CheckpointRules
from policies.checkpoints import resume_point
from policies.retention import to_prune
from tests.support.job_ranks import JOB_FILE

TRAINER = Path(__file__).with_name("killed_trainer.py")
INTERVAL = 5  # of the trainer
KILLS = 200
SEED = 20260101
MOMENTS = 160  # a save has about half as many, so kills fall into the first saves of an attempt and between their parts

pytestmark = pytest.mark.faults


def test_two_hundred_kills_within_saves_lose_one_interval_each_at_the_most(tmp_path: Path) -> None:
    shutil.copy(JOB_FILE, tmp_path / "job.py")
    run = tmp_path / "run"
    chance = random.Random(SEED)
    start: CheckpointRecord | None = None
    found: Counter[str] = Counter()
    for attempt in range(1, KILLS + 1):
        said = killed_attempt(tmp_path, run, attempt, start, moments=chance.randint(1, MOMENTS))
        records = judge(run)
        found[phase_of_death(run, attempt, said["reached"])] += 1
        start = resume_point(records)
        assert said["resumed"] <= said["saved"], "nothing that was reported as saved is behind where it began"
        assert (start.step if start else 0) >= said["saved"], "nothing that was reported as saved is lost"
        assert said["reached"] - (start.step if start else 0) <= INTERVAL
        if start:
            assert saved_state(run, start) == state_at(start.step)
        remove(run, to_prune(records, CheckpointRules(keep_last=2), in_use=[start.folder] if start else []))
    print(f"kills by phase: {dict(found)}")
    assert start is not None
    assert start.step > KILLS, "it gets on, kills or not"
    assert sum(found.values()) == KILLS
    assert found["writing files"] > KILLS // 4
    assert found["between files and manifest"] > KILLS // 20
    assert found["manifest is there"] > 0


def killed_attempt(
    helper: Path, run: Path, attempt: int, start: CheckpointRecord | None, moments: int
) -> dict[str, int]:
    """Run the trainer until it is killed; the last step of each kind that it told."""
    environment = {
        protocol.RUN_DIR: str(run),
        protocol.ATTEMPT: str(attempt),
        protocol.ATTEMPT_TOKEN: f"{attempt:032x}",
        **({protocol.RESUME_FROM: str(run / start.folder), protocol.RESUME_STEP: str(start.step)} if start else {}),
    }
    command = [sys.executable, "-I", str(TRAINER), str(helper), str(moments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    told = dict.fromkeys(("resumed", "reached", "saved"), 0)
    for line in done.stdout.splitlines():
        what, step = line.split()
        told[what] = int(step)
    told["saved"] = max(told["saved"], told["resumed"])
    return told


def phase_of_death(run: Path, attempt: int, step: int) -> str:
    """How far the save had come, by what is on disk."""
    folder = run / protocol.checkpoint_folder(step, f"{attempt:032x}")
    if (folder / protocol.manifest_file(0)).exists():
        return "manifest is there"
    if (folder / "rank-0").exists():
        return "between files and manifest"
    return "writing files" if list((folder / "rank-0.tmp").glob("*")) else "beginning"


def saved_state(run: Path, record: CheckpointRecord) -> str:
    body = json.loads((run / record.folder / "rank-0/state.json").read_text())
    return str(body["state"])


def state_at(step: int) -> str:
    """What an undisturbed run would have at that step."""
    state = ""
    for number in range(1, step + 1):
        state = hashlib.sha256(f"{state}{number}".encode()).hexdigest()
    return state
