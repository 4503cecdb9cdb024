"""Where the oldest messages and decisions are, so that forgetting them reads no others."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    told = sa.text("delivered_at IS NOT NULL")
    op.create_index("ix_outbox_delivered", "outbox", ["delivered_at"], sqlite_where=told, postgresql_where=told)
    op.create_index("ix_decisions_at", "decisions", ["at"])
