"""What jobs are made from: snapshots of folders, templates, schedules."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from store.base import Base, Document, Tenanted


class SnapshotRow(Tenanted, Base):
    """The bytes of a submitted folder. A row means that they are stored; `last_used_at` protects them from cleanup."""

    __tablename__ = "snapshots"
    __table_args__ = (Index("ix_snapshots_last_used_at", "last_used_at"),)

    tenant: Mapped[str] = mapped_column(primary_key=True, sort_order=-2)
    project: Mapped[str] = mapped_column(primary_key=True, sort_order=-1)
    sha256: Mapped[str] = mapped_column(primary_key=True)
    bytes: Mapped[int]
    files: Mapped[int]
    object_key: Mapped[str]
    git: Mapped[Document | None]
    created_at: Mapped[datetime]
    last_used_at: Mapped[datetime]


class TemplateRow(Tenanted, Base):
    """One version of a template. A version never changes."""

    __tablename__ = "templates"

    tenant: Mapped[str] = mapped_column(primary_key=True, sort_order=-2)
    project: Mapped[str] = mapped_column(primary_key=True, sort_order=-1)
    name: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    document: Mapped[Document]
    sha256: Mapped[str]
    created_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]


class ScheduleRow(Tenanted, Base):
    """When jobs are made by themselves. The engine fires; this row is what people see and what can be set up again."""

    __tablename__ = "schedules"

    tenant: Mapped[str] = mapped_column(primary_key=True, sort_order=-2)
    project: Mapped[str] = mapped_column(primary_key=True, sort_order=-1)
    name: Mapped[str] = mapped_column(primary_key=True)
    document: Mapped[Document]
    paused: Mapped[bool]
    generation: Mapped[int]
    created_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]
