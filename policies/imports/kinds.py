"""The kinds that are understood: plain jobs, sets of jobs, and the training operators' own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from policies.imports.ledger import Item
from policies.imports.pods import Spec, from_container, from_template, resources_of, shell_words

MPI_LAUNCHERS = ("mpirun", "mpiexec", "horovodrun")
MPI_VALUES = re.compile(
    r"-{1,2}(np|n|c|N|x|bind-to|map-by|mca|H|host|hosts|hostfile|machinefile|ppn|genv|env|wdir|cwd)"
)


def batch_job(root: Item) -> Spec:
    """batch/v1 Job."""
    spec = root.at("spec")
    if spec is None:
        return {}
    return {**_size_of_job(spec), **_run_policy(spec), **from_template(spec.at("template"))}


def job_set(root: Item) -> Spec:
    """jobset.x-k8s.io JobSet: its groups become the nodes of one job where they run the same."""
    spec = root.at("spec")
    if spec is None:
        return {}
    nodes = 0
    found: Spec = {}
    for group in spec.each("replicatedJobs"):
        job = group.at("template", "spec")
        group.take("name")
        size = _size_of_job(job)["nodes"] if job is not None else 1
        replicas = group.take("replicas")
        found, taken = _same(found, from_template(job.at("template")) if job is not None else {}, group)
        nodes += size * (1 if replicas is None else int(replicas)) if taken else 0
        if job is not None and taken:
            found = {**_run_policy(job), **found}
    restarts = spec.take("failurePolicy", "maxRestarts")
    retry = {} if restarts is None else {"retry": {"limit": restarts}}
    return {**found, **retry, **_run_policy(spec), "nodes": max(nodes, 1)}


def pytorch_job(root: Item) -> Spec:
    """kubeflow.org PyTorchJob: master and workers are ranks of one gang."""
    spec = root.at("spec")
    if spec is None:
        return {}
    nodes = 0
    found: Spec = {}
    for role in sorted(spec.each("pytorchReplicaSpecs"), key=lambda item: item.name != "Master"):
        replicas = role.take("replicas")
        found, taken = _same(found, from_template(role.at("template")), role)
        nodes += (1 if replicas is None else int(replicas)) if taken else 0
        role.take("restartPolicy")
    size: Spec = {"nodes": max(nodes, 1), "distributed": {"framework": "pytorch"}}
    return {**found, **size, **_processes(spec.at("nprocPerNode")), **_policy_of(spec)}


def mpi_job(root: Item) -> Spec:
    """kubeflow.org MPIJob: the workers are the nodes, and the launcher's command runs on all of them."""
    spec = root.at("spec")
    if spec is None:
        return {}
    launcher = spec.at("mpiReplicaSpecs", "Launcher")
    worker = spec.at("mpiReplicaSpecs", "Worker")
    slots, replicas = spec.take("slotsPerWorker"), worker.take("replicas") if worker is not None else None
    runs = from_template(launcher.at("template")) if launcher is not None else {}
    where = from_template(worker.at("template")) if worker is not None else {}
    command = runs.get("command", [])
    if worker is not None and where.get("command"):
        worker.ledger.changed(worker, "its own command goes: every node runs what the launcher started")
    if launcher is not None:
        launcher.take("replicas")
        command = _without_launcher(command, launcher)
    size = {"nodes": 1 if replicas is None else int(replicas), "processesPerNode": 1 if slots is None else int(slots)}
    found = {**runs, **{key: value for key, value in where.items() if key != "command"}, **size}
    return {**found, "command": command, "distributed": {"framework": "mpi"}, **_policy_of(spec)}


