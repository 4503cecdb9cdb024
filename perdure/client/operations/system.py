"""What the API says of itself."""

from __future__ import annotations

from perdure.client._models import Diagnosis, ErrorCodePage, Health, Version
from perdure.client.call import Call, Reply, reading


def health() -> Call[Health]:
    """Whether the API and its store answer."""
    return Call("system.health", "GET", "/v1/health", reading(Health), scoped=False)


def version() -> Call[Version]:
    """What is running."""
    return Call("system.version", "GET", "/v1/version", reading(Version), scoped=False)


def doctor(*, project: str | None = None) -> Call[Diagnosis]:
    """Look at every part of the deployment. Takes as long as its slowest part, seconds at the most."""
    return Call("system.doctor", "GET", "/v1/doctor", reading(Diagnosis), project=project)


def errors() -> Call[ErrorCodePage]:
    """Every error code there is."""
    return Call("system.errors", "GET", "/v1/errors", reading(ErrorCodePage), scoped=False)


def metrics(*, project: str | None = None) -> Call[str]:
    """Numbers about the control plane, in Prometheus' text form."""
    return Call("system.metrics", "GET", "/metrics", _text, project=project)


def _text(reply: Reply) -> str:
    return reply.content.decode()
