"""Several pods: all run or none does, a bad end reaches all, and what is asked of the first pod holds for all."""

import json
import socket
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from activities.adapters.kubernetes.agent import deciding
from definitions.cluster import ClusterSettings
from definitions.states import FailureClass, Mode
from policies.failure import judge
from policies.pod_evidence import observation
from tests.activities.kubernetes.agent.conftest import MakeGang
from tests.activities.kubernetes.agent.network import Wire
from tests.activities.kubernetes.agent.test_one_pod import SAVES
from tests.activities.kubernetes.agent.world import LONG, Gang, Pod, launch_of, python
from tests.support.pods import terminated
from tests.support.polling import eventually

GANG_ENDS_WITHIN = 5.0
# As a program does that sums over its ranks: it fails at once when the other one's connection ends.
LEAVES_WITHOUT_PEERS = """
import socket
if rank == '0':
    server = socket.create_server(('127.0.0.1', 0))
    open(f'{run}/port.new', 'w').write(str(server.getsockname()[1]))
    os.rename(f'{run}/port.new', f'{run}/port')
    peer = server.accept()[0]
else:
    while not os.path.exists(f'{run}/port'): time.sleep(0.02)
    peer = socket.create_connection(('127.0.0.1', int(open(f'{run}/port').read())))
open(f'{run}/met', 'w').close()
sys.exit(1 if peer.recv(1) == b'' else 0)
"""
WAITS = python("print('begun', flush=True)\ntime.sleep(600)")


def ended_by(pod: Pod) -> set[str | None]:
    return {receipt.stopped_by for receipt in pod.receipts().ranks.values()}


