"""A run as it was recorded from the API: what the picture in the README is drawn from (`docs/timeline.json`)."""

from datetime import datetime

from pydantic import BaseModel

from definitions.api_history import AttemptView, CheckpointView, EventView
from definitions.api_jobs import JobView
from definitions.states import Phase

MOVES = ("phase", "queued", "placed", "displaced")  # kinds of events with which a job goes to another phase


class Mark(BaseModel):
    """Something that was done to the run from outside."""

    at: datetime
    text: str


class Recording(BaseModel):
    job: JobView
    attempts: list[AttemptView]
    events: list[EventView]  # oldest first
    checkpoints: list[CheckpointView]
    marks: list[Mark] = []

    @property
    def start(self) -> datetime:
        return self.job.created_at

    @property
    def end(self) -> datetime:
        assert self.job.ended_at is not None, "a picture is drawn of a job that has ended"
        return self.job.ended_at

    def phases(self) -> list[tuple[Phase, datetime, datetime]]:
        """Where the job was from when to when; `Pending` from its acceptance on."""
        changes = [(Phase.PENDING, self.start)]
        changes += [(Phase(event.data["phase"]), event.at) for event in self.events if event.kind in MOVES]
        ends = [at for _, at in changes[1:]] + [self.end]
        return [(phase, at, end) for (phase, at), end in zip(changes, ends, strict=True) if end > at]
