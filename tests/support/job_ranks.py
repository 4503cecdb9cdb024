"""Several ranks of a job in one process: each with the job helper loaded for itself, and an environment of its own."""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

from definitions import protocol
from tests.support.checkpoints import TOKEN

JOB_FILE = Path(__file__).parents[2] / "perdure" / "job.py"


class Rank:
    """`rank.call(name, ...)` calls a function of the helper as that rank's process would."""

    def __init__(self, run: Path, number: int, size: int, token: str = TOKEN, **environment: str) -> None:
        self.number = number
        self.environment = {
            protocol.RUN_DIR: str(run),
            protocol.RANK: str(number),
            protocol.WORLD_SIZE: str(size),
            protocol.ATTEMPT: "1",
            protocol.ATTEMPT_TOKEN: token,
        } | environment
        self.job = load_helper()

    @contextmanager
    def running(self) -> Iterator[ModuleType]:
        """The helper, in this rank's environment alone."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PERDURE_")}
        with patch.dict(os.environ, kept | self.environment, clear=True):
            yield self.job

    def should_checkpoint(self, step: int) -> bool:
        with self.running() as job:
            due: bool = job.should_checkpoint(step)
            return due

    def save(self, step: int, content: bytes = b"weights") -> None:
        with self.running() as job, job.checkpoint(step, metrics={"loss": 0.5}) as folder:
            (folder / "weights.npz").write_bytes(content)


def load_helper() -> ModuleType:
    """A fresh copy of the helper, from its file alone."""
    spec = importlib.util.spec_from_file_location("job_helper", JOB_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
