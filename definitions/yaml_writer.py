"""Write documents as YAML that every tool, old or new, reads back as the same data.

The writing is deterministic: fields in the order of their definition, only those that differ from their default, two
spaces per level, no line folding. Text is quoted wherever some tool might take it for something else.
"""

import re
from collections.abc import Iterator
from typing import Any

from definitions.cluster_document import Cluster
from definitions.job import Job
from definitions.schedule import Schedule
from definitions.template import Template
from definitions.yaml_scalars import is_plain_text

INDENT = "  "
# Text that YAML takes as it stands, in block and in flow style, as value and as key.
_SAFE = re.compile(r"[A-Za-z_./][A-Za-z0-9_./+@%=-]*(?: [A-Za-z0-9_./+@%=-]+)*|(?:[0-9]+[A-Za-z]{1,2})+")
_ESCAPED = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LITERAL = re.compile(r"(?![\n ])[\t\x20-\x7e\xa0-\ud7ff]+(?:\n+[\t\x20-\x7e\xa0-\ud7ff]+)*\n?")


def to_yaml(document: Job | Template | Schedule | Cluster) -> str:
    """The document as YAML; reading it back gives an equal document."""
    return dump(document.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def dump(data: Any) -> str:
    """Plain data as YAML. Raises TypeError for what is no JSON value."""
    return "\n".join(_block(data, "")) + "\n"


def flow(node: Any) -> str:
    """Plain data on one line. Raises TypeError for what is no JSON value."""
    if isinstance(node, dict):
        return "{" + ", ".join(f"{_text(key)}: {flow(value)}" for key, value in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(flow(item) for item in node) + "]"
    if isinstance(node, str):
        return _text(node)
    if node is None or isinstance(node, bool):
        return {None: "null", True: "true", False: "false"}[node]
    if isinstance(node, int | float):
        return _number(node)
    raise TypeError(f"{type(node).__name__} is no JSON value")


def _block(node: Any, indent: str) -> Iterator[str]:
    """The lines of a node that begins on a line of its own."""
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from _entry(f"{indent}{_text(key)}:", value, indent)
    elif isinstance(node, list) and node:
        for item in node:
            yield from _item(item, indent)
    else:
        yield f"{indent}{flow(node)}"


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value and _LITERAL.fullmatch(value) and not _blank_line(value):
        yield f"{head} |{'' if value.endswith(chr(10)) else '-'}"
        yield from (f"{indent}{INDENT}{line}" if line else "" for line in value.removesuffix("\n").split("\n"))
    elif isinstance(value, dict | list) and value and not _is_short(value):
        yield head
        yield from _block(value, indent + INDENT)
    else:
        yield f"{head} {flow(value)}"


def _item(item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, dict | list) and item and not _is_short(item):
        first, *rest = _block(item, indent + INDENT)
        yield f"{indent}- {first.removeprefix(indent + INDENT)}"
        yield from rest
    else:
        yield from _entry(f"{indent}-", item, indent)


def _is_short(value: Any) -> bool:
    """Lists of single values stand on one line when they fit, as commands and cron lines are mostly written."""
    if not isinstance(value, list) or any(isinstance(item, dict | list) for item in value):
        return False
    return len(flow(value)) <= 100


def _number(value: int | float) -> str:
    """Tools of YAML 1.1 want a point and a sign in what they take for a number with an exponent."""
    text = repr(value)
    if "e" in text:
        mantissa, exponent = text.split("e")
        text = (
            f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent if exponent[0] in '+-' else '+' + exponent}"
        )
    return text.replace("inf", ".inf").replace("nan", ".nan")


def _text(value: str) -> str:
    if _SAFE.fullmatch(value) and is_plain_text(value):
        return value
    return f'"{_ESCAPED.sub(_escape, value)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def _blank_line(value: str) -> bool:
    """Lines of nothing but blanks, and blanks before a line end, are lost on people and on some editors."""
    return any(line != line.rstrip() for line in value.split("\n"))
