"""What every recorder of histories does: it plays scenes on an engine, and keeps what the engine wrote of them.

A committed history is never recorded again to make a test pass: it stands for what is running somewhere now.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from temporalio.client import Client, WorkflowHandle
from temporalio.contrib.pydantic import pydantic_data_converter

from tests.support.temporal import running_temporal
from workers.leave import leave

SOON_LONG = ("--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=50")
Play = Callable[[str, Client], Awaitable[WorkflowHandle[Any, Any]]]


@dataclass(frozen=True)
class Recorder:
    """`play` runs a scene to its end; of those in `long`, the engine soon finds that their history is long."""

    folder: Path
    scenes: Iterable[str]
    play: Play
    long: Sequence[str] = ()

    def main(self) -> NoReturn:
        """Record the scenes that the command line names, or all."""
        leave(asyncio.run(self.record(sys.argv[1:] or sorted(self.scenes))))

    async def record(self, names: Sequence[str]) -> int:
        """The exit status: 2 when one of them has a history already, and then none was recorded."""
        self.folder.mkdir(exist_ok=True)
        known = [name for name in names if (self.folder / f"{name}.json").exists()]
        if known:
            print(f"already recorded, and never again: {', '.join(known)}", file=sys.stderr)
            return 2
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                with running_temporal(Path(folder), *(SOON_LONG if name in self.long else ())) as server:
                    client = await Client.connect(server.address, data_converter=pydantic_data_converter)
                    for path in await self.keep(name, client):
                        print(path.name)
        return 0

    async def keep(self, name: str, client: Client) -> list[Path]:
        """Play one scene and write every run of its chain; one that was continued leaves a file per run."""
        handle = await self.play(name, client)
        written: list[Path] = []
        run_id: str | None = handle.result_run_id
        while run_id:
            history = await client.get_workflow_handle(handle.id, run_id=run_id).fetch_history()
            target = self.folder / (f"{name}.json" if not written else f"{name}-{len(written) + 1}.json")
            target.write_text(history.to_json().replace(f"{Path.cwd()}/", ""))  # stack traces name this machine's
            written.append(target)
            continued = history.events[-1].workflow_execution_continued_as_new_event_attributes
            run_id = continued.new_execution_run_id or None
        return written
