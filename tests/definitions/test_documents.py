"""From text to checked documents: every fault at once, each with its place, its field and a remedy."""

import json
import time

import pytest
from hypothesis import given, settings

from definitions.documents import from_data, parse, parse_job, parse_one
from definitions.job import Job
from definitions.secret import Secret
from definitions.spec_errors import SpecError, SpecIssue
from definitions.template import Template
from tests.definitions.strategies import yaml_like

HEAD = "apiVersion: perdure/v1\nkind: Job\nmetadata: {name: digits}\nspec:\n"


def faults(text: str | bytes, *, served_only: bool = True) -> list[SpecIssue]:
    with pytest.raises(SpecError) as refused:
        parse(text, source="job.yaml", served_only=served_only)
    return list(refused.value.issues)


def test_every_fault_of_a_text_is_reported_at_once_in_its_order() -> None:
    text = (
        "apiVersion: perdure/v1\n"
        "kind: Job\n"
        "metadata:\n"
        "  name: Digits\n"
        "  labls: {}\n"
        "spec:\n"
        "  command: [python, train.py, --lr, 1e-3]\n"
        "  env:\n"
        "    PYTHON: 3.10\n"
        "    COUNTRY: NO\n"
        "  timeout: 12:00:00\n"
        "  suspend: yes\n"
        "  nodes: 0777\n"
        "  gpus: 8\n"
        "  retry: {limit: '3'}\n"
    )
    found = [(f"{issue.line}:{issue.column}", issue.code, issue.path, issue.fix) for issue in faults(text)]
    assert found == [
        ("4:9", "PD-1107", "metadata.name", found[0][3]),
        ("5:3", "PD-1101", "metadata.labls", "did you mean labels?"),
        ("7:37", "PD-1104", "spec.command[3]", 'write "1e-3"'),
        ("9:13", "PD-1104", "spec.env.PYTHON", 'write "3.10"'),
        ("10:14", "PD-1010", "", 'write "NO" or false'),
        ("11:12", "PD-1108", "spec.timeout", "write 12h"),
        ("12:12", "PD-1103", "spec.suspend", "write true"),
        ("13:10", "PD-1010", "", 'write "0777" for the text, or 777 for the number'),
        ("14:3", "PD-1101", "spec.gpus", "did you mean spec.resources.gpus?"),
        ("15:18", "PD-1103", "spec.retry.limit", "write 3, without quotes"),
    ]


