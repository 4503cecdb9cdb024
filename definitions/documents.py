"""Documents of any kind, from text or data to checked models. Every fault of a text is reported, with its place.

parse(text, source="job.yaml")    every document of a text
parse_job(text, source=...)       the one Job of a text; likewise parse_one for the other kinds
from_data(data)                   a document that is data already (a request's JSON)
found_later(text, source, ...)    faults that came to light after parse, each with its place in the text
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pydantic import BaseModel

from definitions.cluster import LOCAL_CLUSTER
from definitions.cluster_document import Cluster
from definitions.job import Job
from definitions.node_pool import NodePool
from definitions.priority_class import PriorityClass
from definitions.queue import Queue
from definitions.refusals import refused_fields
from definitions.reservation import Reservation
from definitions.resource_flavor import ResourceFlavor
from definitions.schedule import Schedule
from definitions.secret import Secret
from definitions.spec_errors import SpecError, SpecIssue, did_you_mean, in_order, raise_issues
from definitions.spec_types import not_text, yaml_text
from definitions.spec_validation import check
from definitions.template import Template, on_cluster, template_issues
from definitions.topology import Topology
from definitions.yaml_loader import Document, read
from definitions.yaml_nodes import Scalar, locate

ForScheduler = Queue | ResourceFlavor | PriorityClass | Topology | NodePool | Reservation
AnyKind = Job | Template | Secret | Schedule | Cluster | ForScheduler
Together = Callable[[Sequence[AnyKind]], Iterable[tuple[int, SpecIssue]]]
M = TypeVar(
    "M",
    Job,
    Template,
    Secret,
    Schedule,
    Cluster,
    Queue,
    ResourceFlavor,
    PriorityClass,
    Topology,
    NodePool,
    Reservation,
)
KINDS: dict[str, type[BaseModel]] = {
    "Job": Job,
    "Template": Template,
    "Secret": Secret,
    "Schedule": Schedule,
    "Cluster": Cluster,
    "Queue": Queue,
    "ResourceFlavor": ResourceFlavor,
    "PriorityClass": PriorityClass,
    "Topology": Topology,
    "NodePool": NodePool,
    "Reservation": Reservation,
}


def parse(
    text: str | bytes,
    *,
    source: str,
    served_only: bool = True,
    cluster: str = LOCAL_CLUSTER,
    together: Together | None = None,
) -> list[AnyKind]:
    """Read every document of a text. Raises SpecError with every fault of all of them.

    With `served_only` (the default) kinds and fields that nothing here would act on are faults too. `cluster`: where
    jobs run that name none; what may be set depends on that. `together`: asked for faults between the documents, each
    with the index of its document, when every document is right by itself.
    """
    documents = read(text, source=source)
    if not documents:
        raise _none_there(source)
    found = [_parsed(document, served_only, cluster) for document in documents]
    raise_issues([issue for _, issues in found for issue in issues])
    kinds = [kind for kind, _ in found if kind is not None]
    if together is not None:
        raise_issues([_placed(issue, documents[index]) for index, issue in together(kinds)])
    return kinds


def parse_job(text: str | bytes, source: str, *, served_only: bool = True, cluster: str = LOCAL_CLUSTER) -> Job:
    """Read the one Job of a text. Raises SpecError."""
    return parse_one(text, source, Job, served_only=served_only, cluster=cluster)


def parse_one(
    text: str | bytes, source: str, kind: type[M], *, served_only: bool = True, cluster: str = LOCAL_CLUSTER
) -> M:
    """Read the one document of a text, of the kind that is asked for. Raises SpecError."""
    found = parse(text, source=source, served_only=served_only, cluster=cluster)
    if len(found) == 1 and isinstance(found[0], kind):
        return found[0]
    what = f"it is a {found[0].kind}" if len(found) == 1 else f"it holds {len(found)} documents"
    fix = f"give one document of kind {kind.__name__}"
    what = f"one {kind.__name__} is expected, and {what}"
    raise SpecError([SpecIssue(code="PD-1012", what=what, fix=fix, source=source)])


def from_data(data: object, *, source: str = "", served_only: bool = True, cluster: str = LOCAL_CLUSTER) -> AnyKind:
    """Check a document that is data already. Raises SpecError, with the field as place of each fault."""
    kind, issues = _checked(data, served_only, cluster)
    raise_issues([issue.model_copy(update={"source": source}) for issue in issues])
    assert kind is not None
    return kind


def found_later(text: str | bytes, source: str, issues: Iterable[tuple[int, SpecIssue]]) -> list[SpecIssue]:
    """Faults of documents that parse accepted, in the order of the text. Each comes with the index of its document."""
    documents = read(text, source=source)
    return in_order(_placed(issue, documents[index]) for index, issue in issues)


def _parsed(document: Document, served_only: bool, cluster: str) -> tuple[AnyKind | None, list[SpecIssue]]:
    kind, issues = _checked(document.data, served_only, cluster, hide=document.source.quiet)
    return kind, in_order([*document.issues, *(_placed(issue, document) for issue in issues)])


def _checked(
    data: object, served_only: bool, cluster: str, *, hide: bool = False
) -> tuple[AnyKind | None, list[SpecIssue]]:
    model = _model_of(data)
    if isinstance(model, SpecIssue):
        return None, [model]
    kind, issues = check(model, _placed_on(data, model, cluster), hide=hide or model is Secret)
    if not isinstance(kind, AnyKind):
        return None, issues
    return kind, _beyond_fields(kind, served_only, cluster)


def _placed_on(data: object, model: type[BaseModel], cluster: str) -> object:
    """The data of a job that names no cluster with the usual one, unless that is this machine; likewise a schedule."""
    if cluster == LOCAL_CLUSTER or not isinstance(data, dict):
        return data
    if model is Job:
        return on_cluster(data, cluster)
    spec = data.get("spec")
    if model is Schedule and isinstance(spec, dict) and isinstance(spec.get("job"), dict):
        return {**data, "spec": {**spec, "job": on_cluster(spec["job"], cluster)}}
    return data


def _model_of(data: object) -> type[BaseModel] | SpecIssue:
    names = ", ".join(KINDS)
    if not isinstance(data, dict):
        what = "a document is a mapping that begins with apiVersion and kind"
        return SpecIssue(code="PD-1012", what=what, fix="begin with apiVersion: perdure/v1 and kind: Job")
    if "kind" not in data:
        what = "kind is missing"
        return SpecIssue(code="PD-1102", loc=("kind",), what=what, fix=f"add kind: Job, or another of {names}")
    kind = data["kind"]
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind]
    close = did_you_mean(str(kind), KINDS)
    fix = f"did you mean {close}?" if close else f"use one of: {names}"
    return SpecIssue(code="PD-1100", loc=("kind",), what=f"{yaml_text(kind)} is no kind of document", fix=fix)


def _beyond_fields(kind: AnyKind, served_only: bool, cluster: str) -> list[SpecIssue]:
    """Faults that need more than the model to see."""
    if isinstance(kind, Template):
        return template_issues(kind, served_only=served_only, cluster=cluster)
    if isinstance(kind, Job) and served_only:
        return refused_fields(kind.spec)
    if isinstance(kind, Schedule) and served_only:
        return refused_fields(kind.spec.job.spec, ("spec", "job", "spec"))
    return []


def _placed(issue: SpecIssue, document: Document) -> SpecIssue:
    """The same fault with its place in the text, and words as they stand there."""
    mark, node = locate(document.root, issue.loc, key=issue.at_key)
    what, fix = issue.what, issue.fix
    if issue.code == "PD-1104" and isinstance(node, Scalar) and not document.source.quiet:
        what, fix = not_text(node.value, node.word)
    placed = document.source.issue(issue.code, mark.line, mark.column, what, fix)
    return placed.model_copy(update={"loc": issue.loc, "at_key": issue.at_key})


def _none_there(source: str) -> SpecError:
    fix = "write a document that begins with apiVersion: perdure/v1 and kind: Job"
    return SpecError([SpecIssue(code="PD-1012", what="there is no document in it", fix=fix, source=source)])
