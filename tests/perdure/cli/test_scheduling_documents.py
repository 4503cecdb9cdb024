"""Documents of the scheduler from the command line: applied together, compared, listed, shown, deleted."""

import json
from pathlib import Path

import pytest
import yaml

from perdure.cli import completion
from tests.perdure.cli.calling import Cli, on_terminal
from tests.perdure.live import Live

TEXT = """\
apiVersion: perdure/v1
kind: Queue
metadata:
  name: all
spec:
  quotas:
    gpus:
      limit: 32
---
apiVersion: perdure/v1
kind: Queue
metadata:
  name: research
spec:
  description: Everybody who trains.
  parent: all
  weight: 2
  quotas:
    gpus: {guarantee: 8, limit: 16}
    flavors:
      h100: {guarantee: 4}
  minRunTime: 30m
  default: true
---
apiVersion: perdure/v1
kind: ResourceFlavor
metadata: {name: h100}
spec: {gpuType: H100, alsoKnownAs: [NVIDIA-H100-80GB-HBM3], gpuMemory: 80Gi}
---
apiVersion: perdure/v1
kind: PriorityClass
metadata: {name: urgent}
spec: {value: 1000, usableBy: [research], longestQueueTime: 2h}
---
apiVersion: perdure/v1
kind: Topology
metadata: {name: hall-2}
spec: {levels: [{name: block, nodeLabel: example.org/block}, {name: rack, nodeLabel: example.org/rack}]}
---
apiVersion: perdure/v1
kind: NodePool
metadata: {name: training}
spec: {nodeSelector: {pool: training}, topology: hall-2}
"""
ROWS = {
    "queues": ["research", "all", "2", "8 gpus, 4 h100", "16 gpus", "bestEffort", "no", "yes"],
    "flavors": ["h100", "H100", "80Gi", "NVIDIA-H100-80GB-HBM3"],
    "priority-classes": ["urgent", "1000", "no", "research", "yes", "2h"],
    "topologies": ["hall-2", "block > rack"],
    "pools": ["training", "pool training", "hall-2"],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "queues.yaml"
    path.write_text(TEXT)
    return path


def test_a_file_is_applied_as_a_whole_and_a_repeat_changes_nothing(cli: Cli, file: Path) -> None:
    applied = cli("apply", "-f", str(file))
    assert applied.out.splitlines() == [
        "created   Queue all",
        "created   Queue research",
        "created   ResourceFlavor h100",
        "created   PriorityClass urgent",
        "created   Topology hall-2",
        "created   NodePool training",
    ]
    assert applied.err == "6 created\n"
    assert cli("apply", "-f", str(file)).err == "6 unchanged\n"


def test_a_fault_is_told_with_its_line_and_nothing_is_stored(cli: Cli, file: Path) -> None:
    file.write_text(TEXT.replace("parent: all", "parent: al"))
    for verb in ("apply", "diff", "validate"):
        refused = cli(verb, "-f", str(file))
        assert (refused.code, refused.out) == (2, "")
        assert f"{file}:16:11 (spec.parent)" in refused.err
        assert "did you mean all?" in refused.err.lower()
    assert json.loads(cli.ok("queues", "list", "--json", "name"))["items"] == []


def test_what_a_file_would_change_is_shown_and_not_done(cli: Cli, file: Path) -> None:
    cli.ok("apply", "-f", str(file))
    file.write_text(TEXT.replace("weight: 2", "weight: 3"))
    expected = ["unchanged Queue all", "replaced  Queue research", "  spec.weight", "    - 2.0", "    + 3.0"]
    assert cli.ok("diff", "-f", str(file)).splitlines()[:5] == expected
    dry = cli("apply", "-f", str(file), "--dry-run")
    assert (dry.out.splitlines()[:5], dry.err) == (expected, "nothing was stored\n")
    found = json.loads(cli.ok("diff", "-f", str(file), "--json", "applied,items"))
    assert (found["applied"], [item["outcome"] for item in found["items"]][:2]) == (False, ["unchanged", "replaced"])
    assert cli.ok("validate", "-f", str(file)).split()[:3] == ["valid", "all,", "research,"]
    assert json.loads(cli.ok("queues", "show", "research", "--json", "generation")) == {"generation": 1}


@pytest.mark.parametrize("noun", ROWS)
def test_each_kind_is_listed_shown_and_deleted(cli: Cli, file: Path, noun: str) -> None:
    cli.ok("apply", "-f", str(file))
    name = ROWS[noun][0]
    rows = [line.split("\t") for line in cli.ok(noun, "list").splitlines()]
    (row,) = [row for row in rows if row[0] == name]
    assert row[: len(ROWS[noun])] == ROWS[noun]
    shown = yaml.safe_load(cli.ok(noun, "show", name, "-o", "yaml"))
    assert (shown["name"], shown["createdBy"], shown["document"]["metadata"]) == (name, "admin-of-acme", {"name": name})
    assert "by admin-of-acme" in cli.ok(noun, "show", name)
    if noun in ("queues", "flavors", "topologies"):
        refused = cli(noun, "delete", name, "-y")
        assert (refused.code, "PD-2142" in refused.err) == (6, True)
        assert "names it" in refused.err
        return
    assert cli(noun, "delete", name, "-y").err.startswith("deleted ")
    assert cli(noun, "show", name).code == 3


def test_a_queue_is_shown_with_every_field(cli: Cli, file: Path) -> None:
    cli.ok("apply", "-f", str(file))
    shown = cli.ok("queues", "show", "research")
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for expected in (
        "quotas gpus: guarantee 8, limit 16",
        "flavors: h100 guarantee 4",
        "min run time 30m",
        "default yes",
    ):
        assert expected in lines


def test_a_job_among_them_is_refused(cli: Cli, file: Path) -> None:
    job = 'apiVersion: perdure/v1\nkind: Job\nmetadata: {name: a}\nspec: {command: ["true"]}\n'
    file.write_text(f"{TEXT}---\n{job}")
    refused = cli("apply", "-f", str(file))
    assert (refused.code, "PD-1620" in refused.err) == (2, True)
    assert f"{file}:46:7 (kind)" in refused.err


def test_on_a_terminal_it_is_shown_and_asked_first(live: Live, file: Path) -> None:
    seen = on_terminal(live, "apply", "-f", str(file), answer="n")
    assert "created   Queue research" in seen.out
    assert "nothing was stored" in seen.out
    with live.client() as client:
        assert client.queues.list().items == []


def test_names_are_completed(cli: Cli, file: Path) -> None:
    cli.ok("apply", "-f", str(file))
    found = (
        completion.queues(),
        completion.flavors(),
        completion.priority_classes(),
        completion.topologies(),
        completion.node_pools(),
    )
    assert found == (["all", "research"], ["h100"], ["urgent"], ["hall-2"], ["training"])
