"""A pod that is the whole gang: what becomes of its ranks, and what its container says of them."""

import json
import subprocess
import time
from datetime import timedelta
from pathlib import Path

import pytest

from activities.adapters.kubernetes.pod.commands import parse_look
from definitions.attempt import OomEvidence, RankState, Readiness, RestartRule, SecretFile, SecretRef, Workdir
from definitions.pod_needs import PodNeeds
from definitions.states import Mode
from tests.activities.kubernetes.agent.conftest import MakeGang
from tests.activities.kubernetes.agent.world import LONG, launch_of, python
from tests.support.polling import eventually

SECRET = "correct horse battery"
WAITS = python("print('begun', flush=True)\ntime.sleep(600)")


@pytest.mark.parametrize(
    ("argv", "status", "expected"),
    [
        (python("print('hello')"), 0, {"exit_code": 0}),
        (python("sys.exit(3)"), 3, {"exit_code": 3}),
        (python("os.kill(os.getpid(), signal.SIGKILL)"), 137, {"signal": 9, "oom": OomEvidence.NONE}),
        (("no-such-command",), 127, {"exit_code": 127, "start_error": "not-found"}),
        (("/etc/hostname",), 126, {"exit_code": 126, "start_error": "not-executable"}),
    ],
    ids=["succeeds", "fails", "is killed", "is not there", "is no program"],
)
def test_the_container_ends_as_its_command_does(
    gang: MakeGang, argv: tuple[str, ...], status: int, expected: dict[str, object]
) -> None:
    made = gang(launch_of(argv)).start()
    assert made.wait() == [status]
    receipt = made.pods[0].receipts().ranks[0]
    assert {name: getattr(receipt, name) for name in expected} == expected
    assert (receipt.state, receipt.node, receipt.stopped_by) == (RankState.EXITED, "node-0", None)
    assert receipt.ended_at is not None


def test_a_folder_of_the_image_that_is_not_there_is_a_start_error(gang: MakeGang) -> None:
    made = gang(launch_of(WAITS, workdir=Workdir(mode="live", path="/no/such/folder"))).start()
    assert made.wait() == [125]
    assert made.pods[0].receipts().ranks[0].start_error == "workdir"


def test_of_several_ranks_the_first_that_fails_gives_the_status_and_ends_the_others(gang: MakeGang) -> None:
    code = "time.sleep(0.5 if rank == '1' else 600); sys.exit(7)"
    made = gang(launch_of(python(code), processes_per_node=3)).start()
    assert made.wait() == [7]
    ranks = made.pods[0].receipts().ranks
    assert [ranks[rank].stopped_by for rank in range(3)] == ["gang", None, "gang"]


def test_the_output_says_every_line_of_every_log_once(gang: MakeGang) -> None:
    code = "\nfor number in range(3000): print(rank, number, 'x' * (number % 300))\nprint('no end', end='')"
    made = gang(launch_of(python(code), processes_per_node=2)).start()
    assert made.wait() == [0]
    for rank in range(2):
        folder = Path(made.pods[0].places.log_folder(1, made.launch.ref.token, rank))
        logged = folder.joinpath("000001.log").read_text().splitlines()
        echoed = [line for line in made.pods[0].output() if line.split(" ", 2)[1] == str(rank)]
        assert [f"{line[:26]}000Z {rank} {line[28:]}" for line in logged] == echoed
        assert len(echoed) == 3001


@pytest.mark.parametrize("shared", [True, False], ids=["kept on a volume", "gone with the pod"])
def test_the_output_says_what_ranks_report_where_the_run_folder_goes_with_the_pod(
    gang: MakeGang, *, shared: bool
) -> None:
    code = """
for number in range(3000):
    point = {'step': number, 'time': '2026-01-01T00:00:00Z', 'rank': int(rank), 'metrics': {'loss': 0.5}}
    open(run + '/progress.jsonl', 'a').write(json.dumps(point) + '\\n')
open(run + '/progress.jsonl', 'a').write('no point ' + os.environ['KEY'] + '\\n{"step": "' + os.environ['KEY'])
"""
    asked = launch_of(python(code), env={"KEY": SecretRef(secret="api")})
    made = gang(asked, shared=shared, secrets={"api": SECRET}).start()
    pod = made.pods[0]
    assert made.wait() == [0]
    said = [line for text in pod.texts("+") for line in text.split("\x1f")]
    written = pod.run_file("progress.jsonl").read_text().splitlines()
    assert said == ([] if shared else [*written[:3000], '{"step": "***'])
    assert len(pod.texts("+")) < 30


def test_an_agent_tells_the_end_of_the_progress_file(gang: MakeGang) -> None:
    code = "open(run + '/progress.jsonl', 'w').write('first\\nsecond\\nthird\\n')\nprint('begun')\ntime.sleep(600)"
    made = gang(launch_of(python(code))).start()
    pod = made.pods[0]
    eventually(lambda: "begun" in pod.texts(0), LONG)
    for most, lines in ((100, "first\nsecond\nthird\n"), (len("third\n") + 2, "third\n")):
        status, answer = pod.ask(do="progress", most=most)
        assert (status, parse_look(json.dumps(answer)).progress) == (0, lines)


