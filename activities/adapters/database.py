"""What adapters of the database have in common."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError

from activities.ports import PortError


@contextmanager
def database_errors() -> Iterator[None]:
    """Nothing of the database's library leaves an adapter, and no value of a statement gets into a message. Raises
    PortError (PD-3706): try again."""
    try:
        yield
    except SQLAlchemyError as error:
        raise PortError(f"the database failed: {type(error).__name__}", code="PD-3706") from error
