"""What is wrong with reservations beside what documents say of each other: where they are to be, and when."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from definitions.cluster import LOCAL_CLUSTER
from definitions.documents import ForScheduler
from definitions.job_document import document_of
from definitions.reservation import Reservation
from definitions.spec_errors import SpecIssue, did_you_mean
from policies.reserving import still_to_come
from policies.scheduling.reservation_checks import Fault
from store import clusters, scheduling_documents


def reservation_faults(session: Session, kinds: Sequence[ForScheduler], now: datetime) -> list[Fault]:
    """Of those that differ from what is stored, each with its index: no such cluster, or nothing is still to come."""
    found: list[Fault] = []
    for index, each in enumerate(kinds):
        if isinstance(each, Reservation) and _is_news(session, each):
            found += [(index, issue) for issue in _issues(session, each, now)]
    return found


def _issues(session: Session, each: Reservation, now: datetime) -> Iterator[SpecIssue]:
    cluster = each.spec.cluster or LOCAL_CLUSTER
    there = [LOCAL_CLUSTER, *clusters.names(session)]
    if cluster not in there:
        close = did_you_mean(cluster, there)
        fix = f"did you mean {close}?" if close else f"name one of: {', '.join(there)}"
        yield SpecIssue(code="PD-2101", loc=("spec", "cluster"), what=f"there is no cluster {cluster}", fix=fix)
    if not still_to_come(each.spec, ZoneInfo, int(now.timestamp())):
        what, fix = "all of it is over already", "choose a later start, or a repetition that goes on"
        yield SpecIssue(code="PD-2166", loc=("spec", "start"), what=what, fix=fix)


def _is_news(session: Session, each: Reservation) -> bool:
    row = scheduling_documents.get(session, each.kind, each.metadata.name)
    return row is None or row.document != document_of(each)
