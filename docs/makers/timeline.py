"""Draws a recorded run as an SVG: its phases, attempts, checkpoints, what was done to it, and its events."""

from collections.abc import Iterator
from datetime import datetime
from html import escape
from pathlib import Path

from definitions.api_history import AttemptView
from definitions.states import Phase
from docs.makers.recording import Recording

SOURCE = Path(__file__).resolve().parents[1] / "timeline.json"
WIDTH, LEFT, RIGHT = 960, 110, 24
BAR, ROW, LINE = 22, 52, 19
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
GOOD, BAD, INK, FAINT = "#3a9a5b", "#c9453f", "#24292f", "#8a929c"


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
    style = "font-family='ui-sans-serif, system-ui, sans-serif' font-size='12'"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' {style}>"
    background = f"<rect width='{WIDTH}' height='{height}' rx='8' fill='#fff' stroke='#d8dce2'/>"
    return "\n".join([head, background, *parts, "</svg>"]) + "\n"


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
    yield _text(16, 28, f"{run.job.name}: {said}", size=15, weight=600)
    yield _diamond(WIDTH - RIGHT - 136, 24, "", True)
    yield _text(WIDTH - RIGHT, 28, "verified checkpoint", FAINT, anchor="end")


def _marks(run: Recording, scale: Scale, top: int, bottom: int) -> Iterator[str]:
    """Each on a line of its own, so that close ones can be read."""
    for number, mark in enumerate(run.marks):
        x, y = scale.x(mark.at), top + 17 * number
        yield f"<line x1='{x:.1f}' y1='{y - 8}' x2='{x:.1f}' y2='{bottom}' stroke='{BAD}' stroke-dasharray='3 3'/>"
        on_right = x < WIDTH * 0.7
        yield _text(x + 5 if on_right else x - 5, y, mark.text, BAD, anchor="start" if on_right else "end")


def _phases(run: Recording, scale: Scale, y: int) -> Iterator[str]:
    yield _text(16, y + 16, "phase", FAINT)
    for phase, begin, end in run.phases():
        yield _bar(scale.x(begin), scale.x(end), y, COLOURS.get(phase, FAINT), f"{phase}")
        if scale.x(end) - scale.x(begin) > 7 * len(phase):
            yield _text(scale.x(begin) + 5, y + 15, f"{phase}", "#fff" if phase is Phase.RUNNING else INK)


def _attempt(run: Recording, attempt: AttemptView, scale: Scale, y: int) -> Iterator[str]:
    begin, end = attempt.started_at or run.start, attempt.ended_at or run.end
    yield _text(16, y + 16, f"attempt {attempt.number}", FAINT)
    yield _bar(scale.x(begin), scale.x(end), y, BAD if attempt.failure else GOOD, attempt.reason)
    told = "from the start" if attempt.from_step is None else f"from step {attempt.from_step}"
    reached = "" if attempt.reached_step is None else f", reached {attempt.reached_step}"
    colour, said = BAD if attempt.failure else GOOD, f"{told}{reached}: {attempt.reason}"
    if scale.x(begin) < WIDTH / 2:
        yield _text(scale.x(begin), y + 38, _short(said, LONGEST), colour)
    else:
        yield _text(scale.x(end), y + 38, _short(said, LONGEST), colour, anchor="end")
    for saved in run.checkpoints:
        if saved.attempt == attempt.number and saved.saved_at is not None:
            yield _diamond(scale.x(saved.saved_at), y + BAR / 2, f"step {saved.step}", saved.complete)


def _axis(scale: Scale, y: int) -> Iterator[str]:
    yield f"<line x1='{LEFT}' y1='{y}' x2='{WIDTH - RIGHT}' y2='{y}' stroke='{FAINT}'/>"
    step = next(size for size in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 3600) if scale.seconds / size <= 12)
    for second in range(0, int(scale.seconds) + 1, step):
        x = scale.place(second)
        yield f"<line x1='{x:.1f}' y1='{y}' x2='{x:.1f}' y2='{y + 4}' stroke='{FAINT}'/>"
        yield _text(x, y + 17, f"{second} s", FAINT, anchor="middle", size=11)


def _events(run: Recording, scale: Scale, y: int) -> Iterator[str]:
    for number, event in enumerate(run.events):
        line = y + LINE * number
        yield _text(LEFT - 46, line, f"{scale.since(event.at):.1f} s", FAINT, anchor="end")
        yield _text(LEFT - 34, line, str(event.data.get("phase", event.kind)), weight=600)
        yield _text(LEFT + 56, line, _short(event.reason, LONGEST))


def _bar(begin: float, end: float, y: float, colour: str, title: str) -> str:
    box = f"x='{begin:.1f}' y='{y}' width='{max(end - begin, 1):.1f}' height='{BAR}' rx='3'"
    return f"<rect {box} fill='{colour}'><title>{escape(title)}</title></rect>"


def _diamond(x: float, y: float, title: str, complete: bool) -> str:
    shape = f"M{x:.1f} {y - 6}l6 6l-6 6l-6 -6z"
    fill = "#fff" if complete else "none"
    return f"<path d='{shape}' fill='{fill}' stroke='{INK}'><title>{escape(title)}</title></path>"


def _text(
    x: float, y: float, text: str, colour: str = INK, *, anchor: str = "start", size: int = 12, weight: int = 400
) -> str:
    where = f"x='{x:.1f}' y='{y}' fill='{colour}' text-anchor='{anchor}' font-size='{size}' font-weight='{weight}'"
    halo = "paint-order='stroke' stroke='#fff' stroke-width='3'" if colour != "#fff" else ""
    return f"<text {where} {halo}>{escape(text)}</text>"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(most - 1, 1)].rstrip() + "…"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
