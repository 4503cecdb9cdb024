"""What the store refuses, as errors of the registry: routes need not translate them."""

from definitions.errors import PerdureError


class NameTaken(PerdureError):
    """The name is held by something that is there. `holder` is a job's id where it is a job."""

    def __init__(self, detail: str, *, holder: str | None = None, remedy: str | None = None) -> None:
        super().__init__("PD-3707", detail, remedy=remedy, data={"holder": holder})
        self.holder = holder


class SnapshotMissing(PerdureError):
    """A job names a snapshot whose bytes are not stored."""

    def __init__(self, sha256: str) -> None:
        super().__init__("PD-3705", f"snapshot {sha256[:12]} is not stored in this project")


class KeyReused(PerdureError):
    """An idempotency key came with another request than its first."""

    def __init__(self, key: str, first: str) -> None:
        super().__init__("PD-3710", f"idempotency key {key!r} was used for {first} with other content")


class KeyInFlight(PerdureError):
    """The first request under an idempotency key is still being answered."""

    def __init__(self, key: str) -> None:
        super().__init__("PD-3711", f"the request with idempotency key {key!r} is still being answered")


class BadCursor(PerdureError):
    """A cursor that this list never gave."""

    def __init__(self) -> None:
        super().__init__("PD-3702", "the cursor cannot be read", where="cursor")


class Fenced(PerdureError):
    """Another decider took the pool, or decided for it, since this one looked. Nothing of its verdict was written."""

    def __init__(self, pool: str, what: str) -> None:
        super().__init__("PD-3740", f"a decision for pool {pool!r} is not accepted: {what}")
