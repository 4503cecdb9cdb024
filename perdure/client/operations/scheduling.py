"""Documents of the scheduler: queues, flavors, priority classes, topologies, node pools. They are the installation's;
the project only says as whom one asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from perdure.client._models import DocumentChange, DocumentChanges, SchedulingDocument, SchedulingDocumentPage
from perdure.client.call import Call, as_json, nothing, reading, segment
from perdure.client.documents import Document, body_of

JSON = "application/json"
Documents = Document | Sequence[Mapping[str, Any]]
"""One document, several as data, or a text or a file that may hold several."""


def apply(documents: Documents, *, dry_run: bool = False, project: str | None = None) -> Call[DocumentChanges]:
    """Store documents: all of them, or none when anything is wrong. With `dry_run` only what would change is told."""
    return Call(
        "schedulingDocuments.apply",
        "POST",
        "/v1/scheduling-documents:apply",
        reading(DocumentChanges),
        {"dryRun": True if dry_run else None},
        body=as_json(_several(documents)),
        content_type=JSON,
        project=project,
        keyed=not dry_run,
    )


def diff(documents: Documents, *, project: str | None = None) -> Call[DocumentChanges]:
    """Compare documents with those that are stored under their names, and check them as `apply` would."""
    return Call(
        "schedulingDocuments.diff",
        "POST",
        "/v1/scheduling-documents:diff",
        reading(DocumentChanges),
        body=as_json(_several(documents)),
        content_type=JSON,
        project=project,
    )


class Catalogue:
    """The operations on one kind of document. `noun`: the first part of their names; `path`: where they are."""

    def __init__(self, noun: str, path: str) -> None:
        self.noun = noun
        self.path = path

    def list_documents(
        self, *, limit: int | None = None, cursor: str | None = None, project: str | None = None
    ) -> Call[SchedulingDocumentPage]:
        """Documents by name."""
        page = {"limit": limit, "cursor": cursor}
        return Call(f"{self.noun}.list", "GET", self.path, reading(SchedulingDocumentPage), page, project=project)

    def get(self, name: str, *, project: str | None = None) -> Call[SchedulingDocument]:
        """One document, with who changed it last."""
        return Call(f"{self.noun}.get", "GET", self._one(name), reading(SchedulingDocument), project=project)

    def put(
        self,
        name: str,
        document: Document,
        *,
        if_match: str | None = None,
        dry_run: bool = False,
        project: str | None = None,
    ) -> Call[DocumentChange]:
        """Store a document, whether or not there is one. With `if_match` only while its ETag is that one."""
        return Call(
            f"{self.noun}.put",
            "PUT",
            self._one(name),
            reading(DocumentChange),
            {"dryRun": True if dry_run else None},
            body=as_json(body_of(document)),
            content_type=JSON,
            headers={} if if_match is None else {"If-Match": if_match},
            project=project,
            keyed=not dry_run,
        )

    def delete(self, name: str, *, if_match: str | None = None, project: str | None = None) -> Call[None]:
        """Forget a document. Refused while others name it, or jobs need it."""
        headers = {} if if_match is None else {"If-Match": if_match}
        return Call(f"{self.noun}.delete", "DELETE", self._one(name), nothing, headers=headers, project=project)

    def _one(self, name: str) -> str:
        return f"{self.path}/{segment(name)}"


queues = Catalogue("queues", "/v1/queues")
flavors = Catalogue("flavors", "/v1/flavors")
priority_classes = Catalogue("priorityClasses", "/v1/priority-classes")
topologies = Catalogue("topologies", "/v1/topologies")
node_pools = Catalogue("nodePools", "/v1/node-pools")


def _several(documents: Documents) -> dict[str, Any]:
    """The fields of a request body that carry documents."""
    if isinstance(documents, str | Path):
        return body_of(documents)
    if isinstance(documents, BaseModel | Mapping):
        return {"documents": [body_of(documents)["document"]]}
    return {"documents": [dict(each) for each in documents]}
