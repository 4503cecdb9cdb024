"""The four loopback ports of an embedded control plane."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from perdure.local.errors import LocalError
from perdure.local.listeners import LOOPBACK, holders, is_free
from perdure.local.processes import describe


@dataclass(frozen=True)
class Ports:
    api: int = 8642
    temporal: int = 7233
    ui: int = 8233
    metrics: int = 9642

    @property
    def api_url(self) -> str:
        return f"http://{LOOPBACK}:{self.api}"

    @property
    def ui_url(self) -> str:
        return f"http://{LOOPBACK}:{self.ui}"

    def environment(self) -> dict[str, str]:
        """The same choice for child processes."""
        return {variable(name): str(port) for name, port in asdict(self).items()}


def variable(name: str) -> str:
    """The environment variable that sets a port: PERDURE_API_PORT and its siblings."""
    return f"PERDURE_{name.upper()}_PORT"


def choose(flags: Mapping[str, int | None], environ: Mapping[str, str]) -> Ports:
    """Ports from flags, else from the environment, else the usual ones. Refuses (PD-4004) what cannot be served."""
    given = {field.name: _one(field.name, flags, environ) for field in fields(Ports)}
    ports = Ports(**{name: port for name, port in given.items() if port is not None})
    seen: dict[int, str] = {}
    for name, port in asdict(ports).items():
        if not 1 <= port <= 65535:
            raise LocalError("PD-4004", f"the {name} port cannot be {port}")
        if port in seen:
            raise LocalError("PD-4004", f"the {name} port and the {seen[port]} port are both {port}")
        seen[port] = name
    return ports


def require_free(ports: Ports) -> None:
    """Refuse (PD-4002) when something listens on one of the ports, naming it as far as it can be seen."""
    for name, port in asdict(ports).items():
        if not is_free(port):
            who = describe(holders(port)) or "a process that you may not look into"
            raise LocalError(
                "PD-4002", f"port {port}, wanted for the {name} listener (--port-{name}), is held by {who}"
            )


def _one(name: str, flags: Mapping[str, int | None], environ: Mapping[str, str]) -> int | None:
    if (flag := flags.get(name)) is not None:
        return flag
    text = environ.get(variable(name))
    if not text:
        return None
    if not text.isdecimal():
        raise LocalError("PD-4004", f"{variable(name)} is {text!r}, which is not a port number")
    return int(text)
