"""Who may do what: one pure function, asked for every request. The reason it gives is what people read."""

from definitions.principal import OF_THE_INSTALLATION, Action, Principal, Resource, ResourceKind, Role
from definitions.wire import Wire

LOOKING = frozenset({Action.LIST, Action.READ})
OWNED = frozenset({ResourceKind.SECRET})  # kinds whose things a member may change only when they are the member's own


class Verdict(Wire):
    """The answer, with its reason."""

    allowed: bool
    reason: str


def may(principal: Principal, action: Action, resource: Resource) -> Verdict:
    """Whether a caller may do this. What no rule allows is refused.

    A resource without an owner is either not loaded yet (lists, creates) or of a kind that has none.
    """
    if resource.kind in OF_THE_INSTALLATION:
        return _of_the_installation(principal, action, resource)
    if resource.tenant != principal.tenant:
        return _no("it belongs to another tenant")
    if principal.projects and resource.project not in principal.projects:
        return _no(f"{principal.name} works in {', '.join(principal.projects)}, not in {resource.project}")
    if action in LOOKING:
        return _yes(f"{principal.role} may look at everything in its projects")
    match principal.role:
        case Role.ADMIN:
            return _yes("admin may do everything in its projects")
        case Role.MEMBER:
            return _member(principal, action, resource)
        case Role.VIEWER:
            return _no(f"viewer may only look, and this would {action} a {resource.kind}")


def _of_the_installation(principal: Principal, action: Action, resource: Resource) -> Verdict:
    if action in LOOKING:
        return _yes(f"everybody may look at every {resource.kind}")
    if principal.role is Role.ADMIN and principal.tenant == resource.tenant and not principal.projects:
        return _yes(f"admin of {resource.tenant} looks after the installation")
    return _no(f"the installation is looked after by admins of tenant {resource.tenant} who work in all its projects")


def _member(principal: Principal, action: Action, resource: Resource) -> Verdict:
    if resource.kind is ResourceKind.SYSTEM:
        return _no("settings of the tenant are for admins")
    if resource.kind in OWNED and action is not Action.CREATE and resource.owner != principal.name:
        return _no(f"member may {action} only own {resource.kind}s")
    return _yes("member may work with everything in its projects")


def _yes(reason: str) -> Verdict:
    return Verdict(allowed=True, reason=reason)


def _no(reason: str) -> Verdict:
    return Verdict(allowed=False, reason=reason)
