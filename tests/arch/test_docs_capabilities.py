"""The page of capabilities names tests that there are, and claims no more for them than they run on."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.arch.source import ROOT, text

PAGE = Path("docs/capabilities.md")
ROW = re.compile(
    r"^\| (?P<feature>.+?) \| (?P<level>real pods|API server|unit test) \| `(?P<file>.+?)::(?P<test>.+?)` \|$"
)
MARKER = {"real pods": "pods", "API server": "kube"}
# Suites that a subclass with a marker runs: the file that has it.
RUN_BY = {"tests/activities/runtime_contract_": "tests/activities/kubernetes/test_contract.py"}
FEWEST = 30


class Claim(NamedTuple):
    feature: str
    level: str
    file: str
    test: str


def claims() -> list[Claim]:
    return [Claim(*match.groups()) for line in text(PAGE).splitlines() if (match := ROW.match(line))]


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text())
    found = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in found if node.name.startswith("test_"))


def runs_on(file: str) -> str:
    """The source of the file that says on what these tests run."""
    marked = next((runner for prefix, runner in RUN_BY.items() if file.startswith(prefix)), file)
    return (ROOT / marked).read_text()


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.feature)
def test_a_capability_names_a_test_that_runs_on_what_it_claims(claim: Claim) -> None:
    assert claim.test in names_in(claim.file)
    if claim.level in MARKER:
        assert f"mark.{MARKER[claim.level]}" in runs_on(claim.file)


def test_every_row_is_a_claim() -> None:
    rows = [line for line in text(PAGE).splitlines() if "`tests/" in line]
    assert len(rows) == len(claims()) >= FEWEST
