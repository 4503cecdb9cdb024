"""Programs are built from what is pinned, once per content, however many ask at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.testcluster import go, tools
from deploy.testcluster.errors import ClusterError
from deploy.testcluster.tools import Module

ROOT = Path(__file__).parents[3]
HELLO = 'package main\n\nvar version string\n\nfunc main() { println("hello " + version) }\n'
ASKING = """\
import sys
from pathlib import Path
from deploy.testcluster import tools
tools.SOURCES = Path(sys.argv[1])
tools.MODULES = (tools.Module("hello", {"hello": "."}),)
print(tools.program("hello", lambda line: print(line, file=sys.stderr)))
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules with one of our own, and a cache with nothing in it but the Go that is there already."""
    module = tmp_path / "go" / "hello"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("module perdure.example/hello\n\ngo 1.24\n")
    (module / "main.go").write_text(HELLO)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "go").symlink_to(go.root(lambda line: None).parents[1])
    monkeypatch.setenv("PERDURE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(tools, "SOURCES", tmp_path / "go")
    monkeypatch.setattr(tools, "MODULES", (Module("hello", {"hello": "."}),))
    monkeypatch.delenv(tools.ASSETS, raising=False)
    return tmp_path / "go"


@pytest.mark.kube
def test_four_that_ask_at_once_build_once(sources: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ASKING, str(sources)]
    asking = [
        subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)
    ]
    answers = [process.communicate() for process in asking]
    assert len({path for path, _ in answers}) == 1
    assert sum("building hello from go/hello: done" in words for _, words in answers) == 1
    program = Path(answers[0][0].strip())
    assert program.is_relative_to(tmp_path / "cache")
    assert subprocess.run([program], capture_output=True, text=True, check=True).stderr.strip() == "hello"


@pytest.mark.kube
def test_another_content_is_another_program(sources: Path) -> None:
    said: list[str] = []
    first = tools.program("hello", said.append)
    (sources / "hello" / "main.go").write_text(HELLO.replace("hello ", "good day "))
    second = tools.program("hello", said.append)
    assert first != second
    assert first.exists()
    assert tools.program("hello", said.append) == second
    assert sum(": done" in line for line in said) == 2


@pytest.mark.kube
def test_a_program_that_does_not_compile_is_refused_with_the_compilers_words(sources: Path) -> None:
    (sources / "hello" / "main.go").write_text("package main\n\nfunc main() { undefined() }\n")
    with pytest.raises(ClusterError, match=r"(?s)hello could not be built in .*main.go:3:15: undefined: undefined"):
        tools.program("hello", lambda line: None)


def test_installed_assets_are_taken_before_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "etcd").touch()
    monkeypatch.setenv(tools.ASSETS, str(tmp_path))
    assert tools.program("etcd", lambda line: None) == tmp_path / "etcd"


def test_an_unknown_program_is_refused_by_name() -> None:
    with pytest.raises(ClusterError, match="no such program: kubectl; there are etcd, kube-apiserver"):
        tools.program("kubectl", lambda line: None)


def test_every_module_is_pinned_and_every_program_has_one_home() -> None:
    for module in tools.MODULES:
        assert (module.folder / "go.mod").is_file(), module.name
        assert (module.folder / "go.sum").is_file(), module.name
    assert len(tools.NAMES) == len(set(tools.NAMES))
    assert {folder.name for folder in tools.SOURCES.iterdir()} == {module.name for module in tools.MODULES}


def test_the_servers_report_the_version_that_is_pinned() -> None:
    kubernetes = next(module for module in tools.MODULES if module.name == "kubernetes")
    version = kubernetes.version
    assert f"version.gitVersion={version}" in kubernetes.flags[-1]


def test_a_build_depends_on_the_pinned_toolchain_only() -> None:
    environment = go.environment(Path("/goroot"))
    assert environment["GOTOOLCHAIN"] == "local"
    assert environment["GOFLAGS"] == "-mod=readonly -buildvcs=false"
    assert environment["PATH"].startswith(f"/goroot/bin{os.pathsep}")
