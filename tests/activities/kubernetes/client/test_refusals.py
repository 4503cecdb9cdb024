"""A refusal says what, where and why under one code, and a Secret's content is in none of them."""

from typing import Any

import pytest

from activities.adapters.kubernetes.client import KubeClient
from activities.adapters.kubernetes.errors import KubeError
from activities.adapters.kubernetes.kinds import Kind
from tests.activities.kubernetes.client.conftest import World
from tests.activities.kubernetes.client.objects import config_map, refusal
from tests.support.chaos_proxy import Act, Fault

NO_RIGHT = (
    'jobs.batch is forbidden: User "weak" cannot create resource "jobs" in API group "batch" in the namespace "here"'
)
POD_SECURITY = 'pods "a" is forbidden: violates PodSecurity "restricted": runAsNonRoot != true'
QUOTA = 'pods "a" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3'
ENDING = 'jobs.batch "a" is forbidden: unable to create new content in namespace here because it is being terminated'
REFUSALS: dict[str, tuple[int, dict[str, Any] | None, str, bool, str]] = {
    "credentials": (401, refusal(401, "Unauthorized", "Unauthorized"), "PD-3102", False, "credentials"),
    "rights": (403, refusal(403, "Forbidden", NO_RIGHT), "PD-3103", True,
               r'not allowed to create jobs; a role with this rule would: {"apiGroups": \["batch"\], '
               r'"resources": \["jobs"\], "verbs": \["create"\]}'),
    "policy": (403, refusal(403, "Forbidden", POD_SECURITY), "PD-3104", True, "violates PodSecurity"),
    "quota": (403, refusal(403, "Forbidden", QUOTA), "PD-3119", False, "exceeded quota"),
    "namespace that ends": (
        403, refusal(403, "Forbidden", ENDING, causes=[{"reason": "NamespaceTerminating"}]), "PD-3106", True,
        "namespace here is being deleted"),
    "no namespace": (404, refusal(404, "NotFound", 'namespaces "here" not found', name="here", kind="namespaces"),
                     "PD-3106", True, "there is no namespace here"),
    "unknown kind": (404, refusal(404, "NotFound", "the server could not find the requested resource"),
                     "PD-3107", True, "does not serve batch/v1 jobs"),
    "a proxy's 404": (404, None, "PD-3107", True, "does not serve batch/v1 jobs"),
    "not valid": (422, refusal(422, "Invalid", "spec.template: Required value"), "PD-3108", True, "Required value"),
    "malformed": (400, refusal(400, "BadRequest", "json: cannot unmarshal"), "PD-3108", True, "cannot unmarshal"),
    "too large": (413, refusal(413, "RequestEntityTooLarge", "limit is 3145728"), "PD-3118", True, "larger than"),
    "no JSON": (200, None, "PD-3112", False, "not a JSON object"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_has_its_code_and_names_the_call(name: str, client: KubeClient, world: World) -> None:
    status, body, code, permanent, words = REFUSALS[name]
    world.proxy.plan = lambda _: Fault(Act.ANSWER, status=status, body=body)
    with pytest.raises(KubeError, match=words) as caught:
        client.create(Kind.JOB, config_map("a"))
    assert (caught.value.code, caught.value.permanent, caught.value.status) == (code, permanent, status)
    assert str(caught.value).startswith("cannot create jobs in namespace here: ")


def test_only_the_api_servers_own_word_makes_an_object_missing(client: KubeClient, world: World) -> None:
    assert client.get(Kind.POD, "a") is None
    assert client.patch(Kind.POD, "a", {"metadata": {"labels": {"x": "y"}}}) is None
    assert client.delete(Kind.POD, "a") is False
    for body in (None, refusal(404, "NotFound", "page"), refusal(404, "NotFound", "other", name="b", kind="pods")):
        world.script.add("get", Fault(Act.ANSWER, status=404, body=body))
        with pytest.raises(KubeError) as caught:
            client.get(Kind.POD, "a")
        assert caught.value.code == "PD-3107"


def test_the_credentials_are_read_anew_once_when_they_are_refused(world: World) -> None:
    tokens = []

    def expired(request: Any) -> Fault | None:
        tokens.append(request.authorization)
        return Fault(Act.ANSWER, status=401) if request.authorization == "Bearer old" else None

    world.proxy.kubeconfig(world.folder / "kubeconfig", token="old")
    settings = world.connection()
    world.proxy.kubeconfig(world.folder / "kubeconfig", token="old")
    client = KubeClient(settings)
    world.proxy.kubeconfig(world.folder / "kubeconfig", token="new")
    world.proxy.plan = expired
    assert client.get(Kind.POD, "a") is None
    assert client.get(Kind.POD, "a") is None
    assert tokens == ["Bearer old", "Bearer new", "Bearer new"]
    client.close()


def test_what_a_secret_holds_is_in_no_error(client: KubeClient, world: World) -> None:
    value = "c2VjcmV0LXZhbHVl"
    causes = [{"reason": "FieldValueInvalid", "field": "data[token]", "message": f'Invalid value: "{value}"'}]
    body = refusal(422, "Invalid", f'Secret "a" is invalid: data[token]: Invalid value: "{value}"', causes=causes)
    for status in (422, 403, 400):
        world.script.add("create", Fault(Act.ANSWER, status=status, body=body))
        with pytest.raises(KubeError) as caught:
            client.create(Kind.SECRET, {"metadata": {"name": "a"}, "data": {"token": value}})
        assert value not in str(caught.value)
        assert "test" not in str(caught.value)  # the token that the kubeconfig holds
    assert value not in repr(caught.value)


def test_a_budget_that_forbids_an_eviction_is_told_at_once(client: KubeClient, world: World) -> None:
    client.create(Kind.POD, config_map("a"))
    body = refusal(429, "TooManyRequests", "Cannot evict pod", causes=[{"reason": "DisruptionBudget"}])
    world.script.add("create", Fault(Act.ANSWER, status=429, body=body))
    with pytest.raises(KubeError) as caught:
        client.evict("a")
    assert (caught.value.code, caught.value.permanent, world.pauses) == ("PD-3117", False, [])


def test_an_object_of_another_uid_is_left_alone(client: KubeClient, world: World) -> None:
    client.create(Kind.POD, config_map("a", of="stranger"))
    assert client.delete(Kind.POD, "a", uid="ours") is False
    assert client.patch(Kind.POD, "a", {"data": {"of": "us"}}, uid="ours") is None
    left = client.get(Kind.POD, "a")
    assert left is not None
    assert left["data"] == {"of": "stranger"}


def test_a_field_of_another_manager_is_named_and_not_fought_over(client: KubeClient, world: World) -> None:
    causes = [{"reason": "FieldManagerConflict", "message": 'conflict with "kubectl"', "field": ".data.x"}]
    body = refusal(409, "Conflict", 'Apply failed with 1 conflict: conflict with "kubectl": .data.x', causes=causes)
    world.script.add("patch", Fault(Act.ANSWER, status=409, body=body))
    with pytest.raises(KubeError, match="kubectl") as caught:
        client.apply(Kind.CONFIG_MAP, config_map("a", x="1"), force=False)
    assert (caught.value.code, caught.value.permanent, world.pauses) == ("PD-3110", True, [])