def test_values_of_secrets_reach_the_job_and_neither_its_output_nor_a_file_that_stays(gang: MakeGang) -> None:
    code = """
path = os.path.join(os.environ['PERDURE_SECRETS_DIR'], 'keys', 'api')
assert open(path).read() == os.environ['KEY'] == sys.argv[1].replace('_', ' ')
print('it is', os.environ['KEY'])
"""
    argv = python(code, SECRET.replace(" ", "_"))
    asked = launch_of(
        argv, env={"KEY": SecretRef(secret="api")}, secret_files=(SecretFile(secret="api", path="keys/api"),)
    )
    made = gang(asked, secrets={"api": SECRET}).start()
    pod = made.pods[0]
    assert made.wait() == [0]
    assert pod.texts(0) == ["it is ***"]
    kept = [
        path for path in Path(pod.places.root).rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
    assert kept == [Path(pod.places.secret, "api")]


def test_a_job_has_its_containers_environment_under_what_it_is_told(gang: MakeGang) -> None:
    names = (
        "DEVICES",
        "COLOUR",
        "WORLD_SIZE",
        "PERDURE_NODE",
        "PERDURE_POD",
        "HOME",
        "USER",
        "PYTHONUNBUFFERED",
        "MASTER_ADDR",
    )
    code = f"print(json.dumps({{name: os.environ.get(name) for name in {names!r}}}))"
    made = gang(launch_of(python(code), env={"COLOUR": "red"}, base_env={"PATH": "/of/the/submitter"}))
    made.start(
        DEVICES="GPU-1", COLOUR="blue", WORLD_SIZE="9", PERDURE_NODE="here", PERDURE_POD="a", HOME="/no/such/folder"
    )
    assert made.wait() == [0]
    assert json.loads(made.pods[0].texts(0)[0]) == {
        "DEVICES": "GPU-1",
        "COLOUR": "red",
        "WORLD_SIZE": "1",
        "PERDURE_NODE": "node-0",
        "PERDURE_POD": None,
        "HOME": made.pods[0].places.home,
        "USER": "perdure",
        "PYTHONUNBUFFERED": "1",
        "MASTER_ADDR": "127.0.0.1",
    }


def test_a_stop_gives_grace_and_kills_what_outstays_it(gang: MakeGang) -> None:
    stubborn = python(
        "signal.signal(signal.SIGTERM, lambda *_: print('not yet'))\nprint('begun')\nwhile True: time.sleep(1)"
    )
    made = gang(launch_of(stubborn)).start()
    pod = made.pods[0]
    eventually(lambda: pod.texts(0) == ["begun"], LONG)
    pod.stop(grace=1.0)
    pod.stop(grace=1.0)
    assert made.wait() == [137]
    assert pod.texts(0) == ["begun", "not yet"]
    assert pod.receipts().ranks[0].stopped_by == "request"


SAVES = """
print('begun')
while True:
    time.sleep(0.05)
    try: asked = json.load(open(f'{run}/control.json'))
    except FileNotFoundError: continue
    if asked['checkpoint']: break
json.dump({'id': asked['id'], 'step': 5}, open(f'{run}/ack-{rank}.json.tmp', 'w'))
os.rename(f'{run}/ack-{rank}.json.tmp', f'{run}/ack-{rank}.json')
print('saved')
time.sleep(600)
"""


def test_a_stop_may_wait_for_the_save(gang: MakeGang) -> None:
    made = gang(launch_of(python(SAVES), processes_per_node=2)).start()
    pod = made.pods[0]
    eventually(pod.ready, LONG)
    pod.stop(save_within=60.0)
    assert made.wait() == [143]
    assert pod.texts(0) == ["begun", "saved"]
    assert {receipt.stopped_by for receipt in pod.receipts().ranks.values()} == {"request"}


def test_a_pod_that_is_told_to_end_saves_first_and_ends_for_that_cause(gang: MakeGang) -> None:
    made = gang(launch_of(python(SAVES)), save_within=60.0).start()
    pod = made.pods[0]
    eventually(lambda: pod.texts(0) == ["begun"], LONG)
    pod.process.terminate()
    assert made.wait() == [143]
    assert pod.texts(0) == ["begun", "saved"]
    assert pod.receipts().ranks[0].stopped_by == "shutdown"


@pytest.mark.parametrize("save_within", [None, 1.0], ids=["does not save", "does not answer"])
def test_a_pod_that_is_told_to_end_waits_no_longer_than_it_may(gang: MakeGang, save_within: float | None) -> None:
    made = gang(launch_of(WAITS), save_within=save_within).start().until_running()
    begun = time.monotonic()
    made.pods[0].process.terminate()
    assert made.wait() == [143]
    assert time.monotonic() - begun < 5.0
    assert made.pods[0].receipts().ranks[0].stopped_by == "shutdown"


def test_a_command_that_ends_well_because_its_pod_is_to_end_has_not_ended_by_itself(gang: MakeGang) -> None:
    heedless = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" + SAVES.replace("time.sleep(600)", "sys.exit(0)")
    made = gang(launch_of(python(heedless)), save_within=60.0).start()
    made.until_running()
    made.pods[0].process.terminate()
    assert made.wait() == [0]
    assert made.pods[0].receipts().ranks[0].stopped_by == "shutdown"


def test_a_request_to_the_job_is_carried_out_once(gang: MakeGang) -> None:
    made = gang(launch_of(WAITS)).start().until_running()
    pod = made.pods[0]
    for request in ("one", "two", "one"):
        assert pod.ask(do="control", id=request, checkpoint=True, deadline=None)[0] == 0
    asked = json.loads(pod.run_file("control.json").read_text())
    assert (asked["id"], asked["checkpoint"]) == ("two", True)


def test_a_deadline_is_kept_by_the_pod_itself_and_can_be_moved(gang: MakeGang) -> None:
    made = gang(launch_of(WAITS)).start().until_running()
    pod = made.pods[0]
    assert pod.ask(do="control", id="later", checkpoint=False, deadline=time.time() + 1.0)[0] == 0
    assert made.wait() == [143]
    assert pod.receipts().ranks[0].stopped_by == "timeout"


def test_a_rank_that_makes_no_progress_is_ended(gang: MakeGang) -> None:
    made = gang(launch_of(WAITS, hang_after=timedelta(seconds=1))).start()
    assert made.wait() == [143]
    assert made.pods[0].receipts().ranks[0].stopped_by == "hang"


def test_a_service_is_restarted_in_place_and_is_ready_when_it_says_so(gang: MakeGang) -> None:
    code = """
runs = open(f'{run}/runs', 'a+'); runs.write('x'); runs.seek(0)
if len(runs.read()) < 3: sys.exit(1)
runs.close(); time.sleep(1); open(f'{run}/ready', 'w').close(); time.sleep(600)
"""
    rule = RestartRule(first_delay=timedelta(seconds=0.1), longest_delay=timedelta(seconds=0.2))
    asked = launch_of(
        python(code), mode=Mode.SERVICE, restart=rule, readiness=Readiness(file="ready", period=timedelta(seconds=0.1))
    )
    made = gang(asked).start()
    pod = made.pods[0]
    eventually(pod.ready, LONG)
    assert pod.ask(do="ready") == (0, {"ranks": [{"rank": 0, "ready": True, "restarts": 2, "state": "running"}]})
    assert pod.run_file("ready").exists()
    assert pod.stop()
    assert made.wait() == [143]
    assert pod.receipts().ranks[0].restarts == 2


def test_what_a_command_leaves_behind_is_ended_and_counted(gang: MakeGang) -> None:
    code = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600)'], {})
    os._exit(0)
