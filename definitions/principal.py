"""Who asks, what they ask for, and of what."""

from enum import StrEnum

from definitions.wire import Wire


class Role(StrEnum):
    ADMIN = "admin"  # everything in the tenant
    MEMBER = "member"  # everything but secrets' management of others and tenant settings, in own projects
    VIEWER = "viewer"  # read only


class Action(StrEnum):
    """The verb that a route declares."""

    LIST = "list"
    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    OPERATE = "operate"  # cancel, suspend, resume, extend, reprioritise, resize, checkpoint now, trigger


class ResourceKind(StrEnum):
    JOB = "job"
    LOG = "log"
    EVENT = "event"
    CHECKPOINT = "checkpoint"
    ARTIFACT = "artifact"
    SNAPSHOT = "snapshot"
    TEMPLATE = "template"
    SECRET = "secret"
    SCHEDULE = "schedule"
    CLUSTER = "cluster"
    NODE = "node"
    QUEUE = "queue"
    FLAVOR = "flavor"
    PRIORITY_CLASS = "priority class"
    TOPOLOGY = "topology"
    NODE_POOL = "node pool"
    RESERVATION = "reservation"
    SYSTEM = "system"  # version, health, metrics, error pages


OF_THE_SCHEDULER = frozenset(
    {
        ResourceKind.QUEUE,
        ResourceKind.FLAVOR,
        ResourceKind.PRIORITY_CLASS,
        ResourceKind.TOPOLOGY,
        ResourceKind.NODE_POOL,
        ResourceKind.RESERVATION,
    }
)
OF_THE_INSTALLATION = OF_THE_SCHEDULER | {ResourceKind.CLUSTER, ResourceKind.NODE}  # jobs of every tenant run there


class Principal(Wire):
    """An authenticated caller. `projects` empty: every project of the tenant."""

    tenant: str
    name: str
    role: Role
    projects: tuple[str, ...] = ()


class Resource(Wire):
    """What is asked for. `owner` is None where a kind has no owner or the row is not loaded yet (lists, creates).

    `tenant` of what is the installation's: the one whose admins look after it.
    """

    kind: ResourceKind
    tenant: str
    project: str
    name: str | None = None
    owner: str | None = None
