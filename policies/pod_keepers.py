"""When a keeper, a pod of ours that works on a volume, is waited for by nobody any more."""

from datetime import datetime, timedelta

START_WITHIN = timedelta(minutes=10)  # for its place, its volume and its image
WORK_WITHIN = timedelta(hours=1)
READ_WITHIN = timedelta(minutes=1)  # whoever waits sees the end at once, or within 30 s where the watch is broken
UNREAD, EXPIRED, BODILESS = "nobody has read what it said", "its time is over", "its keeper is gone"


def keeper_is_left(made_at: datetime, ended_at: datetime | None, now: datetime) -> str:
    """Why a keeper can go, whoever has made it; empty while somebody may wait for it. `ended_at`: None while it runs.

    To be wrong costs a repeat: whoever waits for one that is gone fails, is tried again, and makes another.
    """
    if ended_at is not None and now - ended_at >= READ_WITHIN:
        return UNREAD
    return EXPIRED if now - made_at >= START_WITHIN + WORK_WITHIN + READ_WITHIN else ""


def input_is_left(made_at: datetime, now: datetime) -> str:
    """Why the Secret with what a keeper is to do can go when there is no such keeper: it is made just before it."""
    return BODILESS if now - made_at >= READ_WITHIN else ""
