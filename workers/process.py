"""How every process of the control plane begins and ends."""

import logging
import sys
from collections.abc import Callable
from typing import NoReturn

from definitions.errors import PerdureError
from workers import logging_setup, settings
from workers.leave import leave
from workers.settings import Settings

REFUSED = 78  # EX_CONFIG: tells the supervisor that starting again cannot help
FAILED = 1
log = logging.getLogger(__name__)


def run(process: str, work: Callable[[Settings], None]) -> NoReturn:
    """Load the settings, set up the logs, do the work, and leave: with 0, or by how it failed.

    A PerdureError is a refusal that people must look at; anything else may pass, and the supervisor tries again.
    """
    try:
        chosen = settings.load()
        logging_setup.configure(process, chosen.log_level)
        work(chosen)
    except PerdureError as error:
        print(f"refused: {error}", file=sys.stderr, flush=True)
        leave(REFUSED)
    except Exception:
        log.exception("%s failed", process)
        leave(FAILED)
    leave(0)
