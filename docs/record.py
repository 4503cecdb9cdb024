"""Records an ended job for the picture in the README: `python -m docs.record JOB [TIME=WHAT ...]`.

TIME is RFC 3339, WHAT says what was done to the run from outside. Reads from the control plane of PERDURE_HOME, and
writes docs/timeline.json. The picture follows with `make docs`. Pruned checkpoints belong to the picture and no longer
to what the API lists, so checkpoints are read from the database.
"""

import json
import re
import sys
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select

from api.views import checkpoint_view
from definitions.api_history import CheckpointView
from docs.makers.recording import Mark, Recording
from docs.makers.timeline import SOURCE
from perdure.client import Client
from store.engine import open_engine, reading
from store.tables import CheckpointRow
from workers.settings import load

LEFT_OUT = {"spec", "git", "snapshot"}  # not drawn, and of no use to others
NODE = "local"


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    job, *marks = arguments
    recording = record(job, [_mark(text) for text in marks])
    SOURCE.write_text(recording.model_dump_json(indent=1, by_alias=True, exclude_defaults=True) + "\n")
    print(f"wrote {SOURCE}; now run `make docs`")
    return 0


def record(job: str, marks: list[Mark]) -> Recording:
    """Read an ended job from the control plane, without the name of the machine it ran on."""
    with Client.from_env() as client:
        run = client.attach(job)
        found: dict[str, Any] = {
            "job": {name: value for name, value in _plain(run.view).items() if name not in LEFT_OUT},
            "attempts": [_plain(attempt) for attempt in run.attempts()],
            "events": [_plain(event) for event in run.events()],
            "checkpoints": [_plain(checkpoint) for checkpoint in _checkpoints(run.id)],
        }
    text = json.dumps(found)
    for node in {node for attempt in found["attempts"] for node in attempt["nodes"]}:
        text = re.sub(rf"\b{re.escape(node)}\b", NODE, text)
    return Recording.model_validate({**json.loads(text), "marks": marks})


def _checkpoints(job: str) -> list[CheckpointView]:
    """Every checkpoint that was judged, also those that are gone by now, in the order of saving."""
    mine = select(CheckpointRow).where(CheckpointRow.job == job).order_by(CheckpointRow.saved_at)
    with reading(open_engine(load().database)) as session:
        return [checkpoint_view(row) for row in session.scalars(mine)]


def _plain(view: BaseModel) -> dict[str, Any]:
    return view.model_dump(mode="json", by_alias=True)


def _mark(text: str) -> Mark:
    at, _, what = text.partition("=")
    return Mark.model_validate({"at": at, "text": what})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
