"""What an object's key may look like, the same for every store.

Keys are never decoded: what a store would treat as an escape, a query or a fragment is refused instead.
"""

from activities.ports import PortError

LONGEST_KEY = 1024  # bytes; the limit of S3
LONGEST_SEGMENT = 240  # bytes; a file name of 255 less what a folder store appends
REFUSED = frozenset('\\%?#"')
AMBIGUOUS = ("", ".", "..")  # as a segment, also with blanks around it, which some stores take away


def check_key(key: str) -> None:
    """Raise PortError(permanent, PD-3406) unless the key is plain segments joined by '/'."""
    if problem := key_problem(key):
        raise PortError(f"object key {key[:80]!r} {problem}", permanent=True, code="PD-3406")


def key_problem(key: str) -> str | None:
    """What is wrong with a key, to be read after its name; None when nothing is."""
    try:
        encoded = key.encode()
    except UnicodeEncodeError:
        return "is not UTF-8"
    if not key or len(encoded) > LONGEST_KEY:
        return f"is empty or longer than {LONGEST_KEY} bytes"
    if any(letter in REFUSED or ord(letter) < 32 or ord(letter) == 127 for letter in key):
        return "holds a backslash, a quote, one of % ? # or a control character"
    segments = key.split("/")
    if any(segment.strip() in AMBIGUOUS for segment in segments):
        return "is absolute, or has an empty, '.' or '..' segment"
    if any(len(segment.encode()) > LONGEST_SEGMENT for segment in segments):
        return f"has a segment of more than {LONGEST_SEGMENT} bytes"
    return None


def escape_segments(path: str) -> str:
    """A relative path as part of a key: what keys refuse, and '~' itself, becomes '~' and two hex digits per byte.

    Different paths stay different. Length is not looked at: ask `key_problem` about the whole key.
    """
    return "/".join(_escape_segment(segment) for segment in path.split("/"))


def _escape_segment(segment: str) -> str:
    hidden = segment.strip() in AMBIGUOUS and segment not in AMBIGUOUS
    return "".join(_hex(letter) if hidden and letter.isspace() else _escape(letter) for letter in segment)


def _escape(letter: str) -> str:
    if letter != "~" and letter not in REFUSED and ord(letter) >= 32 and ord(letter) != 127 and _encodes(letter):
        return letter
    return _hex(letter)


def _hex(letter: str) -> str:
    return "".join(f"~{byte:02x}" for byte in letter.encode(errors="surrogateescape"))


def _encodes(letter: str) -> bool:
    return not 0xD800 <= ord(letter) <= 0xDFFF
