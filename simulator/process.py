"""The child process behind `perdure simulate`: JSON on standard input, lines of JSON on standard output.

Each line is an object with one of `progress` (what, done, total), `refused` (a problem) and `answer`, which is last.
"""

import json
import sys
from typing import Any

from definitions.errors import PerdureError
from simulator.run import simulate
from simulator.wire import Asked

STEPS = 200  # lines of progress at most for one run


def main() -> None:
    """Simulate what standard input asks for. A refusal is an answer too; the exit status is 0 for both."""
    asked = Asked.model_validate_json(sys.stdin.read())
    try:
        answer = simulate(asked, _told)
    except PerdureError as error:
        _line({"refused": _problem(error)})
    else:
        _line({"answer": answer.model_dump(mode="json", by_alias=True)})


def _told(what: str, done: int, total: int) -> None:
    if done == total or done % max(1, total // STEPS) == 0:
        _line({"progress": {"what": what, "done": done, "total": total}})


def _problem(error: PerdureError) -> dict[str, Any]:
    """As the API would answer it, so that one reader understands both."""
    return {
        "code": error.code.code,
        "title": error.code.title,
        "detail": error.detail,
        "where": error.where,
        "remedy": error.remedy,
        "exitCode": int(error.code.exit),
        "errors": [_problem(each) for each in error.errors],
    }


def _line(data: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(data) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
