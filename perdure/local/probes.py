"""Whether a child serves: it answers, *and* the one who answers is the very process we started."""

import contextlib
import http.client
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perdure.local.listeners import LOOPBACK, listens
from perdure.local.ports import Ports

Probe = Callable[[int], bool]
NAMESPACE = "default"
PATIENCE = 2.0  # seconds for one answer


def engine(ports: Ports) -> Probe:
    """The engine listens on both of its ports and answers a read of its namespace."""

    def ready(pid: int) -> bool:
        # The Web UI's server backs off after a failed call to the engine: it is asked only once the engine listens.
        return listens(pid, ports.temporal) and listens(pid, ports.ui) and namespace(ports.ui) is not None

    return ready


def api(ports: Ports) -> Probe:
    """The API listens and reports itself healthy, with its own pid."""

    def ready(pid: int) -> bool:
        answer = get(ports.api, "/v1/health") if listens(pid, ports.api) else None
        return answer is not None and answer.get("pid") == pid

    return ready


def worker(file: Path) -> Probe:
    """The worker has written its pid: it is connected, and polls."""

    def ready(pid: int) -> bool:
        with contextlib.suppress(OSError):
            return file.read_text().strip() == str(pid)
        return False

    return ready


def namespace(ui_port: int) -> dict[str, Any] | None:
    """The engine's namespace as the Web UI's server relays it; None while the engine does not answer."""
    return get(ui_port, f"/api/v1/namespaces/{NAMESPACE}")


def get(port: int, path: str) -> dict[str, Any] | None:
    """The JSON object that a loopback server answers with status 200; None for anything else."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = json.loads(response.read()) if response.status == 200 else None
        return body if isinstance(body, dict) else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
