"""What a job reports of itself: points, and what follows from them."""

from datetime import datetime

from definitions.wire import Wire


class ProgressPoint(Wire):
    """One line of a job's progress file."""

    step: int
    at: datetime
    attempt: int = 0
    rank: int = 0
    total: int | None = None  # steps in all, where the job knows
    metrics: dict[str, float] = {}


class ProgressNow(Wire):
    """How far a job is. `rate` is in steps per second; `eta` is when `total` will be reached at that rate."""

    step: int
    at: datetime
    total: int | None = None
    rate: float | None = None
    eta: datetime | None = None
    metrics: dict[str, float] = {}


class SeriesPoint(Wire):
    """One value of a metric."""

    step: int
    at: datetime
    value: float


class Series(Wire):
    """One metric over the steps."""

    name: str
    points: tuple[SeriesPoint, ...]


class MetricQuery(Wire):
    """Which series are wanted: of these names (empty: of all) those behind `after`, `limit` of them at the most."""

    names: tuple[str, ...] = ()
    after: str = ""
    limit: int
    points: int  # most of one series


class MetricsFound(Wire):
    """Series by name. `more`: others come behind the last one."""

    series: tuple[Series, ...] = ()
    more: bool = False
