"""Faults between documents of the scheduler that are each right by themselves, with their places."""

from typing import Any

import pytest

from definitions.documents import AnyKind, parse
from definitions.spec_errors import SpecError
from definitions.yaml_writer import dump
from policies.scheduling.documents import faults, scheduling
from tests.definitions.test_job_model import job
from tests.definitions.test_queue_model import document

H100 = document("ResourceFlavor", {"gpuType": "H100", "alsoKnownAs": ["NVIDIA-H100"], "gpuMemory": "80Gi"}, "h100")
HALL = document(
    "Topology",
    {"levels": [{"name": "block", "nodeLabel": "x/block"}, {"name": "rack", "nodeLabel": "x/rack"}]},
    "hall",
)


def queue(name: str, parent: str | None = None, **spec: Any) -> dict[str, Any]:
    return document("Queue", {**({"parent": parent} if parent else {}), **spec}, name)


def gpus(**quota: Any) -> dict[str, Any]:
    return {"quotas": {"gpus": quota}}


def h100(**quota: Any) -> dict[str, Any]:
    return {"quotas": {"flavors": {"h100": quota}}}


def pool(name: str = "training", **simulated: Any) -> dict[str, Any]:
    made = {"count": 4, "cpus": 64, "memory": "1Ti", **simulated}
    return document("NodePool", {"topology": "hall", "simulated": made}, name)


def reservation(name: str = "nightly", **spec: Any) -> dict[str, Any]:
    ends = {} if {"end", "length"} & set(spec) else {"length": "1h"}
    base = {"queue": "all", "capacity": {"nodes": 1}, "start": "2027-03-05T10:00", "timeZone": "UTC"}
    return document("Reservation", {**base, **ends, **spec}, name)


def read(*documents: dict[str, Any]) -> list[AnyKind]:
    text = "---\n".join(dump(each) for each in documents)
    return parse(text, source="x.yaml", served_only=False, together=faults)


