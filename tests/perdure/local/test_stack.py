"""What the parts of the embedded control plane are started with."""

from perdure.local.stack import child_environment


def test_the_embedded_scheduler_is_compiled_for_many_nodes_unless_the_user_says_otherwise() -> None:
    assert child_environment({"HOME": "/home/me"}) == {"HOME": "/home/me", "PERDURE_COMPILE_FROM": "50"}
    assert child_environment({"PERDURE_COMPILE_FROM": "0"}) == {"PERDURE_COMPILE_FROM": "0"}


def test_what_is_meant_for_the_users_own_commands_stays_out() -> None:
    theirs = {"PERDURE_API_KEY": "secret", "PYTHONPATH": "elsewhere", "TEMPORAL_ADDRESS": "other:7233"}
    assert child_environment(theirs) == {"PERDURE_COMPILE_FROM": "50"}
