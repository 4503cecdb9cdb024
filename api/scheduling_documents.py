"""Documents of the scheduler: from bodies to checked documents, from rows to what is shown, and what may be changed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from api.access import Caller
from api.job_access import matches
from api.reservation_faults import reservation_faults
from definitions import documents
from definitions.api_scheduling_documents import (
    ApplySchedulingDocuments,
    DocumentChange,
    DocumentOutcome,
    PutSchedulingDocument,
    SchedulingDocument,
)
from definitions.cluster import LOCAL_CLUSTER
from definitions.documents import KINDS, AnyKind, ForScheduler
from definitions.errors import PerdureError
from definitions.job_document import document_of
from definitions.principal import ResourceKind
from definitions.reservation import Reservation
from definitions.spec_errors import SpecError, SpecIssue, dotted, raise_issues
from policies.document_diff import changes
from policies.scheduling.document_checks import faults, names_in
from policies.scheduling.reservation_checks import Fault
from store import reservations, scheduling_documents
from store.tables import SchedulingDocumentRow

RESOURCE_KINDS = {
    "Queue": ResourceKind.QUEUE,
    "ResourceFlavor": ResourceKind.FLAVOR,
    "PriorityClass": ResourceKind.PRIORITY_CLASS,
    "Topology": ResourceKind.TOPOLOGY,
    "NodePool": ResourceKind.NODE_POOL,
    "Reservation": ResourceKind.RESERVATION,
}


@dataclass(frozen=True)
class Sent:
    """Documents of one request, each right by itself. `place` says where in the request faults are."""

    kinds: tuple[ForScheduler, ...]
    place: Callable[[Iterable[Fault]], list[SpecIssue]]


def read_documents(body: ApplySchedulingDocuments | PutSchedulingDocument) -> Sent:
    """Parse the documents. Raises SpecError with every fault of each and its place, also for those of other kinds."""
    if body.text is not None:
        text, source = body.text, body.source or "document"
        return _of_scheduler(documents.parse(text, source=source), lambda found: _in_text(text, source, found))
    if isinstance(body, PutSchedulingDocument):
        return _of_scheduler(_each([body.document], [body.source or ""]), _in_data([body.source or ""]))
    given = body.documents or []
    sources = [f"documents[{index}]" for index in range(len(given))]
    return _of_scheduler(_each(given, sources), _in_data(sources))


def checked(session: Session, sent: Sent, now: datetime) -> None:
    """Raise SpecError with every fault between the documents and all that are stored under other names; and of
    reservations that would keep nothing."""
    mine = {(each.kind, each.metadata.name) for each in sent.kinds}
    others = [each for each in stored(session) if (each.kind, each.metadata.name) not in mine]
    found = faults([*sent.kinds, *others])
    here, there = _told_apart(found, len(sent.kinds))
    if there:  # of two that clash, the one further back has the fault: let that be the one that was sent
        again = faults([*others, *sent.kinds])
        there_again, here_again = _told_apart(again, len(others))
        if len(there_again) < len(there):
            here, there = here_again, there_again
    here = here or reservation_faults(session, sent.kinds, now)
    raise_issues([*sent.place(here), *(_of_stored(others[index], issue) for index, issue in there)])


def stored(session: Session) -> list[ForScheduler]:
    """All stored documents, read."""
    kinds = [KINDS[each["kind"]].model_validate(each) for each in scheduling_documents.every(session)]
    return [kind for kind in kinds if isinstance(kind, ForScheduler)]


def change_of(session: Session, kind: ForScheduler) -> DocumentChange:
    """What storing a document would change."""
    row = scheduling_documents.get(session, kind.kind, kind.metadata.name)
    found = changes(row.document if row is not None else {}, document_of(kind))
    outcome = DocumentOutcome.REPLACED if found else DocumentOutcome.UNCHANGED
    return DocumentChange(
        kind=kind.kind,
        name=kind.metadata.name,
        outcome=DocumentOutcome.CREATED if row is None else outcome,
        generation=(row.generation if row is not None else 0) + bool(found),
        changes=found,
    )


def put(caller: Caller, session: Session, kind: ForScheduler) -> SchedulingDocumentRow:
    """Store a document that was checked; the lock of documents is held."""
    who, now, name = caller.principal.name, caller.deps.now(), kind.metadata.name
    row = scheduling_documents.put(session, kind.kind, name, document_of(kind), who, now)
    if isinstance(kind, Reservation):
        pool = kind.spec.cluster or LOCAL_CLUSTER
        reservations.apply(session, name, row.document, caller.tenant, who, pool, kind.spec.queue, now)
    return row


def remove(caller: Caller, session: Session, kind: str, name: str) -> None:
    """Forget a document; the lock of documents is held. What a reservation still kept is given up."""
    scheduling_documents.remove(session, kind, name)
    if kind == Reservation.__name__:
        reservations.remove(session, name, caller.deps.now())


def find(caller: Caller, session: Session, kind: str, name: str) -> SchedulingDocumentRow:
    """The stored document. Raises PD-2004."""
    row = scheduling_documents.get(session, kind, name)
    if row is None:
        raise caller.missing(RESOURCE_KINDS[kind], name)
    return row


def etag(row: SchedulingDocumentRow) -> str:
    return f'"{row.generation}"'


def check_etag(kind: str, name: str, row: SchedulingDocumentRow | None, if_match: str | None) -> None:
    """Raise PD-2007 when the request is meant for another state of the document than the present one."""
    if if_match is None or (row is not None and matches(etag(row), if_match)):
        return
    present = f"is at {etag(row)}" if row is not None else "is not there"
    tag = {"etag": etag(row)} if row is not None else {}
    raise PerdureError("PD-2007", f"{kind} {name!r} {present}, not at {if_match}", where="If-Match", data=tag)


def check_unused(session: Session, kind: str, name: str) -> None:
    """Raise PD-2140 to PD-2142 when documents or jobs need the document."""
    _check_unnamed(session, kind, name)
    if kind == "Queue" and (there := scheduling_documents.jobs_with(session, queue=name)):
        raise PerdureError("PD-2140", f"{_jobs(there)} in queue {name!r}", data={"jobs": there})
    if kind == "PriorityClass" and (there := scheduling_documents.jobs_with(session, priority_class=name)):
        raise PerdureError("PD-2141", f"{_jobs(there)} of priority class {name!r}", data={"jobs": there})


def document_view(row: SchedulingDocumentRow) -> SchedulingDocument:
    return SchedulingDocument(
        kind=row.kind,
        name=row.name,
        description=row.document["spec"].get("description", ""),
        generation=row.generation,
        created_at=row.created_at,
        created_by=row.created_by,
        updated_at=row.updated_at,
        updated_by=row.updated_by,
        document=row.document,
    )


def _told_apart(found: Sequence[Fault], first: int) -> tuple[list[Fault], list[Fault]]:
    """Faults of the first so many documents, and those of the others, each numbered from 0."""
    return (
        [(index, issue) for index, issue in found if index < first],
        [(index - first, issue) for index, issue in found if index >= first],
    )


def _check_unnamed(session: Session, kind: str, name: str) -> None:
    named = [
        PerdureError("PD-2142", f"{other.kind} {other.metadata.name} names it", where=dotted(loc))
        for other in stored(session)
        for loc, what, which in names_in(other)
        if (what, which) == (kind, name)
    ]
    if named:
        detail = f"{kind} {name!r} is named by others, {len(named)} time{'' if len(named) == 1 else 's'}"
        raise PerdureError("PD-2142", detail, errors=named)


def _jobs(count: int) -> str:
    return f"{count} job{'' if count == 1 else 's'} that {'has' if count == 1 else 'have'} not ended"


def _each(given: Sequence[Any], sources: Sequence[str]) -> list[AnyKind]:
    """Documents that are data already. Raises SpecError with the faults of all of them."""
    kinds: list[AnyKind] = []
    issues: list[SpecIssue] = []
    for data, source in zip(given, sources, strict=True):
        try:
            kinds.append(documents.from_data(data, source=source))
        except SpecError as error:
            issues += error.issues
    raise_issues(issues)
    return kinds


def _of_scheduler(kinds: Sequence[AnyKind], place: Callable[[Iterable[Fault]], list[SpecIssue]]) -> Sent:
    fix = f"give documents of the kinds {', '.join(RESOURCE_KINDS)} here, and this one by itself"
    others = [
        (index, SpecIssue(code="PD-1620", loc=("kind",), what=f"a {each.kind} is not for the scheduler", fix=fix))
        for index, each in enumerate(kinds)
        if not isinstance(each, ForScheduler)
    ]
    raise_issues(place(others))
    return Sent(tuple(each for each in kinds if isinstance(each, ForScheduler)), place)


def _in_text(text: str, source: str, found: Iterable[Fault]) -> list[SpecIssue]:
    """The text is read again only when there is something to place in it."""
    faulty = list(found)
    return documents.found_later(text, source, faulty) if faulty else []


def _in_data(sources: Sequence[str]) -> Callable[[Iterable[Fault]], list[SpecIssue]]:
    return lambda found: [issue.model_copy(update={"source": sources[index]}) for index, issue in found]


def _of_stored(other: ForScheduler, issue: SpecIssue) -> SpecIssue:
    return issue.model_copy(update={"source": f"stored {other.kind} {other.metadata.name}"})
