"""What the cluster warns of: the only place where it says why a pod is not made, or a volume not mounted."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.kinds import Kind

KEPT = timedelta(seconds=10)  # one list serves everything that waits meanwhile


class Warnings:
    """The newest warning about each object of the namespace, not older than a few seconds."""

    def __init__(self, client: KubeClient, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._lock = threading.Lock()
        self._at: datetime | None = None
        self._found: dict[str, str] = {}

    def about(self, uid: str) -> str:
        """`<reason>: <message>`; empty when there is none."""
        with self._lock:
            if self._at is None or self._now() - self._at > KEPT:
                self._found = self._list()
                self._at = self._now()
            return self._found.get(uid, "")

    def _list(self) -> dict[str, str]:
        found: dict[str, tuple[str, str]] = {}
        for event in self._client.list(Kind.EVENT, fields="type=Warning"):
            uid = (event.get("involvedObject") or {}).get("uid", "")
            at = event.get("lastTimestamp") or event.get("eventTime") or ""
            if at >= found.get(uid, ("", ""))[0]:
                found[uid] = (at, f"{event.get('reason', '')}: {event.get('message', '')}")
        return {uid: words for uid, (_, words) in found.items()}
