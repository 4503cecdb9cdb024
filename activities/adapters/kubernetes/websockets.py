"""Opening a session with a container: a websocket to the API server, by the rules of other calls."""

import ssl
import time
from typing import Any

import certifi
import websocket
from kubernetes.stream.ws_client import websocket_proxycare

from activities.adapters.kubernetes.calling import OnCall
from activities.adapters.kubernetes.channels import Channels
from activities.adapters.kubernetes.connection import Query, Transport
from activities.adapters.kubernetes.errors import Answer, KubeError, Target, refusal
from activities.adapters.kubernetes.retrying import LEAST, Patience, Step, after

WITH_CLOSE = "v5.channel.k8s.io"  # the first protocol in which the end of one channel can be told
WITHOUT_CLOSE = "v4.channel.k8s.io"


def connect(
    transport: Transport,
    target: Target,
    query: Query,
    protocols: list[str],
    on_call: OnCall,
    patience: Patience,
) -> Channels:
    """Open a session. Tries that cannot have begun one are repeated like other calls. Raises KubeError."""
    renewed = False
    while True:
        generation, began = transport.generation, time.monotonic()
        outcome = _try(transport, target, query, protocols, patience)
        status = outcome.status if isinstance(outcome, Answer) else 101 if isinstance(outcome, Channels) else 0
        on_call(target.verb, target.resource, status, time.monotonic() - began)
        if isinstance(outcome, Channels):
            return outcome
        if isinstance(outcome, Answer):
            step = after(outcome, conflicts_pass=False)
            if step is Step.RENEW and not renewed:
                renewed = True
                transport.renew(generation)
                continue
            # The kubelet answers 500 when the container does not run: that is no failure of the server.
            if step in (Step.DONE, Step.RENEW) or outcome.status == 500:
                raise refusal(outcome, target)
        if not patience.wait(outcome.retry_after if isinstance(outcome, Answer) else None):
            if isinstance(outcome, Answer):
                raise refusal(outcome, target)
            raise KubeError("PD-3100", f"cannot {target}: no answer: {outcome}")


def _try(
    transport: Transport, target: Target, query: Query, protocols: list[str], patience: Patience
) -> Channels | Answer | str:
    url = "ws" + transport.url(target.path, query).removeprefix("http")
    configuration = transport.configuration
    link = websocket.WebSocket(sslopt=_tls(configuration), enable_multithread=True, skip_utf8_validation=True)
    options: dict[str, Any] = {
        "header": [f"{name}: {value}" for name, value in transport.authorization().items()],
        "subprotocols": protocols,
        "timeout": max(min(transport.settings.read.total_seconds(), patience.left()), LEAST),
        "suppress_origin": True,
    }
    if configuration.proxy:
        websocket_proxycare(options, configuration, url, {})
    try:
        link.connect(url, **options)
    except websocket.WebSocketBadStatusException as error:
        link.shutdown()
        return Answer(error.status_code, error.resp_body or b"")
    except (websocket.WebSocketException, OSError) as error:
        link.shutdown()
        return str(error) or type(error).__name__
    return Channels(link.sock, target, can_close_one=link.subprotocol == WITH_CLOSE)


def _tls(configuration: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"cert_reqs": ssl.CERT_REQUIRED if configuration.verify_ssl else ssl.CERT_NONE}
    if configuration.verify_ssl:
        options["ca_certs"] = configuration.ssl_ca_cert or certifi.where()
    else:
        options["check_hostname"] = False
    named = {
        "certfile": configuration.cert_file,
        "keyfile": configuration.key_file,
        "server_hostname": configuration.tls_server_name,
    }
    return options | {name: value for name, value in named.items() if value}