@pytest.mark.parametrize(
    ("documents", "index", "path", "code", "says", "write"),
    [
        ([queue("research", "al"), queue("all")], 0, "spec.parent", "PD-1610", "no Queue al", "did you mean all?"),
        ([queue("a", "zzz")], 0, "spec.parent", "PD-1610", "no Queue zzz", "add a document of kind Queue"),
        ([queue("a", **h100())], 0, "spec.quotas.flavors.h100", "PD-1610", "no ResourceFlavor h100", "add a document"),
        (
            [document("PriorityClass", {"value": 1, "usableBy": ["x"]})],
            0,
            "spec.usableBy[0]",
            "PD-1610",
            "no Queue x",
            "add a document",
        ),
        ([pool()], 0, "spec.topology", "PD-1610", "no Topology hall", "add a document"),
        (
            [HALL, pool(gpus=8, flavor="h10")],
            1,
            "spec.simulated.flavor",
            "PD-1610",
            "no ResourceFlavor h10",
            "add a document",
        ),
        (
            [HALL, pool(domains={"rak": 2})],
            1,
            "spec.simulated.domains.rak",
            "PD-1610",
            "hall has no level rak",
            "did you mean rack?",
        ),
        ([HALL, pool(domains={"z": 2})], 1, "spec.simulated.domains.z", "PD-1610", "no level z", "block, rack"),
        ([reservation()], 0, "spec.queue", "PD-1610", "no Queue all", "add a document"),
        ([queue("all"), reservation(pool="a")], 1, "spec.pool", "PD-1610", "no NodePool a", "add a document"),
        (
            [queue("all"), reservation(capacity={"nodes": 1, "flavor": "a"})],
            1,
            "spec.capacity.flavor",
            "PD-1610",
            "no ResourceFlavor a",
            "add a document",
        ),
        (
            [queue("all"), reservation(users={"queues": ["all", "alle"]})],
            1,
            "spec.users.queues[1]",
            "PD-1610",
            "no Queue alle",
            "did you mean all?",
        ),
        ([queue("a", "a")], 0, "spec.parent", "PD-1611", "a → a", "remove parent"),
        (
            [queue("x", "b"), queue("a", "c"), queue("b", "a"), queue("c", "b")],
            1,
            "spec.parent",
            "PD-1611",
            "a → c → b → a",
            "remove parent",
        ),
        ([queue("a"), queue("a")], 1, "metadata.name", "PD-1612", "another Queue a", "another name"),
        ([queue("a", default=True), queue("b", default=True)], 1, "spec.default", "PD-1613", "a is the default", "one"),
        (
            [document("PriorityClass", {"value": 1, "default": True}, name) for name in ("a", "b")],
            1,
            "spec.default",
            "PD-1613",
            "a is the default",
            "remove default",
        ),
        (
            [queue("all", **gpus(guarantee=16)), *(queue(name, "all", **gpus(guarantee=9)) for name in "ab")],
            0,
            "spec.quotas.gpus.guarantee",
            "PD-1614",
            "queues below all are guaranteed 18 GPUs together (a 9 GPUs, b 9 GPUs), and all is guaranteed 16 GPUs",
            "raise it to 18 GPUs",
        ),
        (
            [queue("all", **gpus(limit=16)), queue("b", "all"), queue("c", "b", **gpus(guarantee=16.5))],
            0,
            "spec.quotas.gpus.limit",
            "PD-1614",
            "all may have at most 16 GPUs",
            "raise it to 16.5 GPUs",
        ),
        (
            [H100, queue("all", **gpus(limit=8)), queue("a", "all", **h100(guarantee=9))],
            1,
            "spec.quotas.gpus.limit",
            "PD-1614",
            "guaranteed 9 GPUs together",
            "raise it to 9 GPUs",
        ),
        (
            [
                queue("all", quotas={"memory": {"guarantee": "1Ti"}}),
                queue("a", "all", quotas={"memory": {"guarantee": "2Ti"}}),
            ],
            0,
            "spec.quotas.memory.guarantee",
            "PD-1614",
            "guaranteed 2Ti of memory together",
            "raise it to 2Ti of memory",
        ),
        (
            [H100, document("ResourceFlavor", {"gpuType": "B", "alsoKnownAs": ["NVIDIA-H100"]}, "b")],
            1,
            "spec.alsoKnownAs[0]",
            "PD-1615",
            "NVIDIA-H100 is a model of the flavor h100",
            "remove it",
        ),
        (
            [HALL, pool(domains={"block": 6, "rack": 4})],
            1,
            "spec.simulated.domains.block",
            "PD-1616",
            "a block of 6 nodes cuts through a rack of 4",
            "multiple of 4",
        ),
        (
            [queue("all"), reservation(length="25h", repeat={"frequency": "daily"})],
            1,
            "spec.length",
            "PD-1617",
            "ends 2027-03-06 11:00 +00:00, and the next begins 2027-03-06 10:00 +00:00",
            "make it shorter",
        ),
        (
            [
                queue("all"),
                reservation(
                    length="1d", start="2027-03-26T00:00", timeZone="Europe/Berlin", repeat={"frequency": "daily"}
                ),
            ],
            1,
            "spec.length",
            "PD-1617",
            "the window of 2027-03-28 00:00 +01:00 ends 2027-03-29 01:00 +02:00",
            "make it shorter",
        ),
        (
            [queue("all"), reservation(start="2011-12-30T10:00", timeZone="Pacific/Apia")],
            1,
            "spec.start",
            "PD-1617",
            "clocks jump over all of it",
            "another start",
        ),
        (
            [
                queue("all"),
                reservation("a", capacity={"nodeNames": ["n1", "n2"]}, repeat={"frequency": "weekly"}),
                reservation("b", capacity={"nodeNames": ["n2"]}, start="2027-03-12T10:30", timeZone="Europe/London"),
            ],
            2,
            "spec.capacity.nodeNames",
            "PD-1617",
            "n2 is reserved by a from 2027-03-12 10:00 +00:00 to 2027-03-12 11:00 +00:00, and here from",
            "other nodes",
        ),
        (
            [
                H100,
                HALL,
                queue("all"),
                pool(gpus=8, flavor="h100"),
                document("ResourceFlavor", {"gpuType": "T4"}, "t4"),
                reservation(pool="training", capacity={"gpus": 8, "flavor": "t4"}),
            ],
            5,
            "spec.capacity.flavor",
            "PD-1618",
            "nodes of training have GPUs of h100, not of t4",
            "correct flavor",
        ),
        (
            [HALL, queue("all"), pool(), reservation(pool="training", capacity={"gpus": 8})],
            3,
            "spec.capacity.gpus",
            "PD-1618",
            "nodes of training have no GPUs",
            "reserve nodes",
        ),
        (
            [HALL, queue("all"), pool(), reservation(pool="training", capacity={"nodeNames": ["training-0004"]})],
            3,
            "spec.capacity.nodeNames[0]",
            "PD-1618",
            "training has no node training-0004",
            "training-0000 to training-0003",
        ),
        (
            [HALL, queue("all"), pool(), reservation(pool="training", cluster="north", capacity={"nodes": 1})],
            3,
            "spec.cluster",
            "PD-1618",
            "nodes of training are made up, and stand for those of this machine, not of north",
            "remove cluster",
        ),
        (
            [queue("all"), reservation(users={"withoutNaming": True})],
            1,
            "spec.users.withoutNaming",
            "PD-1619",
            "jobs that name no reservation do not run in one here",
            "write reservation: nightly in the jobs",
        ),
        (
            [queue("top", **gpus(limit=8)), queue("all", "top"), reservation(capacity={"gpus": 9})],
            2,
            "spec.capacity.gpus",
            "PD-1618",
            "it keeps 9 GPUs, and top may have at most 8 GPUs",
            "raise the limit of top",
        ),
        (
            [
                H100,
                queue("all", **h100(limit=12)),
                HALL,
                pool(gpus=8, flavor="h100"),
                reservation(pool="training", capacity={"nodes": 2}),
            ],
            4,
            "spec.capacity.nodes",
            "PD-1618",
            "it keeps 16 GPUs of h100, and all may have at most 12 GPUs of h100",
            "raise the limit of all",
        ),
        (
            [
                H100,
                HALL,
                queue("all"),
                pool(gpus=8, flavor="h100"),
                reservation("b", pool="training", capacity={"gpus": 9}, start="2027-03-12T10:59"),
                reservation("a", pool="training", capacity={"nodes": 3}, repeat={"frequency": "weekly"}),
            ],
            4,
            "spec.capacity.gpus",
            "PD-1617",
            "from 2027-03-12 10:59 +00:00 on 33 GPUs are reserved of training's 32 (a 24, b 9)",
            "another time",
        ),
        (
            [
                HALL,
                queue("all"),
                pool(),
                reservation("a", pool="training", capacity={"nodes": 3}),
                reservation("b", pool="training", capacity={"nodeNames": ["training-0000", "training-0001"]}),
            ],
            4,
            "spec.capacity.nodeNames",
            "PD-1617",
            "5 nodes are reserved of training's 4 (a 3, b 2)",
            "keep less",
        ),
    ],
)
def test_a_fault_between_documents_is_told_at_the_one_to_change(
    documents: list[dict[str, Any]], index: int, path: str, code: str, says: str, write: str
) -> None:
    with pytest.raises(SpecError) as refused:
        read(*documents)
    (found,) = refused.value.issues
    assert (found.path, found.code) == (path, code)
    assert says in found.what
    assert write in found.fix
    before = "".join(f"---\n{dump(each)}" for each in documents[:index]).count("\n")
    assert found.line is not None
    assert before < found.line, "it is placed in the document that is to be changed"
    assert found.line <= before + dump(documents[index]).count("\n") + 1


