"""Codes of documents: each that the code raises is registered, and each that is registered is raised."""

import re
from pathlib import Path

from definitions.errors import all_codes

DEFINITIONS = Path(__file__).resolve().parents[2] / "definitions"
MINE = re.compile(r"PD-1[0-5]\d\d")


def test_codes_raised_and_codes_registered_are_the_same() -> None:
    sources = [path for path in DEFINITIONS.glob("*.py") if not path.name.startswith("error_codes_")]
    raised = {code for path in sources for code in MINE.findall(path.read_text())}
    registered = {entry.code for entry in all_codes() if MINE.fullmatch(entry.code)}
    assert raised == registered
