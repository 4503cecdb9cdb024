"""Ends of jobs, as the database has them."""

from sqlalchemy import Engine

from activities.adapters.database import database_errors
from definitions.facts import JobEnded
from store import followers
from store.engine import reading


class SqlJobEnds:
    """The JobEnds port."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def ended(self, tenant: str, project: str, jobs: tuple[str, ...]) -> tuple[JobEnded, ...]:
        """How those of the jobs have ended that have, the deleted ones too. Raises PortError (PD-3706): try again."""
        with database_errors(), reading(self._engine) as session:
            return tuple(followers.ends(session, tenant, project, jobs))
