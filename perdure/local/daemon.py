"""The supervisor as a process of its own: `perdure up --detach`."""

import contextlib
import json
import os
import sys

from perdure.local import home, launch, ports
from perdure.local.errors import LocalError
from perdure.local.state import Phase, State, now


def main() -> None:
    """Argument 1: a descriptor on which to say, once, that all is ready, or what was refused."""
    report = int(sys.argv[1])
    os.set_inheritable(report, False)
    told = False

    def tell(answer: dict[str, object]) -> None:
        nonlocal told
        if not told:
            told = True
            # Whoever waited may have gone; that is no reason to stop.
            with contextlib.suppress(OSError):
                os.write(report, json.dumps(answer).encode())
            os.close(report)

    def on_change(state: State) -> None:
        parts = ", ".join(f"{part.name} {part.state}" for part in state.processes)
        print(f"{now()} {state.phase}: {parts}", flush=True)
        if state.phase is Phase.READY:
            tell({"ready": True})

    place = home.locate(os.environ)
    try:
        clean = launch.run_here(place, ports.choose({}, os.environ), os.environ, on_change)
    except LocalError as error:
        print(f"{now()} {error}", flush=True)
        tell({"error": {"code": error.code, "detail": error.detail}})
        sys.exit(error.exit_code)
    tell({"error": {"code": "PD-4005", "detail": "it was asked to stop before it was ready"}})
    sys.exit(0 if clean else 8)
