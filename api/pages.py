"""The few pages for people's browsers: error codes and the API's reference. No script, nothing from other servers."""

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi.responses import HTMLResponse, Response

from definitions.errors import ErrorCode

STYLE_PATH = "/style.css"
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; }
h1 { font-size: 1.5rem; } h2 { margin-top: 2.5rem; } h3 { margin-top: 2rem; font-family: ui-monospace, monospace; }
code, pre { font: 0.875em ui-monospace, monospace; background: #f3f3f0; padding: 0.1em 0.3em; }
pre { padding: 0.75rem; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } td, th { border-bottom: 1px solid #ddd; padding: 0.3rem 0.6rem; }
td, th { text-align: left; vertical-align: top; } .verb { font-weight: 600; } .quiet { color: #666; }
@media (prefers-color-scheme: dark) { body { background: #1b1b1b; color: #e6e6e6; } code, pre { background: #2a2a2a; }
td, th { border-color: #444; } a { color: #8ab4f8; } .quiet { color: #aaa; } }
"""


def style() -> Response:
    return Response(STYLE, media_type="text/css", headers={"Cache-Control": "max-age=3600"})


def error_page(code: ErrorCode) -> HTMLResponse:
    """What one code means and what to do."""
    body = (
        f"<h1><code>{code.code}</code> {escape(code.title)}</h1>"
        f"<h2>Why</h2><p>{escape(code.why)}</p><h2>What to do</h2><p>{escape(code.remedy)}</p>"
        f"<p class=quiet>HTTP status {code.status}; the command line exits with {int(code.exit)}. "
        "<a href=/errors>All codes</a></p>"
    )
    return _page(f"{code.code} {code.title}", body)


def errors_page(codes: tuple[ErrorCode, ...]) -> HTMLResponse:
    """Every code in one table."""
    rows = "".join(
        f"<tr><td><a href=/errors/{code.code}><code>{code.code}</code></a><td>{escape(code.title)}"
        f"<td>{code.status}<td>{escape(code.remedy)}"
        for code in codes
    )
    return _page("Error codes", f"<h1>Error codes</h1><table><tr><th>Code<th>What<th>HTTP<th>What to do{rows}</table>")


def reference_page(openapi: dict[str, Any]) -> HTMLResponse:
    """The API's reference, from its own description."""
    info = openapi["info"]
    parts = [
        f"<h1>{escape(info['title'])} API {escape(info['version'])}</h1><p>{escape(info['description'])}</p>",
        "<p>Send <code>Authorization: Bearer pd_live_…</code>. The description for programs is "
        "<a href=/v1/openapi.json>/v1/openapi.json</a>; every error code has <a href=/errors>a page</a>.</p>",
    ]
    tag = None
    for verb, path, operation in _operations(openapi):
        if (section := operation.get("tags", [""])[0]) != tag:
            tag = section
            parts.append(f"<h2 id={escape(tag)}>{escape(tag.capitalize())}</h2>")
        parts.append(_operation(verb, path, operation))
    parts.append("<h2 id=schemas>Schemas</h2>")
    parts += [_schema(name, schema) for name, schema in openapi["components"]["schemas"].items()]
    return _page(f"{info['title']} API", "".join(parts))


def _operations(openapi: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, verbs in openapi["paths"].items():
        for verb, operation in verbs.items():
            yield verb.upper(), path, operation


def _operation(verb: str, path: str, operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(parameter['name'])}</code><td>{parameter['in']}"
        f"<td>{escape(parameter.get('description', ''))}"
        for parameter in operation.get("parameters", [])
    )
    table = f"<table><tr><th>Parameter<th>In<th>Meaning{rows}</table>" if rows else ""
    bodies = operation.get("requestBody", {}).get("content", {})
    body = "".join(f"<p>Body <code>{escape(kind)}</code> {_type(spec['schema'])}</p>" for kind, spec in bodies.items())
    answers = "".join(
        f"<p>Answer {status}: {_answer(answer)}</p>"
        for status, answer in operation["responses"].items()
        if status != "default"
    )
    return (
        f"<h3 id={operation['operationId']}><span class=verb>{verb}</span> {escape(path)}</h3>"
        f"<p>{escape(operation.get('description', ''))}</p>{table}{body}{answers}"
    )


def _answer(answer: dict[str, Any]) -> str:
    kinds = [_type(spec.get("schema", {})) for spec in answer.get("content", {}).values()]
    return " ".join([*kinds, escape(answer["description"])])


def _schema(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    rows = "".join(
        f"<tr><td><code>{escape(field)}</code>{'' if field in required else ' <span class=quiet>optional</span>'}"
        f"<td>{_type(spec)}<td>{escape(spec.get('description', ''))}<td>{_example(spec)}"
        for field, spec in schema.get("properties", {}).items()
    )
    table = f"<table><tr><th>Field<th>Type<th>Meaning<th>Example{rows}</table>" if rows else ""
    words = ", ".join(f"<code>{escape(str(word))}</code>" for word in schema.get("enum", ()))
    return (
        f"<h3 id=schema-{escape(name)}>{escape(name)}</h3><p>{escape(schema.get('description', ''))}</p>{table}{words}"
    )


def _type(spec: dict[str, Any]) -> str:
    if reference := spec.get("$ref"):
        name = escape(reference.rsplit("/", 1)[-1])
        return f"<a href=#schema-{name}>{name}</a>"
    for combined in ("anyOf", "allOf", "oneOf"):
        if combined in spec:
            return " or ".join(_type(option) for option in spec[combined])
    if spec.get("type") == "array":
        return f"list of {_type(spec.get('items', {}))}"
    return escape(str(spec.get("type", "any")))


def _example(spec: dict[str, Any]) -> str:
    examples = spec.get("examples", [])
    return f"<code>{escape(json.dumps(examples[0], ensure_ascii=False))}</code>" if examples else ""


def _page(title: str, body: str) -> HTMLResponse:
    return HTMLResponse(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{escape(title)}</title><link rel=stylesheet href={STYLE_PATH}><body>{body}"
    )
