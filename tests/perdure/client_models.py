"""`python -m tests.perdure.client_models`: writes the client's models from the API's own description.

The description is first put more plainly. Limits, titles and examples are dropped: the API judges what it is sent, and
its words name the place. "This or null" becomes one type, and a default that is an object goes: what is left out, the
API fills in.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from datamodel_code_generator import InputFileType, PythonVersion, generate
from datamodel_code_generator.enums import DataModelType
from datamodel_code_generator.format import Formatter

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "docs" / "openapi.json"
TARGET = ROOT / "perdure" / "client" / "_models.py"
HEADER = '"""Generated from docs/openapi.json by `make client-models`. Do not edit."""\n# ruff: noqa: E501, RUF012'
DROPPED = {
    *("title", "examples", "example", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "propertyNames"),
}


def models() -> str:
    """The text of the module, formatted as the project is."""
    description = json.loads(SOURCE.read_text())
    plain = {"openapi": description["openapi"], "info": description["info"], "paths": {}}
    plain["components"] = {"schemas": _plainly(description["components"]["schemas"])}
    text = generate(
        json.dumps(plain),
        input_file_type=InputFileType.OpenAPI,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_python_version=PythonVersion.PY_311,
        base_class="perdure.client.base.Model",
        snake_case_field=True,
        use_annotated=True,
        field_constraints=True,
        use_standard_collections=True,
        use_union_operator=True,
        use_schema_description=True,
        use_field_description=True,
        use_single_line_docstring=True,
        use_double_quotes=True,
        use_specialized_enum=True,
        capitalise_enum_members=True,
        collapse_root_models=True,
        remove_special_field_name_prefix=True,
        strict_nullable=True,
        disable_timestamp=True,
        set_default_enum_member=True,
        custom_file_header=HEADER,
        formatters=[Formatter.BUILTIN],
    )
    return _formatted(str(text))


def _plainly(node: Any, *, named: bool = True) -> Any:
    """`named`: the keys of this object are names that somebody chose, not words of the schema language."""
    if isinstance(node, list):
        return [_plainly(each, named=False) for each in node]
    if not isinstance(node, dict):
        return node
    if named:
        return {name: _plainly(value, named=False) for name, value in node.items()}
    kept = {key: _plainly(value, named=key == "properties") for key, value in node.items() if key not in DROPPED}
    if kept.get("default"):
        kept = {key: value for key, value in kept.items() if key != "default" or not isinstance(value, dict)}
    if patterns := kept.pop("patternProperties", None):
        kept["additionalProperties"] = next(iter(patterns.values()))
    choices = kept.get("anyOf", [])
    some = [choice for choice in choices if choice != {"type": "null"}]
    if len(choices) == 2 and len(some) == 1 and isinstance(some[0].get("type"), str):
        del kept["anyOf"]
        kept = {**some[0], **kept, "type": [some[0]["type"], "null"]}
    return kept


def _formatted(text: str) -> str:
    for arguments in (["check", "--quiet", "--fix", "--select", "I"], ["format", "--quiet"]):
        command = [str(Path(sys.executable).with_name("ruff")), *arguments, "--stdin-filename", str(TARGET), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


if __name__ == "__main__":
    TARGET.write_text(models())
