"""The real API on a real socket, with stand-ins at its ports only, and a home folder that points to it."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import uvicorn

from activities.adapters.objects_folder import FolderObjects
from api.app import create_app
from definitions.snapshot import SnapshotLimits
from perdure import Client
from store.engine import open_engine
from store.migrate import upgrade
from tests.api.world import World, make_world
from tests.support.polling import eventually
from tests.support.ports import free_port
from workers.api_adapters import StoredSnapshots

ROOT = Path(__file__).parents[2]
PERDURE = str(Path(sys.executable).with_name("perdure"))
JOB_YAML = """\
apiVersion: perdure/v1
kind: Job
metadata:
  name: digits
  labels: {team: vision}
spec:
  command: [python, train.py]
  timeout: 1h
"""


@dataclass
class Live:
    """`world` changes what the API finds in its store and behind its ports; `home` is a client's PERDURE_HOME."""

    world: World
    url: str
    home: Path
    objects: FolderObjects

    @property
    def environment(self) -> dict[str, str]:
        """What a user's process would have: this home, this machine's search path, and no colour wishes."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, "HOME": str(self.home), "PERDURE_HOME": str(self.home), "COLUMNS": "200"}

    def client(self, **settings: Any) -> Client:
        return Client.from_env(self.environment, **settings)

    def run(self, *arguments: str, **given: Any) -> subprocess.CompletedProcess[str]:
        """A real `perdure` process; extra environment as `env`."""
        environment = {**self.environment, **given.pop("env", {})}
        given = {"capture_output": True, "text": True, "timeout": 60, "stdin": subprocess.DEVNULL, **given}
        return subprocess.run([PERDURE, *arguments], env=environment, **given)


@contextmanager
def live_api(folder: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Iterator[Live]:
    """Serve the API from a thread until the block ends. `now`: what time it is there."""
    (folder / "control.db").write_bytes(_migrated())
    engine = open_engine(f"sqlite:///{folder / 'control.db'}", durable=False)
    world = make_world(engine)
    objects = FolderObjects(folder / "objects")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    quick = world.deps.settings.model_copy(update={"public_url": url, "poll": timedelta(milliseconds=20)})
    world.deps = replace(
        world.deps,
        snapshots=StoredSnapshots(objects, SnapshotLimits()),
        settings=quick,
        now=now,
        sleep=asyncio.sleep,
    )
    world.clock.at = now()
    with _serving(create_app(world.deps), port):
        yield Live(world, url, _home(folder / "home", url, world.key()), objects)
    engine.dispose()


@cache
def _migrated() -> bytes:
    """An empty database with all tables, made once for all tests of this process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "control.db")
        upgrade(f"sqlite:///{file}")
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file.read_bytes()


@contextmanager
def _serving(app: Any, port: int) -> Iterator[None]:
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        eventually(lambda: server.started, 20, "the API serving")
        yield
    finally:
        server.should_exit = True
        thread.join(10)


def _home(home: Path, url: str, key: str) -> Path:
    home.mkdir()
    (home / "endpoint.json").write_text(json.dumps({"api": url, "ui": "http://127.0.0.1:8233"}))
    (home / "admin.token").write_text(f"{key}\n")
    return home
