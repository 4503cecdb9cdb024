"""What a YAML parser's complaint means, and what to write instead."""

import re
from typing import NamedTuple


class Advice(NamedTuple):
    code: str
    what: str
    fix: str
    at_context: bool = False  # the place to show is where the construct began, not where the parser gave up


_TAB = Advice("PD-1011", "a tab is used for indentation", "replace it by spaces")
_COLON = Advice(
    "PD-1003",
    "a second ': ' stands on this line, or the line is indented deeper than the one before it",
    "put the value in double quotes, or correct the indentation",
)
_ALIAS = Advice("PD-1006", "an unquoted value that begins with * is read as an alias", "put the value in double quotes")
_ANCHOR = Advice(
    "PD-1006", "an unquoted value that begins with & is read as an anchor", "put the value in double quotes"
)
_NO_COLON = Advice(
    "PD-1003", "this line is no `key: value`", "write a colon and a space after the key, or quote the text"
)
_OPEN_QUOTE = Advice("PD-1003", "the quote that begins here is not closed", "close it with the same quote", True)
_OPEN_BRACKET = Advice(
    "PD-1003",
    "the bracket that begins here is not closed, or a comma is missing in it",
    "close it, or add the comma",
    True,
)
_INDENT = Advice(
    "PD-1003", "the indentation of this line does not fit the lines before it", "align it with the other entries"
)
_ESCAPE = Advice("PD-1003", "an unknown escape follows a backslash", "write \\\\ for a backslash, or use single quotes")
_RESERVED = Advice("PD-1003", "a value cannot begin with this character", "put the value in double quotes")

_KNOWN: tuple[tuple[str, Advice], ...] = (
    (r"character '\\t'", _TAB),
    (r"mapping values are not allowed", _COLON),
    (r"while scanning an alias", _ALIAS),
    (r"while scanning an anchor", _ANCHOR),
    (r"could not find expected ':'", _NO_COLON),
    (r"while scanning a quoted scalar.*(unexpected end of stream|document separator)", _OPEN_QUOTE),
    (r"while parsing a flow (sequence|mapping)", _OPEN_BRACKET),
    (r"unknown escape character|expected escape sequence", _ESCAPE),
    (r"cannot start any token", _RESERVED),
    (r"expected <block end>|expected the node content", _INDENT),
    (r"incompatible YAML document", Advice("PD-1013", "a %YAML line asks for another version", "remove the line")),
)


def advise(context: str | None, problem: str | None) -> Advice:
    """Translate a parser's `context` and `problem` into what is wrong and what to do."""
    complaint = f"{context or ''}: {problem or ''}"
    for pattern, advice in _KNOWN:
        if re.search(pattern, complaint):
            return advice
    words = " ".join(part for part in (context, problem) if part) or "the text breaks the grammar of YAML"
    return Advice("PD-1003", words, "correct this line, or the one above it")
