"""The cluster's API as its makers use it: JSON in, JSON out, with the administrator's token."""

import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from deploy.testcluster.errors import ClusterError
from deploy.testcluster.layout import Layout

FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5
WATCH_SECONDS = 60
MERGE = {"Content-Type": "application/merge-patch+json"}
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}


class Api:
    """Calls raise httpx.HTTPStatusError with the server's words. Safe to use from several threads."""

    def __init__(self, url: str, certificate: Path, token: str) -> None:
        context = ssl.create_default_context(cafile=str(certificate))
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, verify=context, headers=headers, timeout=30, trust_env=False)

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **query: str) -> dict[str, Any]:
        return self._answer(self._http.get(path, params=query))

    def find(self, path: str) -> dict[str, Any] | None:
        answer = self._http.get(path)
        return None if answer.status_code == httpx.codes.NOT_FOUND else self._answer(answer)

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get(path, **query)["items"]
        return found

    def text(self, path: str, **query: str) -> str:
        answer = self._http.get(path, params=query)
        self._check(answer)
        return answer.text

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._answer(self._http.post(path, json=body))

    def ensure(self, path: str, body: dict[str, Any]) -> None:
        """Create an object; one of that name that is there already stays as it is."""
        answer = self._http.post(path, json=body)
        if answer.status_code != httpx.codes.CONFLICT:
            self._check(answer)

    def patch(self, path: str, body: dict[str, Any], *, strategic: bool = False) -> dict[str, Any]:
        return self._answer(self._http.patch(path, json=body, headers=STRATEGIC if strategic else MERGE))

    def delete(self, path: str, **query: str) -> None:
        """Deleting what is not there is no error."""
        answer = self._http.delete(path, params=query)
        if answer.status_code != httpx.codes.NOT_FOUND:
            self._check(answer)

    def changes(self, path: str) -> Iterator[None]:
        """Yields at once, and again after every change of a list; also, harmlessly, when a watch has ended."""
        while True:
            try:
                version = self.get(path, limit="1")["metadata"]["resourceVersion"]
                query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(WATCH_SECONDS)}
                yield
                with self._http.stream("GET", path, params=query, timeout=WATCH_SECONDS + 10) as lines:
                    for _ in lines.iter_lines():
                        yield
            except httpx.HTTPError:
                time.sleep(1)

    def _answer(self, answer: httpx.Response) -> dict[str, Any]:
        self._check(answer)
        body: dict[str, Any] = answer.json()
        return body

    def _check(self, answer: httpx.Response) -> None:
        if answer.is_error:
            where = f"{answer.request.method} {answer.request.url.path}"
            raise httpx.HTTPStatusError(
                f"{where}: {answer.status_code} {answer.text}", request=answer.request, response=answer
            )


def connect(layout: Layout) -> Api:
    return Api(layout.url, layout.certificate, layout.tokens["admin"])


def until(holds: Callable[[], bool], seconds: float, what: str, alive: Callable[[], None]) -> None:
    """Ask again and again; `alive` raises when waiting has become pointless. Transport errors mean "not yet"."""
    ends = time.monotonic() + seconds
    last, pause = "", FIRST_PAUSE
    while True:
        try:
            if holds():
                return
        except (httpx.HTTPError, OSError) as error:
            last = f" (last error: {error})"
        alive()
        if time.monotonic() >= ends:
            raise ClusterError(f"not within {seconds:.0f} s: {what}{last}")
        time.sleep(pause)
        pause = min(pause * 1.3, LONGEST_PAUSE)
