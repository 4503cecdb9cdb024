"""What pages and code name is known to both: codes of refusals, and environment variables."""

import re
from pathlib import Path

import pytest

from definitions.errors import all_codes
from tests.arch.source import FIRST_PARTY, text, tracked

CODE = re.compile(r"\bPD-[0-9]{4}\b")
RANGE = re.compile(r"PD-[0-9]{4} to PD-[0-9]{4}")
VARIABLE = re.compile(r"(?<![A-Z_])PERDURE_[A-Z]+(?:_[A-Z]+)*\b")
# Between our own processes: the lock's descriptor of a supervised child, the hooks that tests kill at, and what the
# specification of a pod tells our containers in it.
INTERNAL = {"PERDURE_LOCK_FD", "PERDURE_CRASH_DIR", "PERDURE_POD"}


def spoken_of() -> list[Path]:
    return [path for path in tracked() if path.parts[0] in (*FIRST_PARTY, "docs", "examples") or path.suffix == ".md"]


def test_every_code_that_is_used_is_registered() -> None:
    known = {entry.code for entry in all_codes()}
    used = {(code, str(path)) for path in spoken_of() for code in CODE.findall(RANGE.sub("", text(path)))}
    assert sorted((code, path) for code, path in used if code not in known) == []


def test_every_code_that_is_registered_is_used() -> None:
    code_files = [path for path in spoken_of() if path.suffix == ".py" and not path.name.startswith("error_codes")]
    used = {code for path in code_files for code in CODE.findall(text(path))}
    assert [entry.code for entry in all_codes() if entry.code not in used] == []


@pytest.mark.parametrize("entry", all_codes(), ids=lambda entry: entry.code)
def test_every_code_says_why_and_what_to_do(entry: object) -> None:
    why, remedy = (getattr(entry, name) for name in ("why", "remedy"))
    assert why.rstrip().endswith(".")
    assert remedy.rstrip().endswith(".")
    assert why != remedy


def test_every_variable_that_the_code_names_is_documented() -> None:
    code = [path for path in spoken_of() if path.suffix == ".py" and path.parts[0] in FIRST_PARTY]
    pages = [path for path in spoken_of() if path.parts[0] == "docs" and path.suffix == ".md"]
    named, explained = ({name for path in paths for name in VARIABLE.findall(text(path))} for paths in (code, pages))
    assert sorted(named - explained - INTERNAL) == []
