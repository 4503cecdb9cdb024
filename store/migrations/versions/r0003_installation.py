"""The id by which this control plane knows its own objects where another one works beside it.

Types are spelled out here and not imported, so that this revision stays what it was when tables change later.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True).with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "installations",
        _column("number", WHOLE, autoincrement=False),
        _column("id", TEXT),
        _column("made_at", TIME),
        sa.PrimaryKeyConstraint("number", name="pk_installations"),
    )


def _column(name: str, kind: Any, **options: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, **options)
