"""A pod that is the whole gang: what becomes of its ranks, and what its container says of them."""

from tests.activities.kubernetes.agent.conftest import MakeGang
from tests.activities.kubernetes.agent.world import launch_of, python


def test_a_command_that_succeeds_ends_the_container_with_0(gang: MakeGang) -> None:
    made = gang(launch_of(python("print('hello')"))).start()
    assert made.wait() == [0]
    receipt = made.pods[0].receipts().ranks[0]
    assert (receipt.exit_code, receipt.node, receipt.state) == (0, "node-0", "exited")
    assert made.pods[0].texts(0) == ["hello"]
