"""What the parts of the embedded control plane are started with."""

from perdure.local.stack import child_environment


def test_the_embedded_scheduler_runs_uncompiled_unless_the_user_says_otherwise() -> None:
    assert child_environment({"HOME": "/home/me"}) == {"HOME": "/home/me", "NUMBA_DISABLE_JIT": "1"}
    assert child_environment({"NUMBA_DISABLE_JIT": "0"}) == {"NUMBA_DISABLE_JIT": "0"}


def test_what_is_meant_for_the_users_own_commands_stays_out() -> None:
    theirs = {"PERDURE_API_KEY": "secret", "PYTHONPATH": "elsewhere", "TEMPORAL_ADDRESS": "other:7233"}
    assert child_environment(theirs) == {"NUMBA_DISABLE_JIT": "1"}
