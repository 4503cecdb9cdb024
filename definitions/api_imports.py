"""Translating other systems' documents, as the API takes and shows it."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from definitions.api_base import Body, Document, View, doc
from definitions.importing import NoteKind
from definitions.spec_types import Name


class ImportFormat(StrEnum):
    """What the documents are written for."""

    KUBERNETES = "kubernetes"  # Job, JobSet, PyTorchJob, MPIJob, TrainJob


class ImportJobs(Body):
    """Documents of another system. Nothing is stored: the answer is the jobs that they would be."""

    format: Annotated[ImportFormat, doc("What they are written for.", "kubernetes")] = ImportFormat.KUBERNETES
    text: Annotated[str, doc("The documents as YAML.", "apiVersion: batch/v1\nkind: Job\n", max_length=1048576)]
    source: Annotated[str, doc("File the text came from; used in messages only.", "train.yaml", max_length=255)] = ""
    cluster: Annotated[Name | None, doc("Cluster that the jobs are to run on.", "north-1")] = None


class ImportNoteView(View):
    """One thing that is not as it was."""

    kind: Annotated[NoteKind, doc("changed, dropped, or needed before the job can run.", "dropped")]
    path: Annotated[str, doc("Field of the original.", "spec.template.spec.serviceAccountName")]
    line: Annotated[int, doc("Its line, from 1.", 12)]
    column: Annotated[int, doc("Its column, from 1.", 7)]
    what: Annotated[str, doc("What became of it, and why.", "pods of jobs get no token of the cluster's API")]


class ImportedJob(View):
    """One job, translated. `faults`: what keeps it from being accepted as it stands."""

    name: Annotated[str, doc("Name that it gets.", "train")]
    document: Annotated[Document, doc("The job document.", {"kind": "Job"})]
    text: Annotated[str, doc("The same as YAML.", "kind: Job\n")]
    notes: Annotated[list[ImportNoteView], Field(description="What changed and what was left out, by line.")] = []
    faults: Annotated[list[str], doc("Faults of the translated document.", ["spec.command: it is empty"])] = []


class ImportedJobs(View):
    """The translation, in the order of the original."""

    items: Annotated[list[ImportedJob], Field(description="One per document.")]
