"""An authenticated connection to one API server: what the SDK knows of kubeconfigs and tokens, and raw HTTP over it."""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes.client import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from yaml import YAMLError

from activities.adapters.kubernetes.errors import KubeError

Query = tuple[tuple[str, str], ...]
POOL = 64  # connections that are kept; more are opened at need and closed after use


@dataclass(frozen=True)
class Connection:
    """Which API server, as whom, in which namespace, and how long a call may take.

    Without `kubeconfig` the service account of the pod that this process runs in is used. `within` bounds a call with
    all its repetitions; it stays below the 30 seconds that an activity of one call has.
    """

    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str = "default"
    connect: timedelta = timedelta(seconds=5)
    read: timedelta = timedelta(seconds=10)
    within: timedelta = timedelta(seconds=25)


@dataclass
class Transport:
    """One authenticated pool, shared by threads. `renew` reads the credentials anew."""

    settings: Connection
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _generation: int = 0
    _plugged: bool = False

    def __post_init__(self) -> None:
        self._load()

    @property
    def generation(self) -> int:
        """Which reading of the credentials is in use; see `renew`."""
        return self._generation

    @property
    def configuration(self) -> Any:
        """The SDK's configuration: host, CA, client certificate, proxy."""
        return self._configuration

    def url(self, path: str, query: Query = ()) -> str:
        return f"{self._configuration.host.rstrip('/')}{path}{'?' + urlencode(query) if query else ''}"

    def open(
        self,
        method: str,
        path: str,
        query: Query = (),
        *,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        connect: float,
        read: float,
    ) -> urllib3.BaseHTTPResponse:
        """Send one request, once; its body is not read yet. `read` bounds each wait. Raises urllib3's errors."""
        answer: urllib3.BaseHTTPResponse = self._pool.request(
            method,
            self.url(path, query),
            body=body,
            headers={"User-Agent": "perdure", **self.authorization(), **(headers or {})},
            timeout=urllib3.Timeout(connect=connect, read=read),
            retries=False,
            redirect=False,
            preload_content=False,
        )
        return answer

    def authorization(self) -> dict[str, str]:
        """The header that says who asks; a plugin's token that has expired is fetched anew first."""
        with self._exclusive():
            value = self._bounded(lambda: self._configuration.get_api_key_with_prefix("BearerToken"))
        return {"Authorization": value} if value else {}

    def renew(self, generation: int) -> None:
        """Read the credentials again, unless another thread did since the caller looked at `generation`."""
        with self._exclusive():
            if self._generation == generation:
                self._load()
                self._generation += 1

    def close(self) -> None:
        self._pool.clear()

    def _load(self) -> None:
        configuration = Configuration()
        configuration.keep_alive = True  # a peer that vanished is noticed on a silent watch as well
        configuration.connection_pool_maxsize = POOL
        try:
            if self.settings.kubeconfig is None:
                load_incluster_config(client_configuration=configuration)
            else:
                file, context = str(self.settings.kubeconfig), self.settings.context
                self._plugged = "exec" in self.settings.kubeconfig.read_text()
                self._bounded(lambda: load_kube_config(file, context, configuration))
        except (ConfigException, OSError, ValueError, LookupError, TypeError, AttributeError, YAMLError) as error:
            # The SDK names a faulty entry by its whole content, credentials included.
            words = " ".join(str(error).partition("{")[0].split())
            raise KubeError("PD-3101", f"{self._source()}: {type(error).__name__}: {words}") from None
        if configuration.host.startswith("https") and not (configuration.api_key or configuration.cert_file):
            raise KubeError("PD-3101", f"{self._source()}: no credentials, or its plugin gave none")
        self._configuration = configuration
        self._pool: Any = RESTClientObject(configuration).pool_manager

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        if not self._lock.acquire(timeout=self.settings.within.total_seconds()):
            raise self._hangs()
        try:
            yield
        finally:
            self._lock.release()

    def _bounded(self, work: Callable[[], Any]) -> Any:
        """A kubeconfig may name a program that gives credentials; the SDK would wait for it without limit."""
        if not self._plugged:
            return work()
        outcome: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

        def run() -> None:
            try:
                outcome.put((work(), None))
            except Exception as error:
                outcome.put((None, error))

        threading.Thread(target=run, name="kube-credentials", daemon=True).start()
        try:
            value, error = outcome.get(timeout=self.settings.within.total_seconds())
        except queue.Empty:
            raise self._hangs() from None
        if error is not None:
            raise error
        return value

    def _hangs(self) -> KubeError:
        return KubeError("PD-3101", f"{self._source()}: its plugin does not answer")

    def _source(self) -> str:
        return f"kubeconfig {self.settings.kubeconfig}" if self.settings.kubeconfig else "service account of this pod"
