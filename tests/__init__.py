"""Tests, mirroring the folders they speak about."""

import pytest

# What tests share (contracts, worlds) says what it saw when it fails, as they do themselves.
pytest.register_assert_rewrite(*(f"tests.{part}" for part in ("activities", "api", "perdure", "store", "support")))
