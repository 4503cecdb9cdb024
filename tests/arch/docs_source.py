"""What the tests about the documentation look at: pages, links, and fenced blocks."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.arch.source import ROOT, text, tracked

FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```", re.M | re.S)
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\((?P<target>[^)\s]+)\)|!\[[^\]]*\]\((?P<image>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.M)


class Block(NamedTuple):
    """One fenced block: where it stands, as `file:line`, and what is in it."""

    where: str
    body: str


def pages() -> list[Path]:
    """Every Markdown file of the repository."""
    return [path for path in tracked() if path.suffix == ".md"]


def blocks(language: str, page: Path | None = None) -> Iterator[Block]:
    """Those in one language, of one page or of all."""
    for path in pages() if page is None else [page]:
        content = text(path)
        for match in FENCE.finditer(content):
            if match["language"] == language:
                yield Block(f"{path}:{content.count(chr(10), 0, match.start()) + 2}", match["body"])


def links(path: Path) -> list[str]:
    """Targets of links and images, outside of fenced blocks and inline code."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text(path)))
    return [match["target"] or match["image"] for match in LINK.finditer(prose)]


def anchors(path: Path) -> set[str]:
    """The fragment of every heading, as Markdown viewers make it."""
    prose = FENCE.sub("", (ROOT / path).read_text())
    return {_fragment(match[1]) for match in HEADING.finditer(prose)}


def _fragment(heading: str) -> str:
    plain = re.sub(r"[`*_]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