@pytest.mark.parametrize(
    "documents",
    [
        [queue("all", **gpus(limit=16)), *(queue(name, "all", **gpus(guarantee=8)) for name in "ab")],
        [H100, queue("all", **gpus(guarantee=0, lending=0)), queue("a", "all", quotas={"cpus": {"guarantee": 4}})],
        [queue("all"), reservation(length="1d", timeZone="Europe/Berlin", repeat={"frequency": "weekly"})],
        [
            queue("all"),
            reservation(
                start="2027-03-26T00:00",
                end="2027-03-27T00:00",
                timeZone="Europe/Berlin",
                repeat={"frequency": "daily"},
            ),
        ],
        [
            queue("all"),
            *(reservation(name, capacity={"nodeNames": [f"n{name}"]}) for name in "ab"),
        ],
        [HALL, pool(domains={"rack": 3})],
        [
            H100,
            HALL,
            queue("all", **gpus(limit=32)),
            pool(gpus=8, flavor="h100"),
            reservation("a", pool="training", capacity={"nodes": 4}),
            reservation("b", pool="training", capacity={"gpus": 32, "flavor": "h100"}, start="2027-03-05T11:00"),
            reservation("c", pool="training", capacity={"nodeNames": ["training-0003"]}, start="2027-03-05T12:00"),
        ],
        [],
    ],
)
def test_documents_that_fit_together_are_accepted(documents: list[dict[str, Any]]) -> None:
    assert len(read(*documents, job())) == len(documents) + 1


def test_every_fault_is_reported_at_once_with_its_place() -> None:
    with pytest.raises(SpecError) as refused:
        read(queue("a", "b"), queue("a"), pool())
    assert [(issue.where, issue.code) for issue in refused.value.issues] == [
        ("x.yaml:6:11 (spec.parent)", "PD-1610"),
        ("x.yaml:11:9 (metadata.name)", "PD-1612"),
        ("x.yaml:19:13 (spec.topology)", "PD-1610"),
    ]


def test_converting_what_was_not_checked_refuses_it_too() -> None:
    found = parse(dump(queue("a", "b")), source="x", served_only=False)
    with pytest.raises(SpecError, match="PD-1610"):
        scheduling(found)
