"""Traces and nodes from files: what rows mean, and how each fault is named; the two traces that are known by name."""

import shutil
import tomllib
from pathlib import Path

import pytest

from definitions.errors import PerdureError
from policies.scheduling.model import WHOLE
from simulator import setting
from simulator.gavel import gavel
from simulator.node_file import node_file
from simulator.openb import openb
from simulator.outages import outages
from simulator.trace import Trace, declared, first, loaded, milli_gpus
from simulator.trace_file import trace_file
from tests.simulator.small import cluster, job, trace

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "bench" / "data"
HEAD = "id,submitted,seconds,gpus\n"


def read(folder: Path, text: str, name: str = "jobs.csv") -> Trace:
    path = folder / name
    path.write_text(text)
    return trace_file(path, name)


def test_a_row_says_what_a_gang_asks_and_how_long_it_runs(tmp_path: Path) -> None:
    head = "id,submitted,queue,priority,nodes,gpus,gpuModel,cpus,memory,seconds,limit\n"
    found = read(tmp_path, head + 'late,20,b,-3,2,8,"h100|a100",500m,16Gi,60,90\nearly,10,a,,,0.25,,,,30,\n')
    early, late = found.jobs
    assert (early.request.id, early.seconds, early.request.limit) == ("early", 30, None)
    assert (early.request.roles[0].shape.gpus, early.request.roles[0].shape.share) == (1, 250)
    shape = late.request.roles[0].shape
    assert (late.request.queue, late.request.priority, late.request.limit) == ("b", -3, 90)
    assert (late.request.roles[0].count, shape.gpus, shape.gpu_models) == (2, 8, ("a100", "h100"))
    assert (shape.cpu, shape.memory) == (500, 16 * 2**30)


def test_lines_of_json_mean_the_same_as_rows_and_times_may_have_a_zone(tmp_path: Path) -> None:
    row = read(tmp_path, "id,submitted,seconds,gpus\na,1770000000,60,2\n").jobs
    line = '{"id": "a", "submitted": "2026-02-02T02:40:00Z", "seconds": 60, "gpus": 2}\n'
    assert read(tmp_path, line, "jobs.jsonl").jobs == row


@pytest.mark.parametrize(
    ("text", "place", "what", "fix"),
    [
        (HEAD + "a,0,10,1.5\n", "2:8", "1.5 GPUs are neither whole", "0.25"),
        (HEAD + "a,0,10,-1\n", "2:8", "'-1' is no number of GPUs", "part of one"),
        (HEAD + "a,soon,10,1\n", "2:3", "submitted: 'soon' is no time", "2026-01-31T18:00:00Z"),
        (HEAD + "a,2026-01-31T18:00:00,10,1\n", "2:3", "is no time", "with its zone"),
        (HEAD + "a,0,-5,1\n", "2:5", "seconds: '-5' is no whole number", "a number such as 0"),
        (HEAD + "a,0,,1\n", "2:5", "there is no seconds", "every row needs seconds"),
        (HEAD + "a,0,10\n", "2:1", "3 cells under a heading of 4", "one cell for each name"),
        (HEAD + "a,0,10,1\nb,0,10,1\na,0,10,1\n", "4:1", "a is in line 2 already", "an id of its own"),
        (HEAD + '"a,b",0,x,1\n', "2:9", "seconds: 'x'", "a number such as 0"),
        ("id,submitted,second\na,0,10\n", "1:14", "'second' is no column here", "there are id, submitted"),
        ("id,id,submitted,seconds\na,b,0,10\n", "1:4", "id is there twice", "keep one"),
        ("", "1:1", "the file is empty", "begin with a heading"),
        (HEAD, "1:1", "there is no job in the file", "one line for each job"),
        ("id,submitted,seconds,memory\na,0,10,16GB\n", "2:8", "memory: 16GB", "16G"),
        ("id,submitted,seconds,cpus\na,0,10,many\n", "2:8", "cpus: many", "thousandths"),
        ("id,submitted,seconds,limit\na,0,10,0\n", "2:8", "limit: '0'", "a number such as 1"),
    ],
)
def test_a_bad_row_is_named_with_its_place_and_what_to_write(
    tmp_path: Path, text: str, place: str, what: str, fix: str
) -> None:
    with pytest.raises(PerdureError) as refused:
        read(tmp_path, text)
    fault = next((each for each in refused.value.errors if what in each.detail), refused.value)
    assert fault.code.code == "PD-4014"
    assert fault.where == f"jobs.csv:{place}"
    assert what in fault.detail
    assert fix in fault.remedy


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ('{"id": "a", "submitted": 0, "seconds": }\n', "1:40", "this is no JSON"),
        ("[1]\n", "1:1", "this is no JSON object"),
        ('{"id": "a", "submitted": 0, "seconds": true}\n', "1:40", "seconds: True"),
        ('{"id": 7, "submitted": 0, "seconds": 1}\n', "1:8", "id: 7 is no name"),
        ('{"id": "a", "submitted": 0, "seconds": 1}\n{"id": "b", "begin": 0}\n', "2:22", "'begin' is no column"),
    ],
)
def test_a_bad_line_of_json_is_named_with_its_place(tmp_path: Path, text: str, place: str, what: str) -> None:
    with pytest.raises(PerdureError) as refused:
        read(tmp_path, text, "jobs.jsonl")
    fault = next((each for each in refused.value.errors if what in each.detail), refused.value)
    assert (fault.where, what in fault.detail) == (f"jobs.jsonl:{place}", True)


