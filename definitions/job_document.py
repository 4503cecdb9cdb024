"""A checked job as it is stored: its document as plain data, the digest of that, and its size."""

import hashlib
import json
from typing import Any

from definitions.job import Job, JobSpec
from definitions.spec_types import SpecModel


def document_of(kind: SpecModel) -> dict[str, Any]:
    """The whole document with its defaults, in outside spelling; reading it back gives an equal one."""
    return kind.model_dump(mode="json", by_alias=True, exclude_none=True)


def digest_of(document: dict[str, Any]) -> str:
    """The same for equal documents, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def ranks_of(spec: JobSpec) -> int:
    """Processes that start together."""
    return spec.nodes * spec.processes_per_node


def most_ranks(document: dict[str, Any], ranks: int) -> int:
    """The most processes that an attempt of a stored job may have, which has so many now: more where it is elastic."""
    spec = document["spec"]
    elastic = spec.get("elastic")
    return ranks if elastic is None else elastic["maxNodes"] * spec.get("processesPerNode", 1)


def gpus_of(spec: JobSpec) -> int:
    return spec.nodes * spec.resources.gpus


def named(job: Job, name: str) -> Job:
    """The same job under another name."""
    return job.model_copy(update={"metadata": job.metadata.model_copy(update={"name": name})})
