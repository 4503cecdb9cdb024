"""Unquoted YAML words: what they are in YAML 1.2 (core schema), and which of them other tools read differently."""

import re
from typing import NamedTuple

Plain = str | int | float | bool | None

LONGEST_NUMBER = 100  # characters; longer ones are text that somebody forgot to quote
_NULL = re.compile(r"null|Null|NULL|~|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NAN = re.compile(r"\.(nan|NaN|NAN)")

_OLD_TRUE = frozenset({"yes", "Yes", "YES", "on", "On", "ON"})
_OLD_FALSE = frozenset({"no", "No", "NO", "off", "Off", "OFF"})
_SEXAGESIMAL = re.compile(r"([-+]?)([0-9][0-9_]*)((?::[0-5]?[0-9])+)(\.[0-9_]*)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_UNDERSCORED = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|0x[0-9a-fA-F_]+")
_BINARY = re.compile(r"[-+]?0b[01_]+")


class Doubt(NamedTuple):
    """Why an unquoted word may be misread, and what to write instead."""

    what: str
    fix: str


def resolve(word: str) -> Plain:
    """The value of an unquoted word in YAML 1.2. Raises ValueError for a number that is too long to be one."""
    if _NULL.fullmatch(word):
        return None
    if _TRUE.fullmatch(word):
        return True
    if _FALSE.fullmatch(word):
        return False
    if len(word) > LONGEST_NUMBER and (_INT.fullmatch(word) or _FLOAT.fullmatch(word) or _HEX.fullmatch(word)):
        raise ValueError("the number is too long")
    if _INT.fullmatch(word):
        return int(word)
    if _OCTAL.fullmatch(word):
        return int(word[2:], 8)
    if _HEX.fullmatch(word):
        return int(word[2:], 16)
    if _FLOAT.fullmatch(word):
        return float(word)
    return _not_finite(word)


def doubt(word: str) -> Doubt | None:
    """Say why an unquoted word means something else to tools that read YAML 1.1; None when it does not."""
    if word in _OLD_TRUE or word in _OLD_FALSE:
        meant = "true" if word in _OLD_TRUE else "false"
        return Doubt(f"{word} is text here, and {meant} to tools that read YAML 1.1", f'write "{word}" or {meant}')
    if match := _SEXAGESIMAL.fullmatch(word):
        number = _base_sixty(match)
        return Doubt(
            f"{word} is text here, and the number {number} to tools that read YAML 1.1",
            f'write "{word}" for the text, or a duration with units such as 12h',
        )
    if _LEADING_ZERO.fullmatch(word):
        return _leading_zero(word)
    if "_" in word and _UNDERSCORED.fullmatch(word):
        bare = word.replace("_", "")
        return Doubt(f"{word} is text here, and the number {bare} to some tools", f'write "{word}" or {bare}')
    if _BINARY.fullmatch(word):
        bare = str(int(word.replace("_", "").replace("0b", "", 1) or "0", 2))
        return Doubt(f"{word} is text here, and the number {bare} to some tools", f'write "{word}" or {bare}')
    return None


def is_plain_text(word: str) -> bool:
    """Whether a word needs no quotes to be read as the same text by any tool, old or new."""
    if len(word) > LONGEST_NUMBER:
        return False
    return isinstance(resolve(word), str) and doubt(word) is None and word not in ("y", "Y", "n", "N")


def _not_finite(word: str) -> str | float:
    if match := _INFINITE.fullmatch(word):
        return float(f"{match[1]}inf")
    return float("nan") if _NAN.fullmatch(word) else word


def _leading_zero(word: str) -> Doubt:
    bare = word.replace("_", "")
    sign, digits = ("-" if bare.startswith("-") else ""), bare.lstrip("+-")
    decimal = f"{sign}{digits.lstrip('0') or '0'}"
    is_octal = not set(digits) & {"8", "9"} and len(digits) <= LONGEST_NUMBER
    old = f"{sign}{int(digits, 8)}" if is_octal else "text"
    return Doubt(
        f"{word} begins with 0: {decimal} in YAML 1.2, {old} to tools that read YAML 1.1",
        f'write "{word}" for the text, or {decimal} for the number',
    )


def _base_sixty(match: re.Match[str]) -> str:
    sign, first, rest, fraction = match.groups()
    if len(match[0]) > LONGEST_NUMBER:
        return "in base 60"
    total = int(first.replace("_", ""))
    for part in rest[1:].split(":"):
        total = total * 60 + int(part)
    return f"{'-' if sign == '-' else ''}{total}{(fraction or '').replace('_', '')}"
