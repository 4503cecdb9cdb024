"""The kinds of Kubernetes objects that the adapter speaks of, and where the API serves them."""

from dataclasses import dataclass
from enum import Enum
from urllib.parse import quote


@dataclass(frozen=True)
class Served:
    """Where the API serves a kind. `group` is empty for the core group."""

    name: str
    group: str
    version: str
    plural: str
    namespaced: bool = True


class Kind(Enum):
    CONFIG_MAP = Served("ConfigMap", "", "v1", "configmaps")
    EVENT = Served("Event", "", "v1", "events")
    JOB = Served("Job", "batch", "v1", "jobs")
    NAMESPACE = Served("Namespace", "", "v1", "namespaces", namespaced=False)
    NETWORK_POLICY = Served("NetworkPolicy", "networking.k8s.io", "v1", "networkpolicies")
    NODE = Served("Node", "", "v1", "nodes", namespaced=False)
    PERSISTENT_VOLUME = Served("PersistentVolume", "", "v1", "persistentvolumes", namespaced=False)
    PERSISTENT_VOLUME_CLAIM = Served("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims")
    POD = Served("Pod", "", "v1", "pods")
    POD_ANYWHERE = Served("Pod", "", "v1", "pods", namespaced=False)  # of all namespaces, to be listed and watched
    RESOURCE_QUOTA = Served("ResourceQuota", "", "v1", "resourcequotas")
    ROLE = Served("Role", "rbac.authorization.k8s.io", "v1", "roles")
    ROLE_BINDING = Served("RoleBinding", "rbac.authorization.k8s.io", "v1", "rolebindings")
    CLUSTER_ROLE = Served("ClusterRole", "rbac.authorization.k8s.io", "v1", "clusterroles", namespaced=False)
    CLUSTER_ROLE_BINDING = Served(
        "ClusterRoleBinding", "rbac.authorization.k8s.io", "v1", "clusterrolebindings", namespaced=False
    )
    ACCESS_REVIEW = Served(
        "SelfSubjectAccessReview", "authorization.k8s.io", "v1", "selfsubjectaccessreviews", namespaced=False
    )
    SECRET = Served("Secret", "", "v1", "secrets")
    SERVICE = Served("Service", "", "v1", "services")
    SERVICE_ACCOUNT = Served("ServiceAccount", "", "v1", "serviceaccounts")
    STORAGE_CLASS = Served("StorageClass", "storage.k8s.io", "v1", "storageclasses", namespaced=False)
    VERSION = Served("Version", "", "", "version", namespaced=False)  # no object: what the server says of itself

    @property
    def plural(self) -> str:
        return self.value.plural

    @property
    def group(self) -> str:
        return self.value.group

    @property
    def namespaced(self) -> bool:
        return self.value.namespaced

    @property
    def api_version(self) -> str:
        """As `apiVersion` of an object says it."""
        return f"{self.group}/{self.value.version}" if self.group else self.value.version

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object, or of a part of it. Cluster kinds ignore `namespace`."""
        if self is Kind.VERSION:
            return "/version"
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"
        place = f"/namespaces/{quote(namespace, safe='')}" if self.namespaced else ""
        parts = "".join(f"/{quote(part, safe='')}" for part in (name, subresource) if part)
        return f"{root}{place}/{self.plural}{parts}"
