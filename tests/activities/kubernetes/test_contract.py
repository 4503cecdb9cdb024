"""The Kubernetes runtime keeps to the contract of every Runtime, on real pods."""

import pytest

from tests.activities.runtime_contract import RuntimeContract


@pytest.mark.pods
@pytest.mark.timeout(900)
class TestKubernetesRuntime(RuntimeContract):
    """The `world` fixture is in conftest.py."""
