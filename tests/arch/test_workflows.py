"""Workflow code decides nothing by chance, and leaves no activity to the engine's unlimited defaults."""

import ast
import inspect
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.workflow import ActivityConfig

from tests.arch.source import ROOT, python_files, tree
from workflows import options

WORKFLOWS = python_files("workflows")
REPLAYABLE = (*WORKFLOWS, *python_files("policies"))
CALLS = ("execute_activity", "start_activity", "execute_local_activity", "start_local_activity")
# What differs between two runs of the same code, or suspends a workflow instead of failing it. Dotted ends of names.
BANNED = (
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns", "time.monotonic",
    "time.sleep", "uuid.uuid4", "uuid4", "os.environ", "os.getenv", "os.urandom", "token_hex", "open", "asyncio.wait",
    "asyncio.as_completed", "asyncio.TaskGroup", "asyncio.gather", "random.random", "random.choice", "random.randrange",
)  # fmt: skip
LONGEST_SILENT = timedelta(seconds=15)  # an activity that may take longer must heartbeat
BARE = """
class A:
    async def run(self):
        await workflow.execute_activity_method(B.do, 1, start_to_close_timeout=timedelta(seconds=1))
"""


def dotted(node: ast.expr) -> str:
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def without_options(module: ast.Module) -> list[str]:
    """Activity calls whose settings do not come from workflows/options, as `line: call`."""
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    makers = {function.name for function in functions if "options." in ast.unparse(function)}
    found = []
    for function in functions:
        settings = {
            target.id
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and ("options." in ast.unparse(node.value) or _called(node.value) in makers)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            name = dotted(call.func)
            if name.startswith(tuple(f"workflow.{each}" for each in CALLS)):
                given = [ast.unparse(word.value) for word in call.keywords if word.arg is None]
                if not set(given) & settings or len(call.keywords) != 1 or len(call.args) != 2:
                    found.append(f"{call.lineno}: {name}")
    return found


def _called(node: ast.expr) -> str:
    return dotted(node.func).removeprefix("self.") if isinstance(node, ast.Call) else ""


def workflow_classes() -> Iterator[str]:
    for path in WORKFLOWS:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef) and "workflow.defn" in map(ast.unparse, node.decorator_list):
                yield node.name


@pytest.mark.parametrize("path", WORKFLOWS, ids=str)
def test_every_activity_takes_one_model_and_its_settings_from_the_table(path: Path) -> None:
    assert without_options(tree(path)) == []


def test_the_walk_finds_a_call_with_settings_of_its_own() -> None:
    assert without_options(ast.parse(BARE)) == ["4: workflow.execute_activity_method"]


@pytest.mark.parametrize("name", [name for name, _ in inspect.getmembers(options, inspect.isfunction)])
def test_every_row_of_the_table_bounds_time_and_retries(name: str) -> None:
    make: Any = getattr(options, name)
    config: ActivityConfig = make(*[timedelta(seconds=10)] * len(inspect.signature(make).parameters))
    start, schedule = config["start_to_close_timeout"], config["schedule_to_close_timeout"]
    assert start is not None
    assert schedule is not None
    assert start <= schedule
    assert config["retry_policy"] is not None
    assert start <= LONGEST_SILENT or config["heartbeat_timeout"] is not None


@pytest.mark.parametrize("path", REPLAYABLE, ids=str)
def test_nothing_that_is_replayed_reads_a_clock_a_random_source_or_the_world(path: Path) -> None:
    nodes = list(ast.walk(tree(path)))
    used = {dotted(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)} - {"open"}
    called = {dotted(node.func) for node in nodes if isinstance(node, ast.Call)}
    assert (used | called & {"open"}) & set(BANNED) == set()


def test_every_workflow_has_committed_histories() -> None:
    recorded = set()
    for file in (ROOT / "tests" / "replay").glob("*histories/*.json"):
        first = json.loads(file.read_text())["events"][0]
        recorded.add(first["workflowExecutionStartedEventAttributes"]["workflowType"]["name"])
    assert set(workflow_classes()) == recorded
