"""What the translation of another system's document gives: a job, and a note for whatever is not as it was."""

from enum import StrEnum
from typing import Any

from definitions.wire import Wire


class NoteKind(StrEnum):
    CHANGED = "changed"  # it is there, in another form
    DROPPED = "dropped"  # it is not there any more
    NEEDED = "needed"  # something has to be done before the job can run


class ImportNote(Wire):
    """One thing to know. `path` is the field of the original; line and column count from 1."""

    kind: NoteKind
    path: str
    line: int
    column: int
    what: str

    def text(self, source: str) -> str:
        return f"{source}:{self.line}:{self.column}: {self.kind} {self.path}: {self.what}"


class Imported(Wire):
    """A job document, not yet checked, and the notes in the order of the original's lines."""

    document: dict[str, Any]
    notes: tuple[ImportNote, ...]