@pytest.mark.parametrize(
    ("spec", "place", "code", "path", "says", "write"),
    [
        ("  comand: [a]\n", "5:3", "PD-1101", "spec.comand", "no field", "did you mean command?"),
        ("  shell: x\n  processes_per_node: 2\n", "6:3", "PD-1101", "spec.processes_per_node", "", "processesPerNode?"),
        ("  shell: x\n  memory: 1Gi\n", "6:3", "PD-1101", "spec.memory", "", "did you mean spec.resources.memory?"),
        ("  shell: x\n  zzz: 1\n", "6:3", "PD-1101", "spec.zzz", "no field", "use one of: type, mode"),
        ("  command: python train.py\n", "5:12", "PD-1103", "spec.command", "list", "shell: TEXT"),
        ("  shell: x\n  type: trainig\n", "6:9", "PD-1105", "spec.type", "training", "did you mean training?"),
        ("  shell: x\n  type: cooking\n", "6:9", "PD-1105", "spec.type", "training", "use one of: training"),
        ("  shell: x\n  nodes: 0\n", "6:10", "PD-1106", "spec.nodes", "0 is not at least 1", "at least 1"),
        ("  shell: x\n  nodes: 1.5\n", "6:10", "PD-1103", "spec.nodes", "1.5", "whole number"),
        ("  shell: x\n  nodes: true\n", "6:10", "PD-1103", "spec.nodes", "boolean", "whole number"),
        ("  shell: x\n  timeout: 0s\n", "6:12", "PD-1106", "spec.timeout", "not above 0s", "above 0s"),
        ("  shell: x\n  checkpoints: {every: 5ms}\n", "6:24", "PD-1106", "spec.checkpoints.every", "at least 1s", "1s"),
        ("  shell: x\n  env: {A: }\n", "6:11", "PD-1104", "spec.env.A", "nothing", '""'),
        ("  shell: x\n  env: {A: [1]}\n", "6:9", "PD-1103", "spec.env.A", "not a list", "secret"),
        ("  shell: x\n  env: {A: {secrt: x}}\n", "6:13", "PD-1101", "spec.env.A.secrt", "", "did you mean secret?"),
        ("  shell: x\n  env: {1A: x}\n", "6:9", "PD-1111", "spec.env.1A", "1A", "letters"),
        ("  shell: x\n  retry:\n", "6:9", "PD-1103", "spec.retry", "nothing stands below", "limit, backoff"),
        ("  shell: x\n  retry: 3\n", "6:10", "PD-1103", "spec.retry", "the number 3", "limit"),
        ("  shell: x\n  retry: {rules: {oom: 1}}\n", "6:19", "PD-1105", "spec.retry.rules.oom", "", "out-of-memory"),
        (
            "  shell: x\n  secretFiles: [{secret: a}]\n",
            "6:17",
            "PD-1102",
            "spec.secretFiles[0].path",
            "missing",
            "path",
        ),
        ("  shell: x\n  workingDir: ../x\n", "6:15", "PD-1113", "spec.workingDir", "inside", "no .."),
        (
            "  shell: x\n  workdir: {mode: none}\n  workingDir: a\n",
            "7:3",
            "PD-1112",
            "spec.workingDir",
            "empty",
            "remove",
        ),
        ("  args: [a]\n  shell: x\n", "5:3", "PD-1112", "spec.args", "there is none", "command or shell"),
    ],
)
def test_a_fault_is_placed_and_says_what_to_write(
    spec: str, place: str, code: str, path: str, says: str, write: str
) -> None:
    (found,) = faults(HEAD + spec)
    assert (f"{found.line}:{found.column}", found.code, found.path) == (place, code, path)
    assert says in found.what
    assert write in found.fix


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "PD-1012", "no document"),
        ("# nothing\n---\n", "PD-1012", "no document"),
        ("- a\n", "PD-1012", "mapping"),
        ("just words\n", "PD-1012", "mapping"),
        ("apiVersion: perdure/v1\n", "PD-1102", "kind is missing"),
        ("kind: Jobb\n", "PD-1100", "no kind"),
        ("kind: [Job]\n", "PD-1100", "no kind"),
        ("apiVersion: perdure/v2\nkind: Job\nmetadata: {name: a}\nspec: {shell: x}\n", "PD-1100", "perdure/v1"),
    ],
)
def test_what_is_no_document_of_ours_is_named(text: str, code: str, says: str) -> None:
    (found,) = faults(text)
    assert found.code == code
    assert says in found.what


def test_fields_that_nothing_here_serves_are_refused_with_their_places() -> None:
    spec = "  shell: x\n  team: research\n  resources: {gpus: 8}\n  placement:\n    topology: {required: rack}\n"
    found = [(issue.line, issue.column, issue.code, issue.path) for issue in faults(HEAD + spec)]
    assert found == [
        (6, 3, "PD-1502", "spec.team"),
        (7, 15, "PD-1501", "spec.resources.gpus"),
        (9, 5, "PD-1501", "spec.placement.topology"),
    ]
    assert parse(HEAD + spec, source="x", served_only=False)


def test_documents_of_one_text_are_read_together_and_faults_of_all_are_reported() -> None:
    second = "apiVersion: perdure/v1\nkind: Secret\nmetadata: {name: token}\nspec: {value: abcd}\n"
    job, secret = parse(f"{HEAD}  shell: x\n---\n{second}", source="x")
    assert isinstance(job, Job)
    assert isinstance(secret, Secret)
    assert secret.spec.value.get_secret_value() == "abcd"
    found = faults(f"{HEAD}  shell: 1\n---\n{second.replace('abcd', 'abc')}")
    assert [issue.code for issue in found] == ["PD-1104", "PD-1106"]


