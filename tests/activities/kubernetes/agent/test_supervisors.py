"""Inside a pod nothing that is killed is missed: either of a pair goes on, and the agent ends what both have left."""

import json
from pathlib import Path

import pytest

from tests.activities.kubernetes.agent.conftest import MakeGang
from tests.activities.kubernetes.agent.world import LONG, Pod, launch_of, python
from tests.support.polling import eventually
from tests.support.processes import seen

COUNTS = python("""
for number in range(2000):
    print(number)
    time.sleep(0.001)
""")
WAITS = python("print('begun', flush=True)\ntime.sleep(600)")


def pids(pod: Pod, rank: int) -> dict[str, int]:
    identity = json.loads(pod.rank_folder(rank).joinpath("identity.json").read_text())
    return {role: identity[role]["pid"] for role in ("watcher", "supervisor", "command")}


@pytest.mark.parametrize("killed", ["watcher", "supervisor"])
def test_the_other_of_a_pair_goes_on_and_no_line_is_lost_or_doubled(gang: MakeGang, killed: str) -> None:
    made = gang(launch_of(COUNTS)).start()
    pod = made.pods[0]
    eventually(lambda: len(pod.texts(0)) > 100, LONG)
    seen(pids(pod, 0)[killed]).kill()
    assert made.wait() == [0]
    assert pod.texts(0) == [str(number) for number in range(2000)]
    assert pod.receipts().ranks[0].exit_code == 0


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_rank_without_supervisors_is_ended_and_lost(gang: MakeGang, ranks: int) -> None:
    made = gang(launch_of(WAITS, processes_per_node=ranks)).start().until_running()
    pod = made.pods[0]
    eventually(lambda: pod.texts(0) == ["begun"], LONG)
    known = pids(pod, 0)
    command = seen(known["command"])
    for role in ("watcher", "supervisor"):
        seen(known[role]).kill()
    assert made.wait() == [125]
    assert not command.alive()
    receipts = pod.receipts().ranks
    assert receipts[0].state == "lost"
    assert [receipts[rank].stopped_by for rank in range(1, ranks)] == ["gang"] * (ranks - 1)
    whole = json.loads(Path(pod.places.log_folder(1, made.launch.ref.token, 0), "receipt.json").read_text())
    assert (whole["leftovers"], whole["last_lines"]) == (1, ["begun"])


def test_a_lost_rank_ends_the_ranks_of_other_pods(gang: MakeGang) -> None:
    made = gang(launch_of(WAITS, nodes=2)).start().until_running()
    known = pids(made.pods[1], 1)
    for role in ("watcher", "supervisor"):
        seen(known[role]).kill()
    assert made.wait() == [143, 125]
    assert made.pods[0].receipts().ranks[0].stopped_by == "gang"


def test_supervisors_lost_before_the_start_keep_every_rank_from_running(gang: MakeGang) -> None:
    made = gang(launch_of(python("open(f'{run}/ran', 'w')"), nodes=2)).start(0)
    pod = made.pods[0]
    eventually(pod.rank_folder(0).joinpath("identity.json").exists, LONG)
    known = pids(pod, 0)
    for role in ("watcher", "supervisor"):
        seen(known[role]).kill()
    assert pod.wait() == 125
    assert pod.receipts().ranks[0].start_error == "gate"
    assert "lost its supervisors before the start" in pod.receipts().ranks[0].detail
    assert not pod.run_file("ran").exists()
