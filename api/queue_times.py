"""How long jobs should wait at most, by their class, and by how much they have waited longer."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy.orm import Session

from definitions.api_queueing import WaitingJob
from definitions.priority_class import PriorityClass
from policies.scheduling.documents import Priority, priority_of
from store import scheduling_documents

W = TypeVar("W", bound=WaitingJob)


def classes_with_a_longest_wait(session: Session) -> dict[str, Priority]:
    """Classes that say how long their jobs should wait at most, by name."""
    classes = [each for each in scheduling_documents.every(session) if each["kind"] == "PriorityClass"]
    found = [priority_of(PriorityClass.model_validate(each)) for each in classes]
    return {each.name: each for each in found if each.longest_wait is not None}


def latest_since(classes: Mapping[str, Priority], now: datetime) -> dict[str, datetime]:
    """By class, since when its jobs may be waiting and have not waited too long."""
    return {name: now - timedelta(seconds=each.longest_wait or 0) for name, each in classes.items()}


def with_overdue(job: W, priorities: Mapping[str, Priority], now: datetime) -> W:
    """The same with the seconds by which it has waited longer than its class says."""
    of_class = priorities.get(job.priority_class or "")
    if of_class is None:
        return job
    missed = of_class.missed(int(job.since.timestamp()), None, int(now.timestamp()))
    return job.model_copy(update={"overdue": missed})
