"""The local runtime: attempts as process trees of this machine, each rank with supervisors of its own."""

from activities.adapters.local.logs import LocalLogs
from activities.adapters.local.runtime import LocalRuntime
from activities.adapters.local.settings import Settings

__all__ = ["LocalLogs", "LocalRuntime", "Settings"]
