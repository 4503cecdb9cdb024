"""Which phases are the end of a job."""

from collections.abc import Iterable

from perdure.client._models import Phase

FINAL = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED})


def phases(names: Iterable[str] | None) -> list[Phase] | None:
    """Phases by their names; None for none."""
    return [Phase(name) for name in names] if names else None
