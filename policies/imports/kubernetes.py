"""`translate(text)`: a Kubernetes document as a job, and what is to be known of the way."""

from __future__ import annotations

import re
from typing import Any

from definitions.importing import Imported
from definitions.spec_errors import SpecError, SpecIssue, did_you_mean
from definitions.yaml_loader import Document, read
from definitions.yaml_nodes import data_of
from policies.imports.kinds import KINDS
from policies.imports.ledger import Item, Ledger
from policies.imports.pods import Spec
from policies.imports.reasons import REASONS

LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
ORDER = ("command", "shell", "args", "env", "workdir", "nodes", "processesPerNode", "distributed", "resources", "image")


def translate(text: str | bytes, source: str, *, cluster: str | None = None) -> list[Imported]:
    """Every document of a text, in order. Raises SpecError for what is no YAML, or of no kind that is understood."""
    documents = read(text, source=source)
    if not documents:
        fix = "give a file with a Job, JobSet, PyTorchJob, MPIJob or TrainJob"
        raise SpecError([SpecIssue(code="PD-1012", what="there is no document in it", fix=fix, source=source)])
    wrong = [issue for document in documents if (issue := _unknown(document)) is not None]
    if wrong:
        raise SpecError(wrong)
    return [_one(document, cluster) for document in documents]


def _one(document: Document, cluster: str | None) -> Imported:
    ledger = Ledger(REASONS)
    root = Item(ledger, document.root, document.root.mark)
    group, kind = _kind(document)
    root.take("apiVersion"), root.take("kind")
    spec = KINDS[group, kind](root)
    if cluster is not None:
        spec = {**spec, "cluster": cluster}
    job = {"apiVersion": "perdure/v1", "kind": "Job", "metadata": _metadata(root), "spec": _ordered(spec)}
    return Imported(document=job, notes=ledger.notes(root))


def _metadata(root: Item) -> dict[str, Any]:
    name = root.take("metadata", "name") or str(root.take("metadata", "generateName") or "imported").rstrip("-")
    ours = re.sub(r"[^a-z0-9-]+", "-", str(name).lower()).strip("-")[:63].strip("-") or "imported"
    named = root.at("metadata", "name")
    if named is not None and ours != name:
        root.ledger.changed(named, f"names here are lower case letters, digits and dashes: {ours}")
    namespace = root.at("metadata", "namespace")
    if namespace is not None:
        root.ledger.dropped(namespace, "the namespace comes from the cluster's settings")
    labels = {}
    for item in root.each("metadata", "labels"):
        value = str(data_of(item.node))
        if LABEL.fullmatch(item.name.rpartition("/")[2]) and "/" not in item.name and LABEL.fullmatch(value):
            labels[item.name] = root.ledger.settle(item)
        else:
            root.ledger.dropped(item, "it is another controller's label, or no label here")
    return {"name": ours, **({"labels": labels} if labels else {})}


def _ordered(spec: Spec) -> Spec:
    first = {key: spec[key] for key in ORDER if key in spec}
    return {**first, **{key: value for key, value in spec.items() if key not in first}}


def _kind(document: Document) -> tuple[str, str]:
    data = document.data if isinstance(document.data, dict) else {}
    return str(data.get("apiVersion", "")).partition("/")[0], str(data.get("kind", ""))


def _unknown(document: Document) -> SpecIssue | None:
    group, kind = _kind(document)
    if (group, kind) in KINDS:
        return None
    mark = document.root.mark
    known = ", ".join(f"{name} ({of})" for of, name in KINDS)
    close = did_you_mean(kind, [name for _, name in KINDS])
    fix = f"did you mean {close}? These can be imported: {known}" if close else f"these can be imported: {known}"
    what = f"{kind or 'a document without a kind'} of {group or 'no apiVersion'} cannot be imported"
    return document.source.issue("PD-1100", mark.line, mark.column, what, fix)
