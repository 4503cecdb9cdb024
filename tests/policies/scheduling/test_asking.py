"""From a job's document to a request: what it says, and nothing that it does not say."""

from typing import Any

import pytest

from definitions.job import Job, JobSpec
from policies.scheduling.affinity import NODE_NAME, Condition, holds
from policies.scheduling.asking import Asked, Shapes, Words, amounts_of, limit_of, shape_of
from policies.scheduling.documents import Priority
from policies.scheduling.model import Expression, Near, Operator, Request, Role, Shape, Tolerated, Where

GIB = 1 << 30
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODES = {
    "n1": {NODE_NAME: "n1", "zone": "north", "cores": "64"},
    "n2": {NODE_NAME: "n2", "zone": "south", "cores": "128"},
    "n3": {NODE_NAME: "n3", "zone": "west"},
}
WORDS = Words(
    models={"H100": "H100", "NVIDIA-H100": "H100"},
    levels={"rack": "example.org/rack"},
    networks={"rdma": {"perdure.dev/rdma": "true"}},
    nodes=NODES,
)
IN, NOT_IN, EXISTS = Operator.IN, Operator.NOT_IN, Operator.EXISTS


def spec(**fields: Any) -> JobSpec:
    document = {"command": ["true"], "cluster": "north", **fields}
    return Job.model_validate(
        {"apiVersion": "perdure/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": document}
    ).spec


def asked(job: JobSpec, **more: Any) -> Request:
    return Shapes(WORDS).request(Asked("job", "research", shape_of(job, **more)))


def affine(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def condition(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def test_a_job_asks_for_its_nodes_and_what_each_of_them_gets() -> None:
    job = spec(
        nodes=4, resources={"gpus": 8, "gpuType": "NVIDIA-H100", "gpuMemory": "80Gi", "cpus": 6, "memory": "1Gi"}
    )
    shape = Shape(cpu=6000, memory=GIB, gpus=8, gpu_models=("H100",), gpu_memory=80 * GIB)
    assert asked(job).roles == (Role("node", 4, shape),)
    assert amounts_of(shape_of(job), WORDS.models) == {
        "cpu": 24_000, "memory": 4 * GIB, "gpu": 32_000, "gpu/H100": 32_000,
    }  # fmt: skip


def test_an_elastic_job_asks_for_its_sizes_and_of_limits_for_the_smallest() -> None:
    job = spec(nodes=4, elastic={"minNodes": 2, "maxNodes": 8}, resources={"cpus": 6})
    assert asked(job).roles == (Role("node", 4, Shape(cpu=6000), least=2, most=8),)
    assert amounts_of(shape_of(job), {}) == {"cpu": 12_000}
    assert "least" not in shape_of(spec(nodes=4))


@pytest.mark.parametrize(
    ("resources", "shape"),
    [
        ({}, Shape()),
        ({"gpus": 2}, Shape(gpus=2)),
        ({"gpus": 2, "gpuType": "any"}, Shape(gpus=2)),
        ({"gpus": 2, "gpuType": "B200"}, Shape(gpus=2, gpu_models=("B200",))),
        ({"gpus": 3, "gpuType": "mig-2g.20gb"}, Shape(slices=(("2g.20gb", 3),))),
        ({"gpus": 1, "gpuType": "nvidia.com/mig-1g.10gb"}, Shape(slices=(("1g.10gb", 1),))),
        ({"gpus": 1, "gpuType": "mig-1g.10gb+me"}, Shape(slices=(("1g.10gb.me", 1),))),
    ],
)
def test_words_for_gpus(resources: dict[str, Any], shape: Shape) -> None:
    assert asked(spec(resources=resources)).roles[0].shape == shape


@pytest.mark.parametrize(
    ("placement", "where"),
    [
        ({}, Where()),
        ({"nodeSelector": {"zone": "north"}}, Where((Expression("zone", IN, ("north",)),))),
        (
            {"tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b", "value": "1", "effect": "NoSchedule"}]},
            Where(tolerates=(Tolerated("a", None, ""), Tolerated("b", "1", "NoSchedule"))),
        ),
        ({"tolerations": [{"operator": "Exists"}]}, Where(tolerates=(Tolerated("", None, ""),))),
        ({"tolerations": [{"key": "a"}]}, Where(tolerates=(Tolerated("a", "", ""),))),
        (
            affine({"matchExpressions": [condition("zone", "NotIn", "south"), condition("cores", "Exists")]}),
            Where((Expression("zone", NOT_IN, ("south",)), Expression("cores", EXISTS))),
        ),
        (
            affine({"matchFields": [condition("metadata.name", "In", "n2")]}),
            Where((Expression(NODE_NAME, IN, ("n2",)),)),
        ),
        (
            affine({"matchExpressions": [condition("zone", "In", "north")]},
                   {"matchExpressions": [condition("cores", "Gt", "100")]}),
            Where(nodes=("n1", "n2")),
        ),
        (affine({"matchExpressions": [condition("cores", "Lt", "10")]}), Where(nodes=("-",))),
        (affine({}), Where(nodes=("-",))),
        ({"affinity": {"podAffinity": {}}}, Where()),
    ],
)  # fmt: skip
def test_words_for_where_a_job_may_be(placement: dict[str, Any], where: Where) -> None:
    assert asked(spec(placement=placement)).roles[0].shape.where == where


