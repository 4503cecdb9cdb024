"""Who may import whom: the rules that keep each folder understandable by itself."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.arch.source import ROOT, imports_outside, python_files

LIGHT_LIBRARIES = {"click", "httpx", "pathspec", "pydantic", "pydantic_core", "rich", "typer", "websockets", "yaml"}


def test_every_import_contract_holds() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_definitions_import_pydantic_and_the_engines_common_types_only() -> None:
    loader = Path("definitions/yaml_loader.py")
    allowed = {"definitions", "pydantic", "pydantic_core", "annotated_types", "temporalio.common"}
    others = [path for path in python_files("definitions") if path != loader]
    assert imports_outside(others, allowed) == []
    assert imports_outside([path for path in python_files("definitions") if path == loader], allowed | {"yaml"}) == []


def test_policies_import_definitions_and_numpy_only_and_kernels_a_compiler() -> None:
    allowed, kernels = {"policies", "definitions", "numpy"}, Path("policies/scheduling")
    compiled = [path for path in python_files("policies") if path.parent == kernels and path.name.startswith("kernels")]
    assert compiled
    assert imports_outside([path for path in python_files("policies") if path not in compiled], allowed) == []
    assert imports_outside(compiled, allowed | {"numba"}) == []


def test_the_light_distribution_imports_its_own_dependencies_only() -> None:
    assert imports_outside(python_files("perdure"), {"perdure", *LIGHT_LIBRARIES}) == []


@pytest.mark.parametrize(
    ("place", "may_import"),
    [
        ("perdure/job.py", set()),
        ("activities/adapters/local/shim", {"activities.adapters.local.shim"}),
        (
            "activities/adapters/kubernetes/agent",
            {"activities.adapters.kubernetes.agent", "activities.adapters.local.shim", "shim"},
        ),
    ],
)
def test_what_is_copied_beside_a_job_needs_the_standard_library_only(place: str, may_import: set[str]) -> None:
    files = [path for path in python_files() if path.is_relative_to(place)]
    assert files, f"{place} is missing"
    assert imports_outside(files, may_import) == []


def test_the_command_line_starts_without_the_engines_client() -> None:
    code = "import sys, perdure.cli.main; sys.exit(' '.join(m for m in sys.modules if m.startswith('temporalio')) or 0)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")
