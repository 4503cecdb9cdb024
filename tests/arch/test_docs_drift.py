"""What is generated in the documentation is what the code says today."""

import re
from pathlib import Path

import pytest

from definitions.errors import Exit, all_codes
from definitions.states import FailureClass
from docs import generate
from docs.makers import cli, errors, failures, protocol
from tests.arch.docs_source import pages
from tests.arch.source import text


def test_every_generated_page_and_block_is_up_to_date() -> None:
    assert list(generate.differences()) == [], "run `make docs`"


def test_every_block_has_a_place_and_every_place_a_maker() -> None:
    placed = {name for path in pages() for name in re.findall(r"<!-- begin ([a-z-]+) -->", text(path))}
    assert placed == set(generate.BLOCKS)


@pytest.mark.parametrize(
    ("explained", "known"),
    [
        (failures.PROOF, FailureClass),
        (cli.EXIT_MEANING, Exit),
        (protocol.MEANING, protocol.names()),
    ],
    ids=["failure classes", "exit codes", "variables of the protocol"],
)
def test_everything_that_the_code_knows_is_explained(explained: dict[str, str], known: list[str]) -> None:
    assert set(explained) == set(known)


def test_every_error_code_has_a_page_that_says_why_and_what_to_do() -> None:
    made = errors.pages()
    for entry in all_codes():
        page = made[f"errors/{entry.code}.md"]
        assert entry.title in page
        assert entry.why.strip() in page
        assert entry.remedy.strip() in page


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root of its own, with nothing but what the generator writes into the error folder and one page with a block."""
    (tmp_path / "docs" / "errors").mkdir(parents=True)
    (tmp_path / "README.md").write_text("# Here\n\n<!-- begin failure-limits -->\nold\n<!-- end failure-limits -->\n")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "DOCS", tmp_path / "docs")
    return tmp_path


def test_the_generator_writes_what_differs_removes_what_is_gone_and_is_then_content(copy: Path) -> None:
    left_over = copy / "docs" / "errors" / "PD-0000.md"
    left_over.write_text("a code that is no more")
    assert generate.main(["--check"]) == 1
    assert left_over.exists()
    assert generate.main([]) == 0
    assert not left_over.exists()
    assert "old" not in (copy / "README.md").read_text()
    assert failures.limits() in (copy / "README.md").read_text()
    assert generate.main(["--check"]) == 0


def test_one_changed_character_is_found(copy: Path) -> None:
    generate.main([])
    page = copy / "docs" / "errors" / f"{all_codes()[0].code}.md"
    page.write_text(page.read_text().replace("Why", "why"))
    assert list(generate.differences()) == [f"docs/errors/{page.name}"]
