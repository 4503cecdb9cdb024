"""The shared test parts do what their names promise, on real servers and processes."""

import subprocess
import sys

import pytest
from sqlalchemy import create_engine, text
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.client import Client

from tests.support.polling import eventually, eventually_async
from tests.support.ports import free_port, is_listening
from tests.support.processes import end_tree, process_tree, seen, wait_until_gone, with_environment
from tests.support.temporal import SEARCH_ATTRIBUTES

SLEEPER = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"


def test_eventually_returns_the_first_truthy_value() -> None:
    answers = iter([None, 0, "third"])
    assert eventually(lambda: next(answers)) == "third"


def test_eventually_says_what_did_not_happen() -> None:
    with pytest.raises(AssertionError, match=r"not within 0.05 s: the door opens \(last answer: False\)"):
        eventually(lambda: False, 0.05, "the door opens")


async def test_eventually_async_awaits_its_predicate() -> None:
    answers = iter([False, True])

    async def ask() -> bool:
        return next(answers)

    assert await eventually_async(ask) is True


def test_a_free_port_has_no_listener() -> None:
    assert not is_listening(free_port())


def test_a_tree_is_seen_with_its_children_and_ended_whole() -> None:
    parent = subprocess.Popen([sys.executable, "-c", SLEEPER], env={"PERDURE_TEST_TOKEN": "tree"})
    try:
        tree = eventually(lambda: found if len(found := process_tree(parent.pid)) == 2 else None, 20)
        assert {process.pid for process in with_environment("PERDURE_TEST_TOKEN", "tree")} == {p.pid for p in tree}
        end_tree(parent.pid)
        wait_until_gone(tree)
    finally:
        end_tree(parent.pid)
        parent.wait()
    assert process_tree(parent.pid) == []


def test_a_zombie_does_not_count_as_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = seen(child.pid)
    assert process.alive()
    child.kill()
    eventually(lambda: not process.alive())
    child.wait()


async def test_the_engine_serves_with_our_search_attributes(temporal_client: Client) -> None:
    known = await temporal_client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=temporal_client.namespace)
    )
    assert set(SEARCH_ATTRIBUTES) <= set(known.custom_attributes)


@pytest.mark.parametrize("round_number", [1, 2])
def test_each_test_gets_an_empty_database(database_url: str, round_number: int) -> None:
    engine = create_engine(database_url)
    try:
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE seen (number INTEGER PRIMARY KEY)"))
            connection.execute(text("INSERT INTO seen VALUES (:number)"), {"number": round_number})
            assert connection.execute(text("SELECT number FROM seen")).scalars().all() == [round_number]
    finally:
        engine.dispose()
