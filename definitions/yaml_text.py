"""The text of a document before YAML looks at it: encoding, size, characters, lines."""

import json
import re

from definitions.spec_errors import SpecError, SpecIssue, excerpt

LARGEST = 256 * 1024  # bytes
# What YAML allows in a document; the rest has to be written as an escape between double quotes.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_STRING_OR_TAB = re.compile(r'"(?:[^"\\]|\\.)*"|\t', re.DOTALL)
_SECRET = re.compile(r"""["']?kind["']?\s*:\s*["']?Secret\b""")
_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


class Source:
    """One text with its name. `quiet`: it holds a secret, so no line or value of it is ever repeated."""

    def __init__(self, text: str | bytes, name: str) -> None:
        self.name = name
        self.quiet = False
        self.text = self._checked(text)
        self.lines = _BREAK.split(self.text)
        self.quiet = bool(_SECRET.search(self.text))

    def issue(self, code: str, line: int, column: int, what: str, fix: str) -> SpecIssue:
        """A fault at a place, both counted from 1."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        shown = "" if self.quiet else excerpt(text, line, column)
        return SpecIssue(code=code, what=what, fix=fix, source=self.name, line=line, column=column, excerpt=shown)

    def _checked(self, text: str | bytes) -> str:
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        if len(data) > LARGEST:
            what = f"the document has {len(data)} bytes, and {LARGEST} are allowed"
            raise self._fatal("PD-1002", what, "move data into files that the job reads")
        if data.startswith(_OTHER_ENCODINGS):
            raise self._fatal("PD-1001", "the document is not UTF-8 but UTF-16 or UTF-32", "save it as UTF-8")
        decoded = self._decoded(data).removeprefix("\ufeff")
        if bad := _FORBIDDEN.search(decoded):
            raise self._forbidden(decoded, bad)
        return _spaces_for_tabs(decoded)

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            line, column = _place(data[: error.start].decode(errors="replace"))
            what = f"byte 0x{data[error.start]:02x} on line {line}, character {column} is not UTF-8"
            raise self._fatal("PD-1001", what, "save the file as UTF-8", line, column) from None

    def _forbidden(self, text: str, bad: re.Match[str]) -> SpecError:
        line, column = _place(text[: bad.start()])
        name = "a NUL byte" if bad[0] == "\0" else f"the control character U+{ord(bad[0]):04X}"
        fix = "save the file as UTF-8" if bad[0] == "\0" else 'remove it, or write it as an escape such as "\\x07"'
        return self._fatal("PD-1001", f"{name} stands in the text", fix, line, column)

    def _fatal(self, code: str, what: str, fix: str, line: int | None = None, column: int | None = None) -> SpecError:
        return SpecError([SpecIssue(code=code, what=what, fix=fix, source=self.name, line=line, column=column)])


def _place(before: str) -> tuple[int, int]:
    lines = _BREAK.split(before)
    return len(lines), len(lines[-1]) + 1


def _spaces_for_tabs(text: str) -> str:
    """Let JSON be indented with tabs, which YAML's grammar would refuse; columns stay the same."""
    if "\t" not in text or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _STRING_OR_TAB.sub(lambda match: " " if match[0] == "\t" else match[0], text)
