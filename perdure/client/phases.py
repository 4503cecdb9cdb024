"""Which phases are the end of a job."""

from perdure.client._models import Phase

FINAL = frozenset({Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED})
