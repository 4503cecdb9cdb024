"""Every process of a gang is told its place, in the words of its framework."""

import json

import pytest

from definitions import protocol
from definitions.attempt import AttemptLaunch, AttemptRef
from definitions.job_workload import Framework
from policies.rank_environment import FRAMEWORKS, LEFT_TO_THE_JOB, ports_needed, rank_environment

REF = AttemptRef(tenant="t", project="p", job="j", number=1, token="a" * 32)


def launch(framework: str | None = None, backend: str | None = None) -> AttemptLaunch:
    return AttemptLaunch(
        ref=REF,
        name="train",
        owner="me",
        argv=("true",),
        nodes=2,
        processes_per_node=4,
        framework=framework,
        backend=backend,
    )


def of_rank_5(framework: str | None, backend: str | None = None) -> dict[str, str]:
    return rank_environment(launch(framework, backend), 5, "host-b", "10.0.0.1", 29500)


@pytest.mark.parametrize(
    ("framework", "expected"),
    [
        (
            None,
            {
                "RANK": "5",
                "WORLD_SIZE": "8",
                "LOCAL_RANK": "1",
                "LOCAL_WORLD_SIZE": "4",
                "NODE_RANK": "1",
                "GROUP_RANK": "1",
                "NNODES": "2",
                "NPROC_PER_NODE": "4",
                "MASTER_ADDR": "10.0.0.1",
                "MASTER_PORT": "29500",
                protocol.RANK: "5",
                protocol.LOCAL_RANK: "1",
                protocol.NODE_RANK: "1",
                protocol.WORLD_SIZE: "8",
                protocol.NODES: "2",
            },
        ),
        ("pytorch", {"PET_NNODES": "8", "PET_NODE_RANK": "5", "PET_MASTER_PORT": "29500"}),
        ("deepspeed", {"LOCAL_SIZE": "4", "CROSS_RANK": "1", "CROSS_SIZE": "2", "PET_NODE_RANK": "5"}),
        ("megatron", {"PET_NODE_RANK": "5"}),
        ("mpi", {"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "PMI_SIZE": "8"}),
        ("jax", {"JAX_COORDINATOR_ADDRESS": "10.0.0.1:29500", "JAX_PROCESS_ID": "5", "JAX_NUM_PROCESSES": "8"}),
        ("ray", {"RAY_ADDRESS": "10.0.0.1:29500"}),
        ("horovod", {"HOROVOD_RANK": "5", "HOROVOD_CROSS_RANK": "1", "HOROVOD_HOSTNAME": "host-b"}),
    ],
)
def test_a_rank_is_told_its_place_in_the_words_of_its_framework(
    framework: str | None, expected: dict[str, str]
) -> None:
    told = of_rank_5(framework)
    assert {name: told.get(name) for name in expected} == expected


def test_without_a_framework_only_the_common_variables_are_set() -> None:
    told = of_rank_5(None)
    assert not [name for name in told if name.startswith(("PET_", "OMPI_", "HOROVOD_", "JAX_", "RAY_", "TF_"))]


@pytest.mark.parametrize(("backend", "controller"), [(None, "gloo"), ("nccl", "gloo"), ("mpi", "mpi")])
def test_the_backend_reaches_the_job_and_horovod_as_far_as_it_knows_it(backend: str | None, controller: str) -> None:
    told = of_rank_5("horovod", backend)
    assert told.get(protocol.BACKEND) == backend
    assert told["HOROVOD_CONTROLLER"] == controller


def test_tensorflow_gets_one_worker_per_rank_each_at_an_address_of_its_own() -> None:
    one_host = json.loads(of_rank_5("tensorflow")["TF_CONFIG"])
    assert one_host["task"] == {"type": "worker", "index": 5}
    assert one_host["cluster"]["worker"] == [f"10.0.0.1:{port}" for port in range(29500, 29508)]
    told = rank_environment(launch("tensorflow"), 5, "b", "10.0.0.1", 29500, ("10.0.0.1", "10.0.0.2"))
    workers = json.loads(told["TF_CONFIG"])["cluster"]["worker"]
    assert workers[3:5] == ["10.0.0.1:29503", "10.0.0.2:29500"]
    assert len(set(workers)) == 8


def test_every_framework_that_a_job_may_name_has_variables_and_says_what_is_left_to_the_job() -> None:
    assert set(FRAMEWORKS) == set(LEFT_TO_THE_JOB) == set(Framework)


def test_only_a_framework_whose_ranks_all_listen_needs_more_than_the_masters_port() -> None:
    assert [ports_needed(launch(name)) for name in (None, "pytorch", "tensorflow")] == [1, 1, 8]
