"""The one place where a test may step aside: on a machine that lacks something, and never in CI, where it turns red."""

from typing import NoReturn

import pytest


def step_aside(lacks: str) -> NoReturn:
    """Skip the test. `lacks` names what is missing on this machine and how to get it."""
    pytest.skip(lacks)
