"""Who may do what, for every principal, action and thing."""

from hypothesis import given
from hypothesis import strategies as st

from definitions.principal import OF_THE_INSTALLATION, Action, Principal, Resource, ResourceKind, Role
from policies.access import LOOKING, may

names = st.sampled_from(["ada", "bob"])
tenants = st.sampled_from(["acme", "rival"])
projects = st.sampled_from(["vision", "speech"])
principals = st.builds(
    Principal,
    tenant=tenants,
    name=names,
    role=st.sampled_from(Role),
    projects=st.lists(projects, max_size=2).map(tuple),
)
tenanted = st.builds(
    Resource,
    kind=st.sampled_from(sorted(set(ResourceKind) - OF_THE_INSTALLATION)),
    tenant=tenants,
    project=projects,
    owner=st.none() | names,
)
shared = st.builds(Resource, kind=st.sampled_from(sorted(OF_THE_INSTALLATION)), tenant=tenants, project=projects)
resources = tenanted | shared
actions = st.sampled_from(Action)


@given(principals, actions, tenanted)
def test_nothing_of_another_tenant_is_ever_allowed(who: Principal, action: Action, thing: Resource) -> None:
    if who.tenant != thing.tenant:
        assert not may(who, action, thing).allowed


@given(principals, actions, tenanted)
def test_nothing_outside_ones_projects_is_ever_allowed(who: Principal, action: Action, thing: Resource) -> None:
    if who.projects and thing.project not in who.projects:
        assert not may(who, action, thing).allowed


@given(principals, actions, resources)
def test_a_wider_role_may_do_all_that_a_narrower_one_may(who: Principal, action: Action, thing: Resource) -> None:
    verdicts = [may(who.model_copy(update={"role": role}), action, thing).allowed for role in Role]
    admin, member, viewer = verdicts
    assert admin or not member
    assert member or not viewer


@given(principals, actions, resources)
def test_a_viewer_only_looks(who: Principal, action: Action, thing: Resource) -> None:
    verdict = may(who.model_copy(update={"role": Role.VIEWER}), action, thing)
    assert not verdict.allowed or action in LOOKING


@given(actions, resources)
def test_an_admin_may_do_everything_at_home(action: Action, thing: Resource) -> None:
    assert may(Principal(tenant=thing.tenant, name="ada", role=Role.ADMIN), action, thing).allowed


@given(actions.filter(lambda action: action not in LOOKING), resources)
def test_a_member_changes_only_own_secrets_and_no_settings(action: Action, thing: Resource) -> None:
    member = Principal(tenant=thing.tenant, name="ada", role=Role.MEMBER)
    allowed = may(member, action, thing).allowed
    if thing.kind in {ResourceKind.SYSTEM, *OF_THE_INSTALLATION}:
        assert not allowed
    elif thing.kind is ResourceKind.SECRET and action is not Action.CREATE:
        assert allowed == (thing.owner == "ada")
    else:
        assert allowed


@given(principals, actions, shared)
def test_the_installation_is_seen_by_all_and_changed_by_its_own_admins(
    who: Principal, action: Action, thing: Resource
) -> None:
    looks_after = who.role is Role.ADMIN and who.tenant == thing.tenant and not who.projects
    assert may(who, action, thing).allowed == (action in LOOKING or looks_after)


@given(principals, actions, resources)
def test_every_verdict_has_a_reason(who: Principal, action: Action, thing: Resource) -> None:
    assert may(who, action, thing).reason