time.sleep(0.3)
"""
    made = gang(launch_of(python(code))).start()
    assert made.wait() == [0]
    assert made.pods[0].receipts().ranks[0].leftovers == 1


def test_a_look_shows_progress_and_checkpoints(gang: MakeGang) -> None:
    made = gang(launch_of(WAITS)).start().until_running()
    pod = made.pods[0]
    pod.run_file("progress.jsonl").write_text('{"step": 1}\n')
    folder = pod.run_file("checkpoints/step-0000000001." + "a" * 32)
    folder.mkdir()
    folder.joinpath("manifest-0.json").write_text("{}")
    assert pod.ask(do="look") == (0, {"progress": '{"step": 1}\n', "checkpoints": [[folder.name, 1]]})


@pytest.mark.parametrize(
    "question", [{"do": "dance"}, {}, {"do": "stop"}, {"do": "control", "id": "x", "checkpoint": 1}]
)
def test_what_cannot_be_asked_is_refused(gang: MakeGang, question: dict[str, object]) -> None:
    made = gang(launch_of(WAITS))
    made.prepare()
    code, answer = made.pods[0].ask(**question)
    assert (code, answer["code"]) == (1, "PD-3205")


def test_without_specifications_the_agent_ends_and_says_so(gang: MakeGang) -> None:
    made = gang(launch_of(WAITS))
    made.prepare()
    pod = made.pods[0]
    Path(pod.places.specs).unlink()
    pod.start()
    assert pod.wait() == 125
    assert "the agent failed" in "".join(pod.output())


def test_a_pod_that_is_to_leave_runs_the_jobs_own_program_that_saves(gang: MakeGang) -> None:
    needs = PodNeeds(save_command=("./save",), save_directory="saves/here")
    made = gang(launch_of(WAITS, env={"NAME": "digits"}, pod=needs)).start().until_running()
    places = made.pods[0].places
    program = (
        "/bin/sh",
        "-c",
        'pwd > "$PERDURE_SAVE_DIR/where"; echo "$1 $NAME" > "$PERDURE_SAVE_DIR/who"',
        "sh",
        "as",
    )
    subprocess.run([f"{places.bin}/python", "-I", "-S", f"{places.bin}/agent/save.py", *program], check=True)
    saved = made.pods[0].run_file("saves/here")
    assert (saved / "who").read_text() == "as digits\n"
    assert Path((saved / "where").read_text().strip()) == Path(places.tree).resolve()
