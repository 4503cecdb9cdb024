"""What an API server's refusal means to us: one code each, with verb and resource, and never with a secret."""

import json
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from activities.adapters.kubernetes.kinds import Kind
from activities.ports import PortError

PERMANENT = frozenset({"PD-3103", "PD-3104", "PD-3106", "PD-3107", "PD-3108", "PD-3110", "PD-3115", "PD-3118"})
SESSIONS = frozenset({"exec", "portforward"})  # subresources that open a websocket
LONGEST = 600  # characters of the server's own words


class KubeError(PortError):
    """A refusal or failure of a Kubernetes API. `status`: the HTTP status, 0 when there was no answer."""

    def __init__(self, code: str, message: str, *, status: int = 0) -> None:
        super().__init__(message, permanent=code in PERMANENT, code=code)
        self.status = status


class Gone(KubeError):
    """The server no longer keeps changes since the version that was asked for: list anew."""

    def __init__(self, message: str) -> None:
        super().__init__("PD-3111", message, status=410)


@dataclass(frozen=True)
class Target:
    """What a call is about, for messages, rules and metrics. `verb` is that of the cluster's access rules."""

    verb: str
    kind: Kind
    namespace: str
    name: str = ""
    subresource: str = ""

    @property
    def resource(self) -> str:
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural

    @property
    def path(self) -> str:
        return self.kind.path(self.namespace, self.name, self.subresource)

    def __str__(self) -> str:
        place = f" in namespace {self.namespace}" if self.kind.namespaced else ""
        return f"{self.verb} {self.resource}{' ' + self.name if self.name else ''}{place}"

    def rule(self) -> str:
        """The rule of a role that would allow the call, in one line. Sessions need `create` from Kubernetes 1.35 on."""
        verbs = ["create", "get"] if self.subresource in SESSIONS else [self.verb]
        return json.dumps({"apiGroups": [self.kind.group], "resources": [self.resource], "verbs": verbs})


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, read to its end."""

    status: int
    body: bytes = field(repr=False)
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> dict[str, Any]:
        """The object in the body; empty when there is none, so that a proxy's HTML is no `Status`."""
        try:
            value = from_json(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def reason(self) -> str:
        return str(self.json().get("reason", ""))

    def causes(self) -> list[dict[str, str]]:
        return list((self.json().get("details") or {}).get("causes") or [])

    def has_cause(self, reason: str) -> bool:
        return any(cause.get("reason") == reason for cause in self.causes())

    def says_missing(self, target: Target) -> bool:
        """Whether this is the API server's word that the object itself is not there.

        A 404 of a proxy, of a kind that is not served, or of a missing namespace is not: nothing may be concluded
        from it about the object.
        """
        details = self.json().get("details") or {}
        return self.status == 404 and details.get("name") == target.name and details.get("kind") == target.kind.plural


def refusal(answer: Answer, target: Target) -> KubeError:
    """The error that an answer other than success stands for."""
    code, text = _meaning(answer, target)
    return KubeError(code, f"cannot {target}: {text}", status=answer.status)


def _meaning(answer: Answer, target: Target) -> tuple[str, str]:
    words = _words(answer, target)
    match answer.status:
        case 401:
            return "PD-3102", "the API server does not accept our credentials, nor those read anew"
        case 403:
            return _forbidden(answer, target, words)
        case 404:
            return _not_found(answer, target, words)
        case 400 if target.subresource in SESSIONS or target.subresource == "log":
            return "PD-3113", words  # the container waits, or is none of this pod's
        case 400 | 405 | 406 | 415 | 422:
            return "PD-3108", words
        case 409 if answer.has_cause("FieldManagerConflict"):
            return "PD-3110", words
        case 409:
            return "PD-3109", words
        case 410:
            return "PD-3111", words
        case 429 if answer.has_cause("DisruptionBudget"):
            return "PD-3117", words
        case 413:
            return "PD-3118", "the object is larger than the API server takes"
        case 200 | 201 | 202:
            return "PD-3112", "the answer is not a JSON object"
        case _:
            return "PD-3105", f"HTTP {answer.status}: {words}"


def _forbidden(answer: Answer, target: Target, words: str) -> tuple[str, str]:
    """403 is said by the access rules, by a namespace that is ending, by a quota, or by another admission check."""
    message = str(answer.json().get("message", ""))
    if f"cannot {target.verb} resource" in message or not message:
        return (
            "PD-3103",
            f"not allowed to {target.verb} {target.resource}; a role with this rule would: {target.rule()}",
        )
    if answer.has_cause("NamespaceTerminating"):
        return "PD-3106", f"namespace {target.namespace} is being deleted"
    if "exceeded quota" in message:
        return "PD-3119", words
    return "PD-3104", words


def _not_found(answer: Answer, target: Target, words: str) -> tuple[str, str]:
    details = answer.json().get("details") or {}
    if details.get("kind") == "namespaces" and target.kind is not Kind.NAMESPACE:
        return "PD-3106", f"there is no namespace {target.namespace} in this cluster"
    if answer.says_missing(target):
        return "PD-3115", words
    return "PD-3107", f"this address does not serve {target.kind.api_version} {target.kind.plural}"


def _words(answer: Answer, target: Target) -> str:
    """The server's message. Of Secrets only reason and field names: a message may quote the value that it rejects."""
    if target.kind is Kind.SECRET:
        fields = ", ".join(str(cause.get("field", "")) for cause in answer.causes())
        return f"{answer.reason() or answer.status}{' (' + fields + ')' if fields else ''}"
    message = str(answer.json().get("message", "")) or f"HTTP {answer.status}"
    return message if len(message) <= LONGEST else message[: LONGEST - 1] + "…"
