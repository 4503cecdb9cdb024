"""Faults of documents: each with a code, a place, what is wrong, and what to write instead."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from definitions.errors import PerdureError, lookup
from definitions.spec_fields import Loc
from definitions.wire import Wire

WIDEST_EXCERPT = 100  # characters of a line that are shown
MOST_ISSUES = 100  # a hopeless document must not become a hopeless answer
LONGEST_WORD = 64  # characters; nobody misspells a longer word into one of ours


class SpecIssue(Wire):
    """One fault. `loc` is the field, in outside spelling; line and column count from 1 and are there for texts only."""

    code: str
    loc: Loc = ()
    at_key: bool = False  # the field itself is at fault, not its value
    what: str
    fix: str
    source: str = ""
    line: int | None = None
    column: int | None = None
    excerpt: str = ""  # the line, and below it a caret

    @property
    def path(self) -> str:
        return dotted(self.loc)

    @property
    def where(self) -> str:
        """`file:line:column (field)`, as far as it is known."""
        place = self.source if self.line is None else f"{self.source}:{self.line}:{self.column}"
        if not self.loc:
            return place
        return f"{place} ({self.path})" if place else self.path

    def text(self) -> str:
        """Everything there is to say, for a terminal: place, what, the line, why, what to do."""
        code = lookup(self.code)
        head = f"{self.where}: {self.what} [{self.code}]" if self.where else f"{self.what} [{self.code}]"
        return "\n".join(part for part in (head, self.excerpt, f"  {code.why}", f"  {sentence(self.fix)}") if part)

    def error(self) -> PerdureError:
        detail = f"{self.what}\n{self.excerpt}" if self.excerpt else self.what
        return PerdureError(self.code, detail, where=self.where or None, remedy=sentence(self.fix))


class SpecError(PerdureError):
    """A document was refused. `issues` has every fault in the order of the text, or the first 100."""

    def __init__(self, issues: Sequence[SpecIssue]) -> None:
        self.issues = tuple(issues[:MOST_ISSUES])
        first = self.issues[0].error()
        if len(self.issues) == 1:
            super().__init__(first.code.code, first.detail, where=first.where, remedy=first.remedy)
            return
        source = self.issues[0].source or "the document"
        left_out = f", of which the first {MOST_ISSUES} are shown" if len(issues) > MOST_ISSUES else ""
        detail = f"{source} has {len(issues)} faults{left_out}"
        super().__init__("PD-1000", detail, errors=[issue.error() for issue in self.issues])

    def __str__(self) -> str:
        return "\n".join(issue.text() for issue in self.issues)


def raise_issues(issues: Sequence[SpecIssue]) -> None:
    """Refuse the document when it has faults; do nothing when it has none."""
    if issues:
        raise SpecError(in_order(issues))


def in_order(issues: Iterable[SpecIssue]) -> list[SpecIssue]:
    """Sort by place, and leave out that a word may be misread (PD-1010) where a closer look said more about it."""
    found = list(issues)
    explained = {(issue.line, issue.column) for issue in found if issue.code != "PD-1010"}
    kept = [issue for issue in found if issue.code != "PD-1010" or (issue.line, issue.column) not in explained]
    return sorted(kept, key=lambda issue: (issue.line or 0, issue.column or 0))


def dotted(loc: Loc) -> str:
    """`('spec', 'secretFiles', 0, 'path')` as people write it: `spec.secretFiles[0].path`."""
    text = ""
    for step in loc:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like this one, also when only case, - or _ differ; None when none is close."""
    if len(word) > LONGEST_WORD:
        return None
    plain = {_plain(candidate): candidate for candidate in known}
    close = get_close_matches(_plain(word), plain, n=1, cutoff=0.7)
    return plain[close[0]] if close else None


def excerpt(line: str, number: int, column: int) -> str:
    """A line of the text with a caret below the column (from 1); long lines are cut around it."""
    text = "".join(character if character.isprintable() else " " for character in line)
    start = max(0, column - 1 - WIDEST_EXCERPT // 2) if len(text) > WIDEST_EXCERPT else 0
    gutter = f"{number:>5} | "
    caret = " " * (len(gutter) - 2) + "| " + " " * (column - 1 - start) + "^"
    return f"{gutter}{text[start : start + WIDEST_EXCERPT]}\n{caret}"


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}"


def _plain(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")
