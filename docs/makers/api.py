"""The API's own description, and a table of its routes."""

from typing import Any

from api import openapi
from docs.makers.markdown import code, table


def pages() -> dict[str, str]:
    return {"openapi.json": openapi.text()}


def routes() -> str:
    """Every route by area."""
    by_tag: dict[str, list[list[str]]] = {}
    for path, verbs in openapi.document()["paths"].items():
        for verb, operation in verbs.items():
            by_tag.setdefault(operation["tags"][0], []).append(_route(verb, path, operation))
    head = ["Route", "What it does", "Query"]
    return "\n\n".join(f"### {tag.capitalize()}\n\n{table(head, rows)}" for tag, rows in by_tag.items())


def _route(verb: str, path: str, operation: dict[str, Any]) -> list[str]:
    query = [p["name"] for p in operation.get("parameters", []) if p["in"] == "query" and p["name"] != "project"]
    return [code(f"{verb.upper()} {path}"), operation["summary"], ", ".join(map(code, query))]
