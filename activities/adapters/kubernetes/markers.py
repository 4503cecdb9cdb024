"""What must be known of an attempt whatever becomes of the cluster: small objects in the object store.

    attempts/<number>-<token>/launched.json   what was asked for; written before anything exists in the cluster
                              opened.json     the one Job that may run, by its uid; written before it is let run
                              closing.json    nothing of it may start any more: it was stopped, or is being collected
                              saved-*.json    requests for which the job's own program has saved
                              ended.json      what its pods told before they were deleted
                              collected.json  what was kept; says that the attempt is over and done with

Each is written once. `opened.json` is claimed: of two Jobs that were made for one attempt, the second never runs.
"""

import hashlib
import io
from datetime import datetime
from typing import Literal, TypeVar

from pydantic import Field

from activities.ports import ObjectStore, PortError
from definitions.attempt import AttemptLaunch, AttemptRef, Collected, RankEvidence
from definitions.object_keys import job_prefix
from definitions.pod import PodFacts
from definitions.wire import Wire

W = TypeVar("W", bound=Wire)
LAUNCHED, OPENED, CLOSING = "launched.json", "opened.json", "closing.json"
ENDED, COLLECTED = "ended.json", "collected.json"
MISSING = "PD-3404"


class Opened(Wire):
    """The objects that were made for the attempt. `claim`: the volume with its run folder, where it has one."""

    job_uid: str
    secret_uid: str
    claim: str | None = None


class Closing(Wire):
    by: Literal["stop", "collect"]
    reason: str = ""


class Proof(Wire):
    """All from which the end of an attempt is judged, seen at `at`. `stopped`: its pods went on our request.

    `lines`, `log_bytes`, `problems`: what was kept of logs that go with the pods.
    """

    at: datetime
    pods: tuple[PodFacts, ...] = ()
    receipts: tuple[RankEvidence, ...] = ()
    stopped: bool = False
    lines: dict[int, tuple[str, ...]] = Field(default_factory=dict)
    log_bytes: int = 0
    problems: tuple[str, ...] = ()


class Markers:
    """Reads and writes the markers of attempts."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def launch(self, ref: AttemptRef) -> AttemptLaunch | None:
        return self._read(ref, LAUNCHED, AttemptLaunch)

    def write_launch(self, launch: AttemptLaunch) -> None:
        self._write(launch.ref, LAUNCHED, launch)

    def opened(self, ref: AttemptRef) -> Opened | None:
        return self._read(ref, OPENED, Opened)

    def open(self, ref: AttemptRef, wanted: Opened) -> Opened:
        """Claim the attempt for one Job; returns the claim that counts, which may be another's."""
        self._write(ref, OPENED, wanted)
        return self.opened(ref) or wanted

    def closing(self, ref: AttemptRef) -> Closing | None:
        return self._read(ref, CLOSING, Closing)

    def close(self, ref: AttemptRef, closing: Closing) -> Closing:
        """Let nothing of the attempt start from now on; returns who closed it first."""
        self._write(ref, CLOSING, closing)
        return self.closing(ref) or closing

    def is_done(self, ref: AttemptRef, request_id: str) -> bool:
        """Whether the job's own program has saved for this request."""
        return self._objects.stat(_key(ref, _saved(request_id))) is not None

    def write_done(self, ref: AttemptRef, request_id: str) -> None:
        self._objects.put(_key(ref, _saved(request_id)), io.BytesIO(b"{}"), if_absent=True)

    def proof(self, ref: AttemptRef) -> Proof | None:
        return self._read(ref, ENDED, Proof)

    def write_proof(self, ref: AttemptRef, proof: Proof) -> Proof:
        """Keep what the pods told; returns what counts, which another collector may have seen before."""
        self._write(ref, ENDED, proof)
        return self.proof(ref) or proof

    def collected(self, ref: AttemptRef) -> Collected | None:
        return self._read(ref, COLLECTED, Collected)

    def write_collected(self, ref: AttemptRef, collected: Collected) -> Collected:
        """Keep what was collected; returns what counts, which another collector may have written."""
        self._write(ref, COLLECTED, collected)
        return self.collected(ref) or collected

    def uncollected(self, ref: AttemptRef) -> list[AttemptRef]:
        """Attempts of the ref's job that were launched and not collected, by number."""
        found: dict[str, set[str]] = {}
        for key in self._keys(ref):
            attempt, _, name = key.rpartition("/")
            found.setdefault(attempt.rpartition("/")[2], set()).add(name)
        open_ones = [each for each, names in found.items() if LAUNCHED in names and COLLECTED not in names]
        refs = [self._ref(ref, attempt) for attempt in open_ones]
        return sorted((each for each in refs if each is not None), key=lambda each: each.number)

    def known(self, ref: AttemptRef) -> list[AttemptRef]:
        """Every attempt of the ref's job that has a marker."""
        attempts = {key.rpartition("/")[0].rpartition("/")[2] for key in self._keys(ref)}
        refs = [self._ref(ref, attempt) for attempt in sorted(attempts)]
        return [each for each in refs if each is not None]

    def forget(self, ref: AttemptRef) -> None:
        """Remove the markers of all attempts of the job."""
        for key in self._keys(ref):
            self._objects.delete(key)

    def _keys(self, ref: AttemptRef) -> list[str]:
        prefix = f"{job_prefix(ref.tenant, ref.project, ref.job)}attempts/"
        keys: list[str] = []
        while some := self._objects.list(prefix, after=keys[-1] if keys else None):
            keys += [info.key for info in some]
        return keys

    def _ref(self, ref: AttemptRef, attempt: str) -> AttemptRef | None:
        number, _, token = attempt.partition("-")
        if not (number.isdecimal() and token):
            return None
        return ref.model_copy(update={"number": int(number), "token": token})

    def _read(self, ref: AttemptRef, name: str, model: type[W]) -> W | None:
        try:
            with self._objects.get(_key(ref, name)) as file:
                return model.model_validate_json(file.read())
        except PortError as error:
            if error.code == MISSING:
                return None
            raise

    def _write(self, ref: AttemptRef, name: str, value: Wire) -> None:
        self._objects.put(_key(ref, name), io.BytesIO(value.model_dump_json().encode()), if_absent=True)


def _saved(request_id: str) -> str:
    return f"saved-{hashlib.sha256(request_id.encode()).hexdigest()[:32]}.json"


def _key(ref: AttemptRef, name: str) -> str:
    return f"{job_prefix(ref.tenant, ref.project, ref.job)}attempts/{ref.number}-{ref.token}/{name}"
