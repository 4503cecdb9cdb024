"""The least rights that a cluster's worker needs, as rules to ask about and as a document to apply."""

from dataclasses import dataclass
from typing import Any

from activities.adapters.kubernetes.client import Rule
from activities.adapters.kubernetes.kinds import Kind
from definitions.yaml_writer import dump

NAME = "perdure-cluster-worker"


@dataclass(frozen=True)
class Grant:
    """Verbs on one kind, or on a part of its objects."""

    kind: Kind
    verbs: tuple[str, ...]
    part: str = ""

    @property
    def resource(self) -> str:
        return f"{self.kind.plural}/{self.part}" if self.part else self.kind.plural


# In the namespace of the jobs. To open a session is `get` up to version 1.34, and `get` and `create` from 1.35 on.
NAMESPACED = (
    Grant(Kind.JOB, ("create", "delete", "get", "list", "patch", "watch")),
    Grant(Kind.POD, ("create", "delete", "get", "list", "patch", "watch")),
    Grant(Kind.POD, ("get",), "log"),
    Grant(Kind.POD, ("create", "get"), "exec"),
    Grant(Kind.POD, ("create", "get"), "portforward"),
    Grant(Kind.POD, ("create",), "eviction"),
    Grant(Kind.SERVICE, ("create", "delete", "get", "list", "patch")),
    Grant(Kind.SECRET, ("create", "delete", "get", "list", "patch")),
    Grant(Kind.PERSISTENT_VOLUME_CLAIM, ("create", "delete", "get", "list")),
    Grant(Kind.EVENT, ("list",)),
)
CLUSTER_WIDE = (
    Grant(Kind.NODE, ("list", "patch", "watch")),
    Grant(Kind.POD_ANYWHERE, ("list", "watch")),  # what others take of the nodes
    Grant(Kind.NAMESPACE, ("get",)),
    Grant(Kind.STORAGE_CLASS, ("list",)),
)


def rules() -> tuple[Rule, ...]:
    """Every single right, to be asked about."""
    return tuple(Rule(verb, grant.kind, grant.part) for grant in (*NAMESPACED, *CLUSTER_WIDE) for verb in grant.verbs)


def document(namespace: str) -> str:
    """Service account, roles and bindings, as YAML for `kubectl apply -f -`."""
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": namespace}
    objects = (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _meta(namespace)},
        _role("Role", NAMESPACED, _meta(namespace)),
        _binding("RoleBinding", "Role", account, _meta(namespace)),
        _role("ClusterRole", CLUSTER_WIDE, _meta(None)),
        _binding("ClusterRoleBinding", "ClusterRole", account, _meta(None)),
    )
    return "---\n".join(dump(each) for each in objects)


def _role(kind: str, grants: tuple[Grant, ...], metadata: dict[str, Any]) -> dict[str, Any]:
    given = [
        {"apiGroups": [grant.kind.group], "resources": [grant.resource], "verbs": list(grant.verbs)} for grant in grants
    ]
    return {"apiVersion": Kind.ROLE.api_version, "kind": kind, "metadata": metadata, "rules": given}


def _binding(kind: str, role: str, account: dict[str, str], metadata: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": Kind.ROLE.api_version,
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": Kind.ROLE.group, "kind": role, "name": NAME},
        "subjects": [account],
    }


def _meta(namespace: str | None) -> dict[str, Any]:
    return {"name": NAME} if namespace is None else {"name": NAME, "namespace": namespace}
