"""Watches of our own on a test cluster's API server, with the moment at which each event came."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from deploy.testcluster import layout

WATCH_SECONDS = 3600


class Change(NamedTuple):
    at: float  # seconds since the epoch, taken before the event was read
    type: str
    object: dict[str, Any]


def opened(folder: Path) -> httpx.Client:
    """A connection to the cluster whose state is in this folder, as its administrator."""
    found = layout.load(folder)
    return httpx.Client(
        base_url=found.url,
        verify=str(found.certificate),
        headers={"Authorization": f"Bearer {found.tokens['admin']}"},
        timeout=httpx.Timeout(30, read=WATCH_SECONDS + 60),
        trust_env=False,
    )


def events(http: httpx.Client, path: str) -> Iterator[Change]:
    """Every change of a list from now on; the first item, of type START, says that none is missed any more.

    Raises RuntimeError when the server cannot go on from where the last watch ended: something was missed.
    """
    version = http.get(path, params={"limit": 1}).raise_for_status().json()["metadata"]["resourceVersion"]
    yield Change(time.time(), "START", {})
    while True:
        query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(WATCH_SECONDS)}
        with http.stream("GET", path, params=query) as answer:
            answer.raise_for_status()
            for line in answer.iter_lines():
                at = time.time()
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise RuntimeError(f"the watch of {path} broke: {event['object'].get('message')}")
                version = event["object"]["metadata"]["resourceVersion"]
                yield Change(at, event["type"], event["object"])
