"""Files and functions stay small enough to be read whole."""

import ast
from collections.abc import Iterator

from tests.arch.source import FIRST_PARTY, is_generated, python_files, text, tree

FILE_LINES = 300
TEST_FILE_LINES = 400
HARD_LIMIT = 500
FUNCTION_LINES = 40
CODE_FOLDERS = (*FIRST_PARTY, "bench", "examples")

# Reasons why one file or function is longer, by `path` or `path:function`. An entry that is not needed is an error.
LONGER: dict[str, str] = {
    "perdure/job.py": "one file that people copy into a training image, with its command line",
}


def test_no_file_is_too_long() -> None:
    too_long = {}
    for folders, limit in ((CODE_FOLDERS, FILE_LINES), (("tests",), TEST_FILE_LINES)):
        for path in python_files(*folders):
            lines = len(text(path).splitlines())
            if lines > limit and not is_generated(path):
                too_long[str(path)] = lines
    assert [f"{path}: {lines} lines" for path, lines in too_long.items() if path not in LONGER] == []
    assert [path for path, lines in too_long.items() if lines > HARD_LIMIT] == []


def test_no_function_is_too_long() -> None:
    assert [f"{name}: {lines} lines" for name, lines in _long_functions() if name not in LONGER] == []


def test_every_exception_is_needed_and_says_why() -> None:
    files = {str(path) for path in python_files(*CODE_FOLDERS, "tests") if len(text(path).splitlines()) > FILE_LINES}
    assert set(LONGER) - files - {name for name, _ in _long_functions()} == set()
    assert [name for name, reason in LONGER.items() if not reason] == []


def _long_functions() -> Iterator[tuple[str, int]]:
    for path in python_files(*CODE_FOLDERS):
        if is_generated(path):
            continue
        for node in ast.walk(tree(path)):
            if (
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and (lines := _body_lines(node)) > FUNCTION_LINES
            ):
                yield f"{path}:{node.name}", lines


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement to the last: a long signature or docstring helps a reader, it doesn't burden."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or body[-1].lineno) - body[0].lineno + 1 if body else 0
