"""What all tables share: one metadata with fixed names for constraints, and how Python types are stored."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import LargeBinary, MetaData
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from definitions.states import FailureClass, Mode, Phase
from store.types import CleanJson, CleanText, Utc, Whole, Words

# Migrations name constraints; a name that the database invents cannot be dropped by the same script everywhere.
NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
}

Document = dict[str, Any]


class Base(DeclarativeBase):
    """Base of every table."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: CleanText(),
        int: Whole,
        datetime: Utc(),
        bytes: LargeBinary(),
        Document: CleanJson(),
        list[str]: CleanJson(),
        list[Document]: CleanJson(),
        dict[str, str]: CleanJson(),
        Phase: Words(Phase),
        FailureClass: Words(FailureClass),
        Mode: Words(Mode),
    }


class Tenanted:
    """Every row belongs to a tenant and a project; the keys and indexes that people's reads use begin with them."""

    tenant: Mapped[str] = mapped_column(sort_order=-2)
    project: Mapped[str] = mapped_column(sort_order=-1)