def test_all_faults_of_a_file_are_told_at_once_up_to_twenty(tmp_path: Path) -> None:
    with pytest.raises(PerdureError, match=r"30 faults in jobs\.csv, the first 20 are shown") as refused:
        read(tmp_path, HEAD + "".join(f"j{number},0,x,1\n" for number in range(30)))
    assert [each.where for each in refused.value.errors] == [
        f"jobs.csv:{line}:{len(f'j{line - 2},0,') + 1}" for line in range(2, 22)
    ]


def test_a_file_of_nodes_may_count_equal_ones(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("name,count,gpus,gpuModel,memory\nbig,2,8,h100,1Ti\nlogin,1,0,,\n")
    found = node_file(path, "nodes.csv")
    assert [(node.name, node.gpus, node.model) for node in found] == [
        ("big-0000", 8, "h100"),
        ("big-0001", 8, "h100"),
        ("login", 0, ""),
    ]
    assert all(node.simulated for node in found)
    path.write_text("name,gpus\nn,8\nn,8\n")
    with pytest.raises(PerdureError, match="a node n is there already"):
        node_file(path, "nodes.csv")


def test_openb_has_the_pods_and_nodes_that_its_source_counts() -> None:
    found = openb(DATA / "openb")
    assert (len(found.jobs), len(found.nodes), sum(node.gpus for node in found.nodes)) == (8152, 1213, 6212)
    assert sum(milli_gpus(job.request.roles) for job in found.jobs) / WHOLE == pytest.approx(6086.8, abs=0.05)
    assert found.queues == ("BE", "Burstable", "Guaranteed", "LS")
    assert all(job.seconds >= 0 for job in found.jobs)


def test_gavel_has_the_jobs_and_gpu_hours_that_its_source_counts() -> None:
    found = gavel(DATA / "gavel")
    hours = sum(milli_gpus(job.request.roles) * job.seconds for job in found.jobs) / WHOLE / 3600
    assert (len(found.jobs), len(found.queues), round(hours)) == (13716, 15, 762835)
    assert {job.request.roles[0].count for job in found.jobs} == {1}
    big = gavel(DATA / "gavel", big=True)
    assert len(big.jobs) == 14062
    assert {(role.count, role.shape.gpus) for job in big.jobs for role in job.request.roles} >= {(2, 8), (4, 8)}


def test_the_servers_wheel_carries_the_data_of_the_named_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = ROOT / "deploy" / "dist" / "server" / "pyproject.toml"
    carried = tomllib.loads(project.read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for source, target in carried.items():
        if target.startswith("simulator/data/"):
            (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(project.parent / source, tmp_path / target)
    monkeypatch.setattr(setting, "DATA", (tmp_path / "simulator" / "data",))
    assert len(openb(setting.folder_of("openb")).nodes) == 1213
    assert len(gavel(setting.folder_of("gavel")).jobs) == 13716


def test_load_limit_and_declared_times_change_a_trace_and_nothing_else_of_it() -> None:
    small = trace(job("a", 0, 1, 100, limit=None), job("b", 100, 1, 200, limit=None), job("c", 201, 1, 300, limit=7))
    assert [each.request.submitted for each in loaded(small, 2).jobs] == [0, 50, 100]
    assert [each.request.id for each in first(small, 2).jobs] == ["a", "b"]
    assert [each.request.limit for each in declared(small, 1, seed=1).jobs] == [100, 200, 7]
    over = declared(small, 5, seed=1)
    assert over == declared(small, 5, seed=1)
    assert over != declared(small, 5, seed=2)
    assert all(each.seconds <= (each.request.limit or 0) <= 5 * each.seconds for each in over.jobs[:2])


def test_losses_of_nodes_come_from_the_seed_and_one_more_node_changes_none_of_the_others() -> None:
    drawn = outages(cluster(1, 1), 0, 10**7, failure_hours=100, repair_hours=4, seed=3)
    assert drawn == tuple(
        each
        for each in outages(cluster(1, 1, 1), 0, 10**7, failure_hours=100, repair_hours=4, seed=3)
        if each.node != "n2"
    )
    assert drawn != outages(cluster(1, 1), 0, 10**7, failure_hours=100, repair_hours=4, seed=4)
    assert all(each.back is not None and each.back - each.lost in (14400, 14401) for each in drawn)
    assert len(drawn) == pytest.approx(2 * 10**7 / 3600 / 104, rel=0.4)
