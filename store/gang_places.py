"""Which place waiting gangs have in the order of their pool, as of the last decision.

Positions that are stored only say the order: they grow along it, with gaps. Were they the places themselves, every
start would write the rows of all that wait behind it.
"""

from collections import defaultdict
from collections.abc import Iterable

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from store.tables_scheduling import GangRow
from store.upsert import chunks


def places(session: Session, rows: Iterable[GangRow]) -> dict[str, int]:
    """Job -> its place, from 1, of those that a decision has given a position. Reads as many entries of an index as
    gangs wait before the last of them."""
    last: dict[str, int] = {}
    wanted: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.position is not None:
            wanted[row.pool].append(row.job)
            last[row.pool] = max(row.position, last.get(row.pool, 0))
    found: dict[str, int] = {}
    for pool, jobs in wanted.items():
        place = func.row_number().over(order_by=(GangRow.position, GangRow.job)).label("place")
        before = (GangRow.pool == pool, GangRow.position <= last[pool])
        ordered = select(GangRow.job, place).where(*before).subquery()
        for part in chunks(jobs):
            query = select(ordered.c.job, ordered.c.place).where(ordered.c.job.in_(part))
            found.update((job, number) for job, number in session.execute(query))
    return found
