"""The policies that can be simulated, by the names that people use for them."""

from collections.abc import Callable

from definitions.errors import PerdureError
from simulator.admitting import CODE
from simulator.baselines import BASELINES
from simulator.planner import Planner
from simulator.setting import Setting

Factory = Callable[[Setting], Planner]
QUOTAS = frozenset({"perdure"})  # policies that know queues and their quotas


def planner(name: str, setting: Setting) -> Planner:
    """A planner that knows the nodes and queues of a setting, and nothing yet of its jobs. Raises PD-4015."""
    if name not in POLICIES:
        raise PerdureError(CODE, f"there is no policy {name!r}; there are {', '.join(POLICIES)}", where="--policy")
    return POLICIES[name](setting)


def _scheduler(setting: Setting) -> Planner:
    """Loaded late: its compiled loops take a second to load, and longer where they never ran before."""
    from simulator.scheduler import Scheduler
    from simulator.windows import ReservedWindows

    windows = None
    if setting.found.reservations:
        last = setting.trace.jobs[-1].request.submitted if setting.trace.jobs else 0
        windows = ReservedWindows(setting.found, setting.begin, last)
    return Scheduler(setting.nodes, setting.levels, setting.queues, windows=windows)


def _baseline(name: str) -> Factory:
    return lambda setting: BASELINES[name](setting.nodes)


POLICIES: dict[str, Factory] = {"perdure": _scheduler, **{name: _baseline(name) for name in BASELINES}}
