"""Who may come in, which requests were answered, and sealed values."""

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from definitions.principal import Role
from store.base import Base, Document, Tenanted
from store.types import Words


class TokenRow(Base):
    """An API key. Only its digest is kept; `prefix` is what people recognise it by. `projects` empty: all of them."""

    __tablename__ = "tokens"
    __table_args__ = (UniqueConstraint("sha256"), Index("ix_tokens_newest", "tenant", "created_at", "id"))

    id: Mapped[str] = mapped_column(primary_key=True)
    tenant: Mapped[str]
    name: Mapped[str]
    role: Mapped[Role] = mapped_column(Words(Role))
    projects: Mapped[list[str]]
    sha256: Mapped[str]
    prefix: Mapped[str]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]


class IdempotencyRow(Base):
    """A request under a client's key. `status` is null while it is being answered; `holder` is who answers it."""

    __tablename__ = "idempotency"
    __table_args__ = (Index("ix_idempotency_created_at", "created_at"),)

    tenant: Mapped[str] = mapped_column(primary_key=True)
    principal: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    method: Mapped[str]
    path: Mapped[str]
    request_sha256: Mapped[str]
    holder: Mapped[str]
    status: Mapped[int | None]
    body: Mapped[Document | None]
    created_at: Mapped[datetime]


class SecretRow(Tenanted, Base):
    """One version of a secret, sealed. Deleting empties nonce and ciphertext; the row stays as a trace."""

    __tablename__ = "secrets"

    tenant: Mapped[str] = mapped_column(primary_key=True, sort_order=-2)
    project: Mapped[str] = mapped_column(primary_key=True, sort_order=-1)
    name: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    owner: Mapped[str]  # who created the first version; a rotation by somebody else changes nothing about it
    key_id: Mapped[str]
    nonce: Mapped[bytes]
    ciphertext: Mapped[bytes]
    created_at: Mapped[datetime]
    rotated_at: Mapped[datetime | None]  # when this version took the place of an earlier one
    deleted_at: Mapped[datetime | None]
