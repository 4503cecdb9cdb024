"""What users touch: the client, the command line and the helper for jobs.

`from perdure import Client` works without loading anything that is not asked for: the helper of a training job needs
none of it, and the command line should answer at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perdure.client import AsyncClient, AsyncRun, Client, Run
    from perdure.errors import PerdureApiError, PerdureError, PerdureUnreachable, PerdureWaitTimeout, SnapshotRefused

__version__ = "0.1.0"
__all__ = [
    "AsyncClient",
    "AsyncRun",
    "Client",
    "PerdureApiError",
    "PerdureError",
    "PerdureUnreachable",
    "PerdureWaitTimeout",
    "Run",
    "SnapshotRefused",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'perdure' has no attribute {name!r}")
    home = "perdure.client" if name in {"AsyncClient", "AsyncRun", "Client", "Run"} else "perdure.errors"
    return getattr(import_module(home), name)