def test_the_pods_of_a_gang_run_together_and_each_knows_its_place(gang: MakeGang) -> None:
    code = "print(os.environ['NODE_RANK'], os.environ['LOCAL_RANK'], os.environ['WORLD_SIZE'])"
    made = gang(launch_of(python(code), nodes=3, processes_per_node=2)).start()
    assert made.wait() == [0, 0, 0]
    places = [made.pods[rank // 2].texts(rank) for rank in range(6)]
    assert places == [["0 0 6"], ["0 1 6"], ["1 0 6"], ["1 1 6"], ["2 0 6"], ["2 1 6"]]


@pytest.mark.parametrize("missing", [0, 2], ids=["first", "last"])
def test_no_rank_runs_when_a_pod_never_comes(gang: MakeGang, missing: int) -> None:
    made = gang(launch_of(python("open(f'{run}/ran', 'w')"), nodes=3), gate_within=2.0)
    there = [pod for pod in made.pods if pod.index != missing]
    made.start(*(pod.index for pod in there))
    assert [pod.wait() for pod in there] == [125, 125]
    assert {receipt.start_error for pod in there for receipt in pod.receipts().ranks.values()} == {"gate"}
    assert not any(pod.run_file("ran").exists() for pod in there)


def test_a_pod_that_comes_late_is_waited_for(gang: MakeGang) -> None:
    made = gang(launch_of(python("pass"), nodes=2)).start(1)
    eventually(made.pods[1].rank_folder(1).joinpath("identity.json").exists, LONG)
    assert not made.pods[1].ready()
    made.pods[0].start()
    assert made.wait() == [0, 0]


def test_no_rank_runs_when_the_name_of_a_pod_is_never_found_and_that_is_no_failing_of_the_job(gang: MakeGang) -> None:
    hosts = ("127.0.0.1", "no-such-pod.invalid")
    launch = launch_of(python("open(f'{run}/ran', 'w')"), nodes=2)
    made = gang(launch, hosts=hosts, names_within=2.0).start()
    assert made.wait() == [125, 125]
    assert not any(pod.run_file("ran").exists() for pod in made.pods)
    why = f"the cluster's name service did not know {hosts[1]} within 2 s"
    receipts = {rank: one for pod in made.pods for rank, one in pod.receipts().ranks.items()}
    assert [(one.start_error, one.detail) for one in receipts.values()] == [("gate", why)] * 2
    assert any(f"no rank starts: {why}" in line for pod in made.pods for line in pod.output())
    pods = [terminated(125, index=pod.index) for pod in made.pods]
    over = judge(observation(launch, pods, ClusterSettings(), datetime.now(UTC), receipts))
    assert over.failure is FailureClass.INFRASTRUCTURE


@pytest.mark.parametrize("shared", [True, False], ids=["one run folder", "a folder each"])
def test_a_rank_that_fails_ends_the_ranks_of_all_pods(gang: MakeGang, *, shared: bool) -> None:
    code = """
if rank == '2':
    while not os.path.exists(f'{run}/fail'): time.sleep(0.02)
    sys.exit(9)
time.sleep(600)
"""
    made = gang(launch_of(python(code), nodes=3, processes_per_node=2), shared=shared).start().until_running()
    made.pods[1].run_file("fail").touch()
    begun = time.monotonic()
    assert made.wait() == [143, 9, 143]
    assert time.monotonic() - begun < GANG_ENDS_WITHIN
    assert [ended_by(pod) for pod in made.pods] == [{"gang"}, {None, "gang"}, {"gang"}]
    assert made.pods[2].receipts().ranks[4].detail == "rank 2 ended badly"


@pytest.mark.parametrize("lost", [0, 1], ids=["first", "another"])
def test_a_pod_that_is_gone_ends_the_others(gang: MakeGang, lost: int) -> None:
    made = gang(launch_of(WAITS, nodes=3)).start().until_running()
    made.pods[lost].kill()
    begun = time.monotonic()
    left = [pod for pod in made.pods if pod.index != lost]
    assert [pod.wait() for pod in left] == [143, 143]
    assert time.monotonic() - begun < GANG_ENDS_WITHIN
    assert [ended_by(pod) for pod in left] == [{"severed"}, {"severed"}]
    assert f"pod {lost} has not been heard of" in left[0].receipts().ranks[left[0].index].detail


@pytest.mark.parametrize("lost", [0, 1], ids=["first", "another"])
def test_the_pods_of_a_service_outlive_each_other_and_can_still_be_ended(gang: MakeGang, lost: int) -> None:
    made = gang(launch_of(WAITS, nodes=2, mode=Mode.SERVICE)).start().until_running()
    made.pods[lost].kill()
    left = made.pods[1 - lost]
    ends = time.monotonic() + GANG_ENDS_WITHIN + 1.0
    eventually(lambda: time.monotonic() > ends or left.ended(), 2 * GANG_ENDS_WITHIN)
    assert left.ready()
    left.process.terminate()
    assert left.wait(GANG_ENDS_WITHIN) == 143
    assert ended_by(left) == {"shutdown"}


def wired(gang: MakeGang, wire: Wire, seconds: float) -> Gang:
    """A gang of two that runs for a while, whose link leads through a wire that can be held still."""
    made = gang(launch_of(python(f"time.sleep({seconds})"), nodes=2))
    made.start(0)
    wire.lead_to(made.pod_launch.gang_port)
    made.pods[1].use_gang_port(wire.port)
    made.pods[1].start()
    return made.until_running()


def test_a_network_that_stands_still_for_two_seconds_harms_nobody(gang: MakeGang) -> None:
    with Wire() as wire:
        made = wired(gang, wire, 6.0)
        wire.hold_for(2.0)
        assert made.wait() == [0, 0]
        assert wire.connections > 1  # it was worth a new connection


def test_a_network_that_is_gone_ends_both_sides(gang: MakeGang) -> None:
    with Wire() as wire:
        made = wired(gang, wire, 600.0)
        begun = time.monotonic()
        wire.hold_for(600.0)
        assert made.wait() == [143, 143]
        assert time.monotonic() - begun < GANG_ENDS_WITHIN
        assert [ended_by(pod) for pod in made.pods] == [{"severed"}, {"severed"}]


def test_an_agent_that_is_paused_for_two_seconds_harms_nobody(gang: MakeGang) -> None:
    made = gang(launch_of(python("time.sleep(4)"), nodes=3)).start().until_running()
    for pod in made.pods[:2]:
        pod.pause_for(2.0)
    assert made.wait() == [0, 0, 0]


@pytest.mark.parametrize("silent", [0, 1], ids=["first", "another"])
def test_a_rank_that_loses_its_peers_because_its_agent_was_silent_is_not_the_cause(gang: MakeGang, silent: int) -> None:
    made = gang(launch_of(python(LEAVES_WITHOUT_PEERS), nodes=2)).start().until_running()
    eventually(made.pods[0].run_file("met").exists, LONG)
    made.pods[silent].pause_for(deciding.LOST_AFTER + 2.0)
    made.wait()
    assert [ended_by(pod) for pod in (made.pods[1 - silent], made.pods[silent])] == [{"severed"}, {None}]
    receipts = {rank: one for pod in made.pods for rank, one in pod.receipts().ranks.items()}
    assert receipts[silent].exit_code == 1
    pods = [terminated(143 if pod.index != silent else 1, index=pod.index) for pod in made.pods]
    over = judge(observation(made.launch, pods, ClusterSettings(), datetime.now(UTC), receipts))
    assert (over.failure, over.rank) == (FailureClass.INFRASTRUCTURE, 1 - silent)


@pytest.mark.parametrize("shared", [True, False], ids=["one run folder", "a folder each"])
def test_a_stop_that_waits_for_the_save_reaches_all_pods(gang: MakeGang, *, shared: bool) -> None:
    code = SAVES.replace("print('saved')", "time.sleep(int(rank)); print('saved')")
    code = code.replace("json.dump(", "time.sleep(int(rank)); json.dump(")
    made = gang(launch_of(python(code), nodes=3), shared=shared).start().until_running()
    made.pods[0].stop(save_within=60.0)
    made.pods[0].stop(save_within=60.0)
    assert made.wait() == [143, 143, 143]
    assert [pod.texts(pod.index) for pod in made.pods[1:]] == [["begun", "saved"], ["begun"]]
    assert [ended_by(pod) for pod in made.pods] == [{"request"}] * 3


def test_a_stop_before_the_start_keeps_every_pod_from_it(gang: MakeGang) -> None:
    made = gang(launch_of(python("open(f'{run}/ran', 'w')"), nodes=2)).start(0)
    eventually(made.pods[0].rank_folder(0).joinpath("identity.json").exists, LONG)
    assert not made.pods[0].stop()  # so nothing has run
    assert made.pods[0].wait() == 125
    made.pods[1].start()
    made.pods[1].ask(do="ready")
    assert not made.pods[0].run_file("ran").exists()
    assert ended_by(made.pods[0]) == {"request"}


@pytest.mark.parametrize("shared", [True, False], ids=["one run folder", "a folder each"])
def test_a_deadline_and_a_request_reach_the_jobs_of_all_pods(gang: MakeGang, *, shared: bool) -> None:
    made = gang(launch_of(WAITS, nodes=2), shared=shared).start().until_running()
    deadline = time.time() + 2.0
    for _ in range(2):
        assert made.pods[0].ask(do="control", id="longer", checkpoint=True, deadline=deadline)[0] == 0
    control = made.pods[1].run_file("control.json")
    eventually(control.exists, LONG)
    assert (json.loads(control.read_text())["id"], made.wait()) == ("longer", [143, 143])
    assert [ended_by(pod) for pod in made.pods] == [{"timeout"}, {"timeout"}]


def test_a_deadline_reaches_pods_that_have_seen_its_request_before_it(gang: MakeGang) -> None:
    made = gang(launch_of(WAITS, nodes=2), shared=False).start().until_running()
    Path(made.pods[0].places.attempt, "control.json").write_text(json.dumps({"id": "longer"}))
    eventually(made.pods[1].run_file("control.json").exists, LONG)
    made.pods[0].ask(do="control", id="longer", checkpoint=True, deadline=time.time())
    assert made.wait() == [143, 143]
    assert [ended_by(pod) for pod in made.pods] == [{"timeout"}, {"timeout"}]


def test_only_the_first_pod_takes_requests(gang: MakeGang) -> None:
    made = gang(launch_of(WAITS, nodes=2))
    made.prepare()
    code, answer = made.pods[1].ask(do="stop", reason="x", grace=1.0, checkpoint_within=None)
    assert (code, answer["code"]) == (1, "PD-3205")


@pytest.mark.parametrize("shared", [True, False], ids=["one run folder", "a folder each"])
@pytest.mark.parametrize("leaving", [0, 1], ids=["first", "another"])
def test_a_pod_that_is_told_to_end_has_all_pods_save_first(gang: MakeGang, leaving: int, *, shared: bool) -> None:
    made = gang(launch_of(python(SAVES), nodes=3), shared=shared, save_within=60.0).start().until_running()
    made.pods[leaving].process.terminate()
    assert made.wait() == [143, 143, 143]
    assert [pod.texts(pod.index) for pod in made.pods] == [["begun", "saved"]] * 3
    causes = [ended_by(pod) for pod in made.pods]
    assert causes[leaving] == {"shutdown"}
    assert [cause for index, cause in enumerate(causes) if index != leaving] == [{"gang"}, {"gang"}]


def test_the_first_pod_stays_until_the_others_have_ended(gang: MakeGang) -> None:
    code = "time.sleep(600 if rank == '1' else 0)"
    made = gang(launch_of(python(code), nodes=2)).start()
    eventually(made.pods[0].rank_folder(0).joinpath("receipt.json").exists, LONG)
    assert not made.pods[0].ended()
    made.pods[0].stop()
    assert made.wait() == [0, 143]


def test_strangers_at_the_port_change_nothing(gang: MakeGang) -> None:
    made = gang(launch_of(python("time.sleep(2)"), nodes=2)).start(0)
    eventually(lambda: _send(made, b""), LONG)
    for words in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"[" * 60000 + b"\n",
        b'{"token": "x", "index": 1}\n',
        b"\xff\n",
        b"x" * 70000,
    ):
        assert _send(made, words)
    made.pods[1].start()
    assert made.wait() == [0, 0]


def test_a_pod_that_was_started_anew_does_not_join_a_gang_that_runs(gang: MakeGang) -> None:
    made = gang(launch_of(WAITS, nodes=2)).start().until_running()
    line = {"token": made.launch.ref.token, "index": 1, "id": "another", "n": 1, "seen": 0, "state": {}}
    with socket.create_connection(("127.0.0.1", made.pod_launch.gang_port)) as link:
        link.sendall(json.dumps(line).encode() + b"\n")
        assert "refused" in json.loads(link.makefile().readline())
    made.pods[0].stop()
    assert made.wait() == [143, 143]


def test_the_bounds_leave_time_for_a_stall_and_end_a_gang_in_time() -> None:
    assert deciding.LOST_AFTER + deciding.LOST_GRACE < GANG_ENDS_WITHIN
    assert deciding.LOST_AFTER > 2.0


def _send(made: Gang, words: bytes) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", made.pod_launch.gang_port), 5.0) as link:
            link.sendall(words)
        return True
    except ConnectionRefusedError:
        return False
