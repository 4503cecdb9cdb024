"""A simulation as it is asked for: policies, documents, changes, the report, and what is refused."""

import re
from pathlib import Path
from typing import Any

import pytest

from definitions.errors import PerdureError
from simulator.policies import POLICIES
from simulator.report import PAGE
from simulator.run import simulate
from simulator.wire import Asked

JOBS = "id,submitted,queue,nodes,gpus,seconds\nfirst,0,a,2,8,3600\nsecond,60,b,1,8,1800\nthird,120,b,1,4,600\n"


def asked(folder: Path, **given: Any) -> Asked:
    (folder / "jobs.csv").write_text(JOBS)
    return Asked(**{"trace": str(folder / "jobs.csv"), "policies": ("fifo",), "nodes": 2, **given})


def test_each_policy_is_run_over_the_same_trace(tmp_path: Path) -> None:
    answer = simulate(asked(tmp_path, policies=("fifo", "easy")))
    assert (answer.jobs, answer.nodes, answer.gpus, answer.queues) == (3, 2, 16, 2)
    assert [(found.policy, found.wait.mean) for found in answer.policies] == [("fifo", 2340), ("easy", 2340)]


def test_the_same_question_has_the_same_answer(tmp_path: Path) -> None:
    given = asked(tmp_path, failure_hours=1, overstated=3, seed=5)
    assert simulate(given) == simulate(given)


@pytest.mark.parametrize(("change", "start"), [("nodes=+1", 60), ("nodes=+0", 3600)])
def test_a_change_says_when_a_job_would_start(tmp_path: Path, change: str, start: int) -> None:
    found = simulate(asked(tmp_path, what_if=change, job="second")).what_if
    assert found is not None
    assert (found.start, found.changed_start) == (3600, start)


def test_a_change_after_which_a_job_fits_nowhere_says_that_it_never_starts(tmp_path: Path) -> None:
    found = simulate(asked(tmp_path, what_if="nodes=-1", job="first")).what_if
    assert found is not None
    assert (found.start, found.changed_start) == (0, None)


def test_progress_is_told_for_each_run_up_to_its_end(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    given = asked(tmp_path, policies=("fifo", "easy"), what_if="nodes=+1", job="third")
    simulate(given, lambda what, done, total: told.append((what, done, total)))
    assert told == [(what, done, 3) for what in ("fifo", "easy", "fifo, changed") for done in (1, 2, 3)]


@pytest.mark.parametrize(
    ("given", "where", "words"),
    [
        ({"nodes": None}, "--nodes", "does not say on what nodes"),
        ({"policies": ("best",)}, "--policy", "no policy 'best'"),
        ({"what_if": "more", "job": "first"}, "--what-if", "no change that can be tried"),
        ({"what_if": "nodes=+1"}, "--job", "needs a job"),
        ({"what_if": "nodes=+1", "job": "nobody"}, "--job", "no job nobody"),
        ({"what_if": "nodes=-2", "job": "first"}, "--what-if", "no node would be left"),
        ({"what_if": "queue=a,gpus=+8", "job": "first"}, "--what-if", "no queue has a quota"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, given: dict[str, Any], where: str, words: str) -> None:
    with pytest.raises(PerdureError, match=words) as refused:
        simulate(asked(tmp_path, **given))
    assert (refused.value.code.code, refused.value.where) == ("PD-4015", where)


DOCUMENTS = """\
apiVersion: perdure/v1
kind: ResourceFlavor
metadata: {name: big}
spec: {gpuType: h100}
---
apiVersion: perdure/v1
kind: NodePool
metadata: {name: pool}
spec: {simulated: {count: 3, flavor: big, gpus: 8, cpus: 64, memory: 1Ti}}
---
apiVersion: perdure/v1
kind: Queue
metadata: {name: a}
spec: {quotas: {gpus: {limit: 16}}}
"""
QUEUE_B = "---\napiVersion: perdure/v1\nkind: Queue\nmetadata: {name: b}\nspec: {quotas: {gpus: {limit: 8}}}\n"


def test_a_queue_with_more_gpus_starts_a_job_sooner_that_its_limit_held_back(tmp_path: Path) -> None:
    """Of four nodes one is free for `third` from the start, and its queue may have 8 GPUs, which `second` holds."""
    (tmp_path / "pool.yaml").write_text((DOCUMENTS + QUEUE_B).replace("count: 3", "count: 4"))
    documents = (str(tmp_path / "pool.yaml"),)
    given = {"nodes": None, "documents": documents, "what_if": "queue=b,gpus=+8", "job": "third"}
    found = simulate(asked(tmp_path, policies=("perdure",), **given)).what_if
    assert found is not None
    assert (found.start, found.changed_start) == (1860, 120)
    with pytest.raises(PerdureError, match="fifo knows no quotas"):
        simulate(asked(tmp_path, **given))
    with pytest.raises(PerdureError, match="there is no queue c; there are a, b"):
        simulate(asked(tmp_path, **{**given, "what_if": "queue=c,gpus=+8"}))


def test_documents_bring_nodes(tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(DOCUMENTS + QUEUE_B)
    answer = simulate(asked(tmp_path, nodes=None, documents=(str(tmp_path / "pool.yaml"),)))
    assert (answer.nodes, answer.gpus) == (3, 24)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (DOCUMENTS, "PD-4015", "in queues that no document describes: b"),
        (DOCUMENTS.replace("flavor: big", "flavor: none"), "PD-1610", "there is no ResourceFlavor none"),
        ("apiVersion: perdure/v1\nkind: Cluster\nmetadata: {name: x}\nspec: {}\n", "PD-4015", "no part"),
    ],
)
def test_documents_that_do_not_fit_are_refused(tmp_path: Path, text: str, code: str, words: str) -> None:
    (tmp_path / "pool.yaml").write_text(text)
    with pytest.raises(PerdureError, match=words) as refused:
        simulate(asked(tmp_path, documents=(str(tmp_path / "pool.yaml"),)))
    assert refused.value.code.code == code


def test_a_document_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PerdureError, match="No such file") as refused:
        simulate(asked(tmp_path, documents=(str(tmp_path / "none.yaml"),)))
    assert refused.value.code.code == "PD-2909"


def test_the_report_is_one_page_that_needs_nothing_else_and_its_charts(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    answer = simulate(asked(tmp_path, policies=("fifo", "easy"), report=str(folder)))
    names = {"use.png", "waiting.png", "fairness.png", "fragmentation.png", "promises.png"}
    assert {Path(path).name for path in answer.report} == {PAGE, *names}
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in names)
    page = (folder / PAGE).read_text()
    assert page.count('src="data:image/png;base64,') == len(names)
    assert re.findall(r"(?:src|href)=\"(?!data:)", page) == []
    assert "<th>fifo</th><th>easy</th>" in page


def test_a_report_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PerdureError) as refused:
        simulate(asked(tmp_path, report=str(tmp_path / "file" / "report")))
    assert refused.value.code.code == "PD-2920"


def test_every_policy_runs_a_trace_to_its_end(tmp_path: Path) -> None:
    answer = simulate(asked(tmp_path, policies=tuple(POLICIES)))
    assert [(found.policy, found.jobs, found.unfinished) for found in answer.policies] == [
        (policy, 3, 0) for policy in POLICIES
    ]
