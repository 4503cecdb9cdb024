"""The shape of the store: whoever reads or writes rows says for which tenant, and nobody goes round it."""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from sqlalchemy.orm import Session

import store
from store.tables import metadata

ROOT = Path(store.__file__).parent.parent
OVER_ALL_TENANTS = {"store.system", "store.pool_reads"}
# What every tenant may read, and only the installation's admins and its scheduler change.
OF_THE_INSTALLATION = {"store.clusters", "store.scheduling_documents", "store.decisions", "store.outbox"}
OF_THE_INSTALLATION |= {"store.pools", "store.settling", "store.queue_use", "store.pool_reads", "store.pool_amounts"}
OF_THE_INSTALLATION |= {"store.reservations", "store.reserved", "store.reservation_reads", "store.resizes"}
LEARNS_THE_TENANT = {"store.tokens.find"}  # authentication: the key is all that is known
# Clusters and reservations are the installation's.
OF_NO_TENANT = {"store.intake.found_cluster", "store.intake.check_reservation"}
WITHOUT_TENANT = {"clusters", "nodes", "installations", "scheduling_documents"}
WITHOUT_TENANT |= {"pools", "pool_changes", "queue_use", "queue_past", "decisions", "outbox", "bookings"}
# A pool has gangs of every tenant, and a place in its order is one among them all.
OF_THE_SCHEDULER = {"store.gangs.rows", "store.gangs.some", "store.gang_places.places"}
# They belong to a principal, who may have many projects, and what is reserved serves jobs of all.
WITHOUT_PROJECT = {"tokens", "idempotency", "reservations", "reserved_uses"}


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in pkgutil.iter_modules(store.__path__, "store."):
        if module.name in OVER_ALL_TENANTS | OF_THE_INSTALLATION | {"store.migrations"}:
            continue
        loaded = importlib.import_module(module.name)
        for name, function in inspect.getmembers(loaded, inspect.isfunction):
            if function.__module__ == module.name and not name.startswith("_"):
                yield f"{module.name}.{name}", function


WITH_SESSION = {
    name: function for name, function in _functions() if "session" in inspect.signature(function).parameters
}


def test_the_walk_finds_the_repositories() -> None:
    assert {"store.jobs.get", "store.events.append", "store.secrets.reveal", "store.tokens.revoke"} <= set(WITH_SESSION)
    assert len(WITH_SESSION) > 45


@pytest.mark.parametrize("name", sorted(WITH_SESSION))
def test_every_function_on_rows_is_told_the_tenant(name: str) -> None:
    if name in LEARNS_THE_TENANT | OF_NO_TENANT | OF_THE_SCHEDULER or name.startswith(
        "store.upsert."
    ):  # upsert: statements, not rows
        return
    parameters = list(inspect.signature(WITH_SESSION[name]).parameters)
    hints = get_type_hints(WITH_SESSION[name])
    assert hints[parameters[0]] is Session
    carries = [parameter for parameter in parameters if _tells_tenant(parameter, hints.get(parameter))]
    assert carries, f"{name} does not say for which tenant"


def test_every_table_has_tenant_and_project_in_every_row() -> None:
    tables = [table for table in metadata.sorted_tables if table.name not in WITHOUT_TENANT]
    for table in tables:
        assert not table.c.tenant.nullable
        assert ("project" in table.c and not table.c.project.nullable) or table.name in WITHOUT_PROJECT


def test_no_route_reads_over_all_tenants() -> None:
    files = sorted((ROOT / "api").rglob("*.py"))
    guilty = [str(file) for file in files if OVER_ALL_TENANTS & _imports(file)]
    assert files
    assert guilty == []


def _tells_tenant(parameter: str, hint: Any) -> bool:
    """By name, or by what it is: a row, a new job, a request."""
    fields = getattr(hint, "model_fields", {}) | getattr(hint, "__dataclass_fields__", {})
    return parameter == "tenant" or "tenant" in fields or hasattr(hint, "tenant") or "request" in fields


def _imports(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
