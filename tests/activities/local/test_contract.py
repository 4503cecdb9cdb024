"""The local runtime keeps to the contract of every Runtime."""

from tests.activities.runtime_contract import RuntimeContract


class TestLocalRuntime(RuntimeContract):
    """The `world` fixture is in conftest.py."""
