"""No page points to nothing, and no page is lost."""

from pathlib import Path

import pytest

from tests.arch.docs_source import anchors, links, pages
from tests.arch.source import ROOT

OUTSIDE = ("http://", "https://", "mailto:")
START = Path("README.md")


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert [link for link in links(page) if not link.startswith(OUTSIDE) and not resolves(page, link)] == []


def test_every_page_of_the_documentation_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [START]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        targets = (target(page, link) for link in links(page) if not link.startswith(OUTSIDE))
        waiting += [path for path in targets if path.suffix == ".md" and (ROOT / path).is_file()]
    assert [str(page) for page in pages() if page.parts[0] == "docs" and page not in seen] == []


def target(page: Path, link: str) -> Path:
    """The file that a link of a page names, below the root."""
    name = link.partition("#")[0]
    return (ROOT / page.parent / name).resolve().relative_to(ROOT) if name else page


def resolves(page: Path, link: str) -> bool:
    path = target(page, link)
    fragment = link.partition("#")[2]
    if not (ROOT / path).exists():
        return False
    return not fragment or fragment in anchors(path)