def train_job(root: Item) -> Spec:
    """trainer.kubeflow.org TrainJob: what it says itself; what its runtime adds is not known here."""
    spec = root.at("spec")
    if spec is None:
        return {}
    trainer = spec.at("trainer")
    found: Spec = from_container(trainer) if trainer is not None else {}
    if trainer is not None:
        nodes = trainer.take("numNodes")
        per_node = trainer.at("resourcesPerNode")
        found = {
            **found,
            **resources_of(per_node),
            "nodes": 1 if nodes is None else int(nodes),
            **_processes(trainer.at("numProcPerNode")),
        }
    runtime = spec.at("runtimeRef", "name")
    if runtime is not None:
        name = str(spec.take("runtimeRef", "name"))
        spec.take("runtimeRef", "apiGroup"), spec.take("runtimeRef", "kind")
        framework = next((one for one in ("torch", "deepspeed", "mpi", "jax") if one in name), None)
        if framework is not None:
            found["distributed"] = {"framework": "pytorch" if framework == "torch" else framework}
        spec.ledger.needed(
            runtime, f"look into runtime {name}: its image, command and volumes are not in this document"
        )
    return {**found, **_policy_of(spec)}


KINDS: dict[tuple[str, str], Callable[[Item], Spec]] = {
    ("batch", "Job"): batch_job,
    ("jobset.x-k8s.io", "JobSet"): job_set,
    ("kubeflow.org", "PyTorchJob"): pytorch_job,
    ("kubeflow.org", "MPIJob"): mpi_job,
    ("trainer.kubeflow.org", "TrainJob"): train_job,
}


def _size_of_job(spec: Item) -> Spec:
    """Nodes of a batch Job: its parallelism when all its pods run at once."""
    parallelism, completions = spec.take("parallelism"), spec.take("completions")
    at_once = 1 if parallelism is None else int(parallelism)
    if completions is not None and int(completions) != at_once:
        where = spec.at("completions")
        assert where is not None
        spec.ledger.changed(
            where,
            f"{completions} completions, {at_once} at once: all nodes of a job run together, so it gets {at_once}; "
            "submit the others as further jobs",
        )
    spec.take("completionMode")
    return {"nodes": max(at_once, 1)}


def _policy_of(spec: Item) -> Spec:
    policy = spec.at("runPolicy")
    return {**_run_policy(spec), **(_run_policy(policy) if policy is not None else {})}


def _run_policy(spec: Item) -> Spec:
    found: Spec = {}
    if (limit := spec.take("backoffLimit")) is not None:
        found["retry"] = {"limit": limit}
    if (seconds := spec.take("activeDeadlineSeconds")) is not None:
        found["timeout"] = f"{seconds}s"
    if (seconds := spec.take("ttlSecondsAfterFinished")) is not None:
        found["ttlAfterFinished"] = f"{seconds}s"
    if spec.take("suspend"):
        found["suspend"] = True
    return found


def _processes(item: Item | None) -> Spec:
    if item is None:
        return {}
    value = item.ledger.settle(item)
    if isinstance(value, int) or str(value).isdecimal():
        return {"processesPerNode": int(value)}
    item.ledger.changed(item, f"{value!r} is decided on the node; write processesPerNode, as many as GPUs per node")
    return {}


def _same(so_far: Spec, other: Spec, where: Item) -> tuple[Spec, bool]:
    """All nodes of a job are alike: a further group comes along only when it runs the same."""
    if not so_far:
        return other, True
    if _compared(so_far) == _compared(other):
        return so_far, True
    ours, theirs = _compared(so_far), _compared(other)
    differs = sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))
    where.ledger.dropped(where, f"its {', '.join(differs)} differ from the first group's: make it a job of its own")
    return so_far, False


def _compared(spec: Spec) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in ("retry", "timeout", "ttlAfterFinished")}


def _without_launcher(command: list[str], where: Item) -> list[str]:
    """The program behind `mpirun -np 8 ...`: ranks are started on every node without it."""
    words = shell_words(command)
    if not words or words[0].rpartition("/")[2] not in MPI_LAUNCHERS:
        return command
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        takes = MPI_VALUES.fullmatch(rest[0].partition("=")[0]) is not None and "=" not in rest[0]
        values = 2 if rest[0].lstrip("-") == "mca" else 1
        rest = rest[1 + (values if takes else 0) :]
    if not rest:
        return command
    where.ledger.changed(where, f"{words[0]} and its options go: every rank is started on its node with its variables")
    return rest
