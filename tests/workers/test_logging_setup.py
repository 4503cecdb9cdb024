"""Every line of a log is one JSON object that names process, request and job."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from workers.logging_setup import bound, configure


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:], root.level = handlers, level


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_carries_what_was_bound_around_it_and_no_more(stream: io.StringIO) -> None:
    configure("api", "info", stream)
    log = logging.getLogger("api.jobs")
    with bound(request_id="r-1", tenant="default"):
        log.info("accepted %s", "train")
    log.debug("not this one")
    log.info("later")
    first, second = lines(stream)
    assert first["message"] == "accepted train"
    assert (first["process"], first["level"], first["logger"]) == ("api", "info", "api.jobs")
    assert (first["request_id"], first["tenant"]) == ("r-1", "default")
    assert "request_id" not in second


@pytest.mark.parametrize(
    ("described", "ids"),
    [
        ({"workflow_id": "job/acme/01j", "activity_type": "launch", "attempt": 2}, ("acme", "01j", "launch", 2)),
        ({"workflow_id": "job/acme/01j"}, ("acme", "01j", None, None)),
    ],
)
def test_lines_of_workflows_and_activities_name_the_job(
    stream: io.StringIO, described: dict[str, Any], ids: tuple[object, ...]
) -> None:
    configure("worker", "info", stream)
    field = "temporal_activity" if "activity_type" in described else "temporal_workflow"
    logging.getLogger("x").warning("launched", extra={field: described})
    (line,) = lines(stream)
    assert tuple(line.get(name) for name in ("tenant", "job", "activity", "try")) == ids
    assert field not in line


def test_an_error_is_one_line_with_its_trace(stream: io.StringIO) -> None:
    configure("worker", "info", stream)
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("x").exception("failed")
    (line,) = lines(stream)
    assert "ValueError: two" in line["exception"]
