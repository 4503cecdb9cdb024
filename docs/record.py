"""Records an ended job for the picture in the README: `python -m docs.record JOB [TIME=WHAT ...]`.

TIME is RFC 3339, WHAT says what was done to the run from outside. Reads from the control plane that the environment
names, and writes docs/timeline.json. The picture follows with `make docs`.
"""

import json
import sys
from typing import Any

from pydantic import BaseModel

from docs.makers.recording import Mark, Recording
from docs.makers.timeline import SOURCE
from perdure.client import Client

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
            "checkpoints": [_plain(checkpoint) for checkpoint in run.checkpoints()],
        }
    text = json.dumps(found)
    for node in {node for attempt in found["attempts"] for node in attempt["nodes"]}:
        text = text.replace(node, NODE)
    return Recording.model_validate({**json.loads(text), "marks": marks})


def _plain(view: BaseModel) -> dict[str, Any]:
    return view.model_dump(mode="json", by_alias=True)


def _mark(text: str) -> Mark:
    at, _, what = text.partition("=")
    return Mark.model_validate({"at": at, "text": what})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
