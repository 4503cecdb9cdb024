"""Local times of a zone as instants. Clocks jump, so that some local times never come and others come twice.

The rule: a time that clocks jump over becomes the first moment after the jump, and of one that comes twice the first is
taken. Later local times so never become earlier instants. Each case is marked, so that it can be shown and confirmed.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """A local time that was asked for, and the instant that it stands for, in seconds since 1970.

    `jump`: the local times between which clocks jump, when the one asked for lies there and never comes.
    `again`: the second instant of one that comes twice.
    """

    asked: datetime
    at: int
    local: str  # with its offset
    jump: tuple[datetime, datetime] | None = None
    again: int | None = None

    def day_exists(self) -> bool:
        """Whether the date that was asked for has any time at all: zones have skipped whole days."""
        begin = datetime.combine(self.asked, time())
        return self.jump is None or self.jump[0] > begin or self.jump[1] < begin + DAY

    def note(self, zone: str, what: str) -> str | None:
        """What to show before this is confirmed, in a sentence about the `start` or `end`; None when it is plain."""
        asked = f"{self.asked:%Y-%m-%d %H:%M}"
        if self.jump is not None:
            before, after = (f"{wall:%Y-%m-%d %H:%M}" for wall in self.jump)
            return (
                f"{what} {asked} never comes in {zone}: clocks jump from {before} to {after}; it becomes {self.local}"
            )
        if self.again is not None:
            return f"{what} {asked} comes twice in {zone}; the first is taken, {self.local}"
        return None


def moment(wall: datetime, zone: tzinfo) -> Moment:
    """The instant of a local time (without zone, whole seconds)."""
    first, second = (_instant(wall, zone, fold) for fold in (0, 1))
    if _wall(first, zone) == wall:
        twice = second != first and _wall(second, zone) == wall
        return Moment(wall, first, shown(first, zone), again=second if twice else None)
    at = _first_after(wall, zone, second, first)
    return Moment(wall, at, shown(at, zone), jump=(_wall(at - 1, zone) + timedelta(seconds=1), _wall(at, zone)))


def shown(at: int, zone: tzinfo) -> str:
    """An instant in local time with its offset, `2027-03-05 10:00 +01:00`."""
    text = datetime.fromtimestamp(at, zone).isoformat(" ", "minutes")
    return f"{text[:16]} {text[16:]}"


def _instant(wall: datetime, zone: tzinfo, fold: int) -> int:
    return int(wall.replace(tzinfo=zone, fold=fold).astimezone(UTC).timestamp())


def _wall(at: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(at, zone).replace(tzinfo=None, fold=0)


def _first_after(wall: datetime, zone: tzinfo, low: int, high: int) -> int:
    """The first second whose local time is later, between an instant before a jump and one after it."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _wall(middle, zone) > wall else (middle, high)
    return high