def test_a_pinned_job_names_its_nodes_and_one_that_failed_avoids_them() -> None:
    pinned, failed = asked(spec(), nodes=["n2", "n1"]), asked(spec(), avoid=["n3"])
    assert pinned.roles[0].shape.where == Where(nodes=("n1", "n2"))
    assert failed.roles[0].shape.where == Where((Expression(NODE_NAME, NOT_IN, ("n3",)),))


def test_a_fast_network_is_had_by_some_nodes_only() -> None:
    where = asked(spec(network="rdma", placement={"nodeSelector": {"zone": "north"}})).roles[0].shape.where
    wanted = [Expression("perdure.dev/rdma", IN, ("true",)), Expression("zone", IN, ("north",))]
    assert where.expressions == tuple(wanted)


@pytest.mark.parametrize(
    ("topology", "near"),
    [
        ({"required": "rack"}, Near(required="example.org/rack")),
        ({"preferred": "rack"}, Near(preferred="example.org/rack")),
        ({"required": "hall"}, Near(required="hall")),  # a level that the pool does not have: nothing has it
    ],
)
def test_closeness_is_told_by_the_labels_of_the_pools_topology(topology: dict[str, str], near: Near) -> None:
    request = asked(spec(placement={"topology": topology, "spread": True}))
    assert (request.near, request.roles[0].spread) == (near, True)


@pytest.mark.parametrize(
    ("fields", "limit"),
    [({}, None), ({"timeout": "1h"}, 3630), ({"timeout": "1h", "gracePeriod": "1500ms"}, 3602)],
)
def test_a_limit_is_the_timeout_and_what_a_stop_needs(fields: dict[str, str], limit: int | None) -> None:
    assert limit_of(spec(**fields)) == limit


def test_equal_documents_have_equal_texts_and_others_have_others() -> None:
    texts = {shape_of(spec(nodes=nodes, timeout=f"{nodes}h")) for nodes in (1, 2, 3)}
    assert len(texts) == 3
    assert shape_of(spec(timeout="1h")) == shape_of(spec(env={"A": "b"})) == '{"roles":[{"count":1,"name":"node"}]}'


def test_a_class_gives_its_worth_and_its_rights() -> None:
    urgent = Priority("urgent", 20, preemptible=False, displaces=True)
    request = Shapes(WORDS).request(Asked("job", "q", shape_of(spec()), priority=7, submitted=5, limit=60), urgent)
    assert (request.priority, request.preemptible, request.displaces) == (20 * 101 + 7, False, True)
    assert (request.id, request.queue, request.submitted, request.limit) == ("job", "q", 5, 60)


@pytest.mark.parametrize(
    ("how", "values", "found"),
    [
        ("Gt", ("63",), True),
        ("Gt", ("64",), False),
        ("Lt", ("65",), True),
        ("Gt", ("many",), False),
        ("Near", (), False),
    ],
)
def test_conditions_that_compare(how: str, values: tuple[str, ...], found: bool) -> None:
    assert holds([Condition("cores", how, values)], NODES["n1"]) is found
    assert holds([Condition("cores", how, values)], NODES["n3"]) is False
