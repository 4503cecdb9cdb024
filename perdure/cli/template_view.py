"""A template and what it renders to, for people."""

from __future__ import annotations

from typing import Any

from perdure.cli.catalog_shapes import TEMPLATE
from perdure.cli.output import Column, Shape
from perdure.cli.shapes import ago_now


def _parameter(each: Any) -> str:
    wanted = "must be given" if each.required else f"default {each.default}"
    rules = ", ".join(f"{name} {_rule(value)}" for name, value in each.rules.items())
    described = f": {each.description}" if each.description else ""
    return f"{each.name} ({each.type}, {wanted}{', ' + rules if rules else ''}){described}"


def _rule(value: Any) -> str:
    return " or ".join(map(str, value)) if isinstance(value, list) else str(value)


def _lines(template: Any) -> list[tuple[str, str]]:
    return [
        ("name", template.name),
        ("description", template.description),
        ("version", f"{template.version} of {', '.join(map(str, template.versions))}"),
        ("parameters", "\n".join(_parameter(each) for each in template.parameters)),
        ("jobs", str(template.jobs)),
        ("created", ago_now(template.created_at)),
    ]


ONE_TEMPLATE = Shape(columns=TEMPLATE.columns, name=TEMPLATE.name, lines=_lines)
RENDERED = Shape(
    columns=(Column("DOCUMENT", lambda rendered: rendered.text),),
    name=lambda rendered: rendered.document["metadata"]["name"],
    text=lambda rendered: rendered.text,
)
