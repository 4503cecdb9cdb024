"""`perdure doctor` on a deployment that is well, and one whose parts are taken away."""

import json
from typing import Any

import pytest

from tests.support.production import ProductionStack

pytestmark = [pytest.mark.production, pytest.mark.timeout(600)]  # what is not built yet is built first


def diagnosis(stack: ProductionStack, status: int) -> dict[str, dict[str, Any]]:
    done = stack.run("doctor", "--json", check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return {each["check"]: each for each in json.loads(done.stdout)["findings"]}


def test_a_deployment_that_works_is_well(stack: ProductionStack) -> None:
    found = diagnosis(stack, 0)
    assert {each["status"] for each in found.values()} == {"ok"}
    assert list(found) == [
        "database",
        "object store",
        "engine",
        "namespace",
        "search attributes",
        "payloads",
        "queue control, workflows",
        "queue control, activities",
        "queue cluster-local, activities",
    ]
    assert found["database"]["detail"].startswith("postgresql")
    assert found["object store"]["detail"].startswith("s3://")
