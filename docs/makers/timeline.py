"""Draws a recorded run as an SVG: its phases, attempts, checkpoints, what was done to it, and its events."""

from collections.abc import Iterator
from datetime import datetime
from html import escape
from pathlib import Path

from definitions.api_history import AttemptView
from definitions.states import Phase
from docs.makers.recording import Recording
from docs.makers.svg import BAR, FAINT, INK, bar, line, picture, text

SOURCE = Path(__file__).resolve().parents[1] / "timeline.json"
WIDTH, LEFT, RIGHT = 960, 110, 24
ROW, LINE = 52, 19
LONGEST = 104  # characters of a reason
COLOURS = {
    Phase.PENDING: "#c8ccd4",
    Phase.QUEUED: "#dfe3ea",
    Phase.STARTING: "#9db8e8",
    Phase.RUNNING: "#4a7fd0",
    Phase.COLLECTING: "#b39ddb",
    Phase.BACKING_OFF: "#f0c36d",
    Phase.SUSPENDING: "#d9c9a3",
    Phase.SUSPENDED: "#e4dcc8",
    Phase.CANCELLING: "#d99",
}
GOOD, BAD = "#3a9a5b", "#c9453f"


def pages() -> dict[str, str]:
    return {"timeline.svg": draw(Recording.model_validate_json(SOURCE.read_text()))}


def draw(run: Recording) -> str:
    """The picture. Times are seconds since the job was accepted."""
    scale = Scale(run)
    rows = 1 + len(run.attempts)
    marks_height = 20 + 17 * len(run.marks)
    top = 40 + marks_height
    axis = top + rows * ROW
    events = axis + 46
    height = events + LINE * len(run.events) + 10
    parts = [
        *_title(run),
        *_marks(run, scale, 58, axis),
        *_phases(run, scale, top),
        *(part for n, a in enumerate(run.attempts, 1) for part in _attempt(run, a, scale, top + n * ROW)),
        *_axis(scale, axis),
        *_events(run, scale, events),
    ]
    return picture(WIDTH, height, parts)


class Scale:
    """From a moment to a place on the drawing."""

    def __init__(self, run: Recording) -> None:
        self._start = run.start
        self.seconds = max((run.end - run.start).total_seconds(), 0.001)

    def since(self, at: datetime) -> float:
        return (at - self._start).total_seconds()

    def x(self, at: datetime) -> float:
        return self.place(self.since(at))

    def place(self, seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(seconds / self.seconds, 0), 1)


def _title(run: Recording) -> Iterator[str]:
    took = (run.end - run.start).total_seconds()
    ranks, attempts = _count(run.job.ranks, "rank"), _count(len(run.attempts), "attempt")
    said = f"{ranks}, {attempts}, {run.job.phase} after {took:.1f} s"
    yield text(16, 28, f"{run.job.name}: {said}", size=15, weight=600)
    yield _diamond(WIDTH - RIGHT - 136, 24, "", True)
    yield text(WIDTH - RIGHT, 28, "verified checkpoint", FAINT, anchor="end")


def _marks(run: Recording, scale: Scale, top: int, bottom: int) -> Iterator[str]:
    """Each on a line of its own, so that close ones can be read."""
    for number, mark in enumerate(run.marks):
        x, y = scale.x(mark.at), top + 17 * number
        yield line((x, y - 8), (x, bottom), BAD, " stroke-dasharray='3 3'")
        on_right = x < WIDTH * 0.7
        yield text(x + 5 if on_right else x - 5, y, mark.text, BAD, anchor="start" if on_right else "end")


def _phases(run: Recording, scale: Scale, y: int) -> Iterator[str]:
    yield text(16, y + 16, "phase", FAINT)
    for phase, begin, end in run.phases():
        yield bar(scale.x(begin), scale.x(end), y, COLOURS.get(phase, FAINT), f"{phase}")
        if scale.x(end) - scale.x(begin) > 7 * len(phase):
            yield text(scale.x(begin) + 5, y + 15, f"{phase}", "#fff" if phase is Phase.RUNNING else INK)


def _attempt(run: Recording, attempt: AttemptView, scale: Scale, y: int) -> Iterator[str]:
    begin, end = attempt.started_at or run.start, attempt.ended_at or run.end
    yield text(16, y + 16, f"attempt {attempt.number}", FAINT)
    yield bar(scale.x(begin), scale.x(end), y, BAD if attempt.failure else GOOD, attempt.reason)
    told = "from the start" if attempt.from_step is None else f"from step {attempt.from_step}"
    reached = "" if attempt.reached_step is None else f", reached {attempt.reached_step}"
    colour, said = BAD if attempt.failure else GOOD, f"{told}{reached}: {attempt.reason}"
    if scale.x(begin) < WIDTH / 2:
        yield text(scale.x(begin), y + 38, _short(said, LONGEST), colour)
    else:
        yield text(scale.x(end), y + 38, _short(said, LONGEST), colour, anchor="end")
    for saved in run.checkpoints:
        if saved.attempt == attempt.number and saved.saved_at is not None:
            yield _diamond(scale.x(saved.saved_at), y + BAR / 2, f"step {saved.step}", saved.complete)


def _axis(scale: Scale, y: int) -> Iterator[str]:
    yield line((LEFT, y), (WIDTH - RIGHT, y))
    step = next(size for size in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 3600) if scale.seconds / size <= 12)
    for second in range(0, int(scale.seconds) + 1, step):
        x = scale.place(second)
        yield line((x, y), (x, y + 4))
        yield text(x, y + 17, f"{second} s", FAINT, anchor="middle", size=11)


def _events(run: Recording, scale: Scale, y: int) -> Iterator[str]:
    for number, event in enumerate(run.events):
        at = y + LINE * number
        yield text(LEFT - 46, at, f"{scale.since(event.at):.1f} s", FAINT, anchor="end")
        yield text(LEFT - 34, at, str(event.data.get("phase", event.kind)), weight=600)
        yield text(LEFT + 56, at, _short(event.reason, LONGEST))


def _diamond(x: float, y: float, title: str, complete: bool) -> str:
    shape = f"M{x:.1f} {y - 6}l6 6l-6 6l-6 -6z"
    fill = "#fff" if complete else "none"
    return f"<path d='{shape}' fill='{fill}' stroke='{INK}'><title>{escape(title)}</title></path>"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(most - 1, 1)].rstrip() + "…"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
