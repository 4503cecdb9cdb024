"""Rules between the fields of a job. Each answers with the field to change, what is wrong, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from definitions.job_checkpoints import ResumeMode
from definitions.job_pod_rules import pod_conflicts
from definitions.job_workload import WorkdirMode, variable_fault
from definitions.spec_types import Conflict
from definitions.states import Mode

if TYPE_CHECKING:
    from definitions.job import JobSpec

MOST_PROCESSES = 1024


def job_conflicts(spec: JobSpec) -> list[Conflict]:
    """Every fault between the fields of a job, in the order of the fields."""
    own = [*_what_runs(spec), *_variables(spec), *_files(spec), *_size(spec), *_elastic(spec), *_service(spec)]
    return [*own, *pod_conflicts(spec)]


def _what_runs(spec: JobSpec) -> Iterator[Conflict]:
    if spec.command and spec.shell is not None:
        yield Conflict("shell", "command and shell are both set, and a job runs one of them", "remove one of them")
    if not spec.command and spec.shell is None:
        yield Conflict("command", "nothing says what to run", 'write command: ["python", "train.py"], or shell: TEXT')
    if spec.args and not spec.command:
        yield Conflict("args", "args follow a command, and there is none", "put them into command or shell")
    if spec.command and not spec.command[0]:
        yield Conflict("command", "the program's name is empty", "write the program first")


def _variables(spec: JobSpec) -> Iterator[Conflict]:
    for name in spec.env:
        if fault := variable_fault(name):
            yield fault._replace(path=f"env.{name}")


def _files(spec: JobSpec) -> Iterator[Conflict]:
    if spec.working_dir is not None and spec.workdir.mode is WorkdirMode.NONE:
        yield Conflict("workingDir", "workdir mode none is an empty folder", "remove workingDir, or set another mode")
    seen: dict[str, int] = {}
    for index, file in enumerate(spec.secret_files):
        if file.path in seen:
            what = f"two secrets are written to {file.path} (entry {seen[file.path]} too)"
            yield Conflict(f"secretFiles.{index}.path", what, "choose another path")
        seen.setdefault(file.path, index)


def _size(spec: JobSpec) -> Iterator[Conflict]:
    processes = spec.nodes * spec.processes_per_node
    if processes > MOST_PROCESSES:
        what = f"nodes ({spec.nodes}) times processesPerNode ({spec.processes_per_node}) is {processes} processes"
        yield Conflict("processesPerNode", what, f"stay within {MOST_PROCESSES} in all")
    if spec.elastic and not spec.elastic.min_nodes <= spec.nodes <= spec.elastic.max_nodes:
        what = (
            f"nodes {spec.nodes} is not between minNodes {spec.elastic.min_nodes} and maxNodes {spec.elastic.max_nodes}"
        )
        yield Conflict("nodes", what, "choose nodes within elastic's bounds")


def _elastic(spec: JobSpec) -> Iterator[Conflict]:
    """What a job must be that is stopped and goes on at another size."""
    if spec.elastic is None:
        return
    if spec.mode is Mode.SERVICE:
        yield Conflict("elastic", "a service keeps its size", "remove elastic, or set mode: batch")
    if spec.checkpoints.resume is ResumeMode.NEVER:
        what = "without resuming, every change of its size would begin the work anew"
        yield Conflict("elastic", what, "remove elastic, or set checkpoints.resume: auto")
    if spec.placement.pin:
        yield Conflict(
            "elastic", "a pinned job has the nodes of its first attempt, and no others", "remove one of both"
        )
    if (processes := spec.elastic.max_nodes * spec.processes_per_node) > MOST_PROCESSES:
        what = f"maxNodes ({spec.elastic.max_nodes}) times processesPerNode is {processes} processes"
        yield Conflict("elastic.maxNodes", what, f"stay within {MOST_PROCESSES} in all")


def _service(spec: JobSpec) -> Iterator[Conflict]:
    if spec.service is not None and spec.mode is not Mode.SERVICE:
        yield Conflict("service", "service is for mode: service, and this job's mode is batch", "set mode: service")
    if spec.mode is Mode.SERVICE and spec.array is not None:
        yield Conflict("array", "a service cannot be an array", "remove array, or set mode: batch")
    if spec.array is not None and spec.array.last < spec.array.first:
        what = f"the last index, {spec.array.last}, is below the first, {spec.array.first}"
        yield Conflict("array.last", what, "choose last at first or above")
