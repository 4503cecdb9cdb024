"""Structured logs: one JSON object per line on standard error, with the ids of request and job where they are known."""

import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TextIO

import structlog

# The engine's client attaches these to records of workflows and activities.
ENGINE_FIELDS = ("temporal_workflow", "temporal_activity")
NOISY = ("httpx", "httpcore", "alembic", "uvicorn")


def configure(process: str, level: str, stream: TextIO | None = None) -> None:
    """Send every logger of this process to one handler. `process` is in each line. Safe to repeat."""
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.contextvars.merge_contextvars, structlog.stdlib.ExtraAdder(), _engine_ids],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(default=str, sort_keys=False),
        ],
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    handler.addFilter(_Heading(process))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)


@contextmanager
def bound(**ids: str) -> Iterator[None]:
    """Add ids (request_id, job, tenant, ...) to every line that is logged within, in this task or thread."""
    with structlog.contextvars.bound_contextvars(**ids):
        yield


class _Heading(logging.Filter):
    """Puts time, level, process and logger first, so that a line can be read by people too."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._stamp = structlog.processors.TimeStamper(fmt="iso", utc=True, key="time")
        self._process = process

    def filter(self, record: logging.LogRecord) -> bool:
        heading = {
            **self._stamp(None, "", {}),
            "level": record.levelname.lower(),
            "process": self._process,
            "logger": record.name,
        }
        record.heading = heading
        return True


def _engine_ids(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace the engine's description of a workflow or activity by the ids that people look for."""
    heading: dict[str, Any] = event.pop("heading", {})
    for field in ENGINE_FIELDS:
        described = event.pop(field, None)
        if isinstance(described, dict):
            heading |= _job_ids(described)
    return {**heading, **event}


def _job_ids(described: dict[str, Any]) -> dict[str, Any]:
    workflow_id = str(described.get("workflow_id", ""))
    kind, _, rest = workflow_id.partition("/")
    tenant, _, job = rest.partition("/")
    ids: dict[str, Any] = {"tenant": tenant, "job": job} if kind == "job" and job else {"workflow": workflow_id}
    if "activity_type" in described:
        ids |= {"activity": described["activity_type"], "try": described.get("attempt")}
    return ids
