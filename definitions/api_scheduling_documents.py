"""Queues, flavors, priority classes, topologies and node pools as the API takes and shows them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from definitions.api_base import Body, Document, Page, View, doc
from definitions.api_submit import Change

TIME = "2026-11-29T16:22:00Z"
QUEUE = {"apiVersion": "perdure/v1", "kind": "Queue", "metadata": {"name": "research"}}


class PutSchedulingDocument(Body):
    """One document of the scheduler, as JSON or as YAML text."""

    document: Annotated[Document | None, doc("As JSON.", QUEUE)] = None
    text: Annotated[str | None, doc("As YAML.", "kind: Queue\n", max_length=262144)] = None
    source: Annotated[str | None, doc("File the text came from; used in messages only.", "queues.yaml")] = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.document is None) == (self.text is None):
            raise ValueError("give exactly one of document and text")
        return self


class ApplySchedulingDocuments(Body):
    """Documents of the scheduler that belong together, as JSON or as YAML text with `---` between them."""

    documents: Annotated[list[Document] | None, doc("As JSON.", [QUEUE], min_length=1, max_length=1000)] = None
    text: Annotated[str | None, doc("As YAML.", "kind: Queue\n", max_length=1048576)] = None
    source: Annotated[str | None, doc("File the text came from; used in messages only.", "queues.yaml")] = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.documents is None) == (self.text is None):
            raise ValueError("give exactly one of documents and text")
        return self


class SchedulingDocument(View):
    """A document of the scheduler as it was applied last."""

    kind: Annotated[str, doc("Its kind.", "Queue")]
    name: Annotated[str, doc("Its name; unique among those of the kind.", "research")]
    description: Annotated[str, doc("What it is, in the words of the document.", "Everybody who trains.")] = ""
    generation: Annotated[int, doc("Grows with every change; the ETag.", 1)]
    created_at: Annotated[datetime, doc("When it was first applied.", TIME)]
    created_by: Annotated[str, doc("Who applied it first.", "admin")]
    updated_at: Annotated[datetime, doc("When it was last changed.", TIME)]
    updated_by: Annotated[str, doc("Who changed it last.", "admin")]
    document: Annotated[Document, doc("The document, with what was left out filled in.", QUEUE)]


class SchedulingDocumentPage(Page[SchedulingDocument]):
    """Documents of one kind by name."""


class DocumentOutcome(StrEnum):
    CREATED = "created"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


class DocumentChange(View):
    """One document of those that were sent, against what is stored under its name."""

    kind: Annotated[str, doc("Its kind.", "Queue")]
    name: Annotated[str, doc("Its name.", "research")]
    outcome: Annotated[DocumentOutcome, doc("What becomes of it.", "replaced")]
    generation: Annotated[int, doc("Its generation afterwards.", 2)]
    changes: Annotated[list[Change], Field(description="What differs from the stored one. Empty: nothing.")] = []


class DocumentChanges(View):
    """Documents that were sent, in their order, each with what becomes of it."""

    applied: Annotated[bool, doc("False: this was a look ahead, and nothing was stored.", True)]
    items: Annotated[list[DocumentChange], Field(description="One entry for each document.")]