def test_one_document_of_one_kind_can_be_asked_for() -> None:
    assert parse_job(f"{HEAD}  shell: x\n", "x").metadata.name == "digits"
    with pytest.raises(SpecError, match="it is a Job"):
        parse_one(f"{HEAD}  shell: x\n", "x", Template)
    with pytest.raises(SpecError, match="2 documents"):
        parse_job(f"{HEAD}  shell: x\n---\n{HEAD}  shell: x\n", "x")


def test_json_text_is_read_with_places_too() -> None:
    text = json.dumps(
        {"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"shell": 1}}, indent="\t"
    )
    (found,) = faults(text)
    assert (found.code, found.line, found.column, found.path) == ("PD-1104", 8, 12, "spec.shell")


def test_data_is_checked_like_text_with_the_field_as_place() -> None:
    with pytest.raises(SpecError) as refused:
        from_data(
            {"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"shell": 1, "queue": "q"}}
        )
    assert [issue.where for issue in refused.value.issues] == ["spec.shell"]
    problem = refused.value.problem()
    assert (problem.status, problem.code, problem.where) == (422, "PD-1104", "spec.shell")
    with pytest.raises(SpecError, match="mapping"):
        from_data([])


def test_several_faults_become_one_problem_that_lists_them() -> None:
    with pytest.raises(SpecError) as refused:
        parse(HEAD + "  shell: 1\n  nodes: 0\n", source="job.yaml")
    problem = refused.value.problem()
    assert (problem.code, problem.detail) == ("PD-1000", "job.yaml has 2 faults")
    assert [(each.code, each.where) for each in problem.errors] == [
        ("PD-1104", "job.yaml:5:10 (spec.shell)"),
        ("PD-1106", "job.yaml:6:10 (spec.nodes)"),
    ]
    assert "    5 |   shell: 1\n      |          ^" in problem.errors[0].detail


@pytest.mark.parametrize("line", ["  unknown{n}: 1\n", "  args: [x]\n", "  k{n}: NO\n", "  " + "x" * 200 + "{n}: 1\n"])
def test_a_hopeless_document_gets_a_bounded_answer_soon(line: str) -> None:
    text = HEAD + "".join(line.replace("{n}", str(n)) for n in range(1200))
    began = time.monotonic()
    assert len(faults(text)) == 100
    assert time.monotonic() - began < 20


SECRET = "apiVersion: perdure/v1\nkind: Secret\nmetadata: {name: token}\nspec: {value: %s}\n"


@pytest.mark.parametrize(
    "value", ["hunter2, x", "12345678", "[hunter2]", "{a: hunter2}", "'hunter2", "hunter2: x", "0777", "&hunter2 a"]
)
def test_no_fault_repeats_the_value_of_a_secret(value: str) -> None:
    with pytest.raises(SpecError) as refused:
        parse(SECRET % value + "extra: hunter2\nextra2: 12345678\n", source="secret.yaml")
    told = str(refused.value) + str(refused.value.problem())
    assert not {"hunter2", "12345678", "0777"} & set(told.replace("'", " ").replace('"', " ").split())


def test_a_secret_is_never_shown_again() -> None:
    (secret,) = parse(SECRET % "hunter2-and-more", source="x")
    assert isinstance(secret, Secret)
    assert secret.spec.value.get_secret_value() == "hunter2-and-more"
    assert "hunter2" not in repr(secret) + str(secret) + secret.model_dump_json() + str(secret.model_dump())


@settings(max_examples=200)
@given(yaml_like)
def test_no_text_raises_anything_but_a_document_error(text: str) -> None:
    try:
        found = parse(text, source="x")
    except SpecError as error:
        assert_told(error)
    else:
        assert found


def assert_told(error: SpecError) -> None:
    assert error.issues
    assert error.problem().status == 422
