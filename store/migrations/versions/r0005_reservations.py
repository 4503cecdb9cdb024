"""Reservations with their windows, gangs that change their size, arrays, and who is told of a job's end.

Types are spelled out here and not imported, so that this revision stays what it was when tables change later.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True).with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _jobs()
    _gangs()
    _reservations()
    _bookings()


def _jobs() -> None:
    op.add_column("jobs", _column("parent", TEXT, nullable=True))
    op.add_column("jobs", _column("array_index", WHOLE, nullable=True))
    op.add_column("jobs", _column("asked_nodes", WHOLE, nullable=True))
    has_parent = sa.text("parent IS NOT NULL")
    columns = ["tenant", "project", "parent", "array_index"]
    op.create_index("ix_jobs_parent", "jobs", columns, sqlite_where=has_parent, postgresql_where=has_parent)
    alone, newest = sa.text("parent IS NULL"), ["tenant", "project", "created_at", "id"]
    op.create_index("ix_jobs_alone", "jobs", newest, sqlite_where=alone, postgresql_where=alone)
    op.create_table(
        "job_followers",
        _column("tenant", TEXT),
        _column("project", TEXT),
        _column("job", TEXT),
        _column("follower", TEXT),
        sa.PrimaryKeyConstraint("job", "follower", name="pk_job_followers"),
        sa.ForeignKeyConstraint(
            ["tenant", "project", "job"], ["jobs.tenant", "jobs.project", "jobs.id"], name="fk_job_followers_jobs"
        ),
    )
    op.create_index("ix_job_followers_follower", "job_followers", ["tenant", "project", "follower"])


def _gangs() -> None:
    op.add_column("gangs", _column("next_pods", sa.JSON(), nullable=True))
    op.add_column("gangs", _column("next_amounts", sa.JSON(), nullable=True))
    op.add_column("gangs", _column("reservation", TEXT, nullable=True))
    names_one = sa.text("reservation IS NOT NULL")
    op.create_index("ix_gangs_place", "gangs", ["pool", "position", "job"])
    op.create_index(
        "ix_gangs_reservation", "gangs", ["reservation"], sqlite_where=names_one, postgresql_where=names_one
    )


def _reservations() -> None:
    op.create_table(
        "reservations",
        _column("name", TEXT),
        _column("made_at", TIME),
        _column("tenant", TEXT),
        _column("created_by", TEXT),
        _column("pool", TEXT),
        _column("queue", TEXT),
        _column("document", sa.JSON()),
        _column("wanted", WHOLE),
        _column("heard", WHOLE),
        _column("updated_at", TIME),
        _column("removed_at", TIME, nullable=True),
        _column("ended_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("name", "made_at", name="pk_reservations"),
    )
    unheard = sa.text("heard < wanted")
    op.create_index(
        "ix_reservations_unheard", "reservations", ["updated_at"], sqlite_where=unheard, postgresql_where=unheard
    )


def _bookings() -> None:
    op.create_table(
        "bookings",
        _column("reservation", TEXT),
        _column("made_at", TIME),
        _column("number", WHOLE, autoincrement=False),
        _column("pool", TEXT),
        _column("begins_at", TIME),
        _column("ends_at", TIME),
        _column("terms", sa.JSON()),
        _column("phase", TEXT),
        _column("cancelled_at", TIME, nullable=True),
        _column("vacated_at", TIME, nullable=True),
        _column("nodes", sa.JSON(), nullable=True),
        _column("short", sa.JSON(), nullable=True),
        _column("version", WHOLE),
        _column("updated_at", TIME),
        _column("updated_by", TEXT),
        sa.PrimaryKeyConstraint("reservation", "made_at", "number", name="pk_bookings"),
    )
    op.create_index("ix_bookings_pool", "bookings", ["pool", "ends_at"])
    op.create_table(
        "reserved_uses",
        _column("reservation", TEXT),
        _column("made_at", TIME),
        _column("job", TEXT),
        _column("since", TIME),
        _column("tenant", TEXT),
        _column("until", TIME, nullable=True),
        _column("nodes", WHOLE),
        _column("gpus", WHOLE),
        sa.PrimaryKeyConstraint("reservation", "made_at", "job", "since", name="pk_reserved_uses"),
    )
    op.create_index("ix_reserved_uses_job", "reserved_uses", ["job"])


def _column(name: str, kind: Any, *, nullable: bool = False, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=nullable, **options)
