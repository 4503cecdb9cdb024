"""The programs of the test cluster, built from the pinned modules in `go/` into the cache, each once per content."""

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deploy.testcluster import cache, go
from deploy.testcluster.errors import ClusterError
from deploy.testcluster.progress import PATIENCE_SECONDS, Pulse, Say, step

SOURCES = Path(__file__).parent / "go"
STRIP = ("-s", "-w")
# An installation of the tools that the Go ecosystem's test environments use; its programs are taken before ours.
ASSETS = "KUBEBUILDER_ASSETS"
FROM_ASSETS = ("etcd", "kube-apiserver")


@dataclass(frozen=True)
class Module:
    """One folder of `go/`. `programs` maps a program's name to its package; with `stamped` they are told their version,
    which Kubernetes' otherwise do not know."""

    name: str
    programs: Mapping[str, str] = field(hash=False)
    stamped: bool = False

    @property
    def folder(self) -> Path:
        return SOURCES / self.name

    @property
    def flags(self) -> tuple[str, ...]:
        return ("-trimpath", f"-ldflags={' '.join((*STRIP, *self._stamp()))}")

    @property
    def version(self) -> str:
        """The version of the one module that the folder is there for: what its go.mod requires on a line of its own."""
        found = re.search(r"^require \S+ (v\S+)$", (self.folder / "go.mod").read_text(), re.M)
        if not found:
            raise ClusterError(f"{self.folder / 'go.mod'} requires no module on a line of its own")
        return found[1]

    def _stamp(self) -> tuple[str, ...]:
        if not self.stamped:
            return ()
        major, minor, _ = self.version.removeprefix("v").split(".", 2)
        values = {"gitVersion": self.version, "gitMajor": major, "gitMinor": minor}
        return tuple(f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())


def _kubernetes(*names: str) -> dict[str, str]:
    return {name: f"k8s.io/kubernetes/cmd/{name}" for name in names}


MODULES = (
    Module("etcd", {"etcd": "."}),
    Module(
        "kubernetes",
        _kubernetes("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet"),
        stamped=True,
    ),
    Module("kwok", {"kwok": "sigs.k8s.io/kwok/cmd/kwok"}),
    Module("coredns", {"coredns": "."}),
    Module("minio", {"minio": "github.com/minio/minio"}),
    Module(
        "temporal",
        {
            "temporal-server": "go.temporal.io/server/cmd/server",
            "temporal-sql-tool": "go.temporal.io/server/cmd/tools/sql",
        },
    ),
    Module("helm", {"helm": "helm.sh/helm/v3/cmd/helm"}),
    Module("kueue", {"kueue": "sigs.k8s.io/kueue/cmd/kueue"}),  # for a benchmark that compares
)
NAMES = tuple(name for module in MODULES for name in module.programs)


def program(name: str, say: Say) -> Path:
    """The path of a program, built when the cache lacks it. Several processes may ask; one of them builds.

    Raises ClusterError with the compiler's words.
    """
    assets = os.environ.get(ASSETS)
    if assets and name in FROM_ASSETS and (Path(assets) / name).is_file():
        return Path(assets) / name
    module = _module_of(name)
    target = _home(module) / name
    if not target.exists():
        goroot = go.root(say)
        with cache.only_one(f"tools-{module.name}", say):
            if not target.exists():
                _build(module, name, target, goroot, say)
    return target


def _module_of(name: str) -> Module:
    for module in MODULES:
        if name in module.programs:
            return module
    raise ClusterError(f"no such program: {name}; there are {', '.join(NAMES)}")


def _home(module: Module) -> Path:
    """The cache folder of a module's programs; another source, toolchain or flag is another folder."""
    digest = hashlib.sha256("\0".join((go.version(), *module.flags)).encode())
    for path in sorted(module.folder.rglob("*")):
        if path.is_file():
            digest.update(
                f"\0{path.relative_to(module.folder)}\0".encode() + hashlib.sha256(path.read_bytes()).digest()
            )
    return cache.folder() / "tools" / f"{module.name}-{digest.hexdigest()[:16]}"


def _build(module: Module, name: str, target: Path, goroot: Path, say: Say) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{name}.partial")
    command = [str(goroot / "bin" / "go"), "build", *module.flags, "-o", str(partial), module.programs[name]]
    with step(say, f"building {name} from go/{module.name}"):
        pulse = Pulse(say, f"still building {name}")
        with subprocess.Popen(
            command, cwd=module.folder, env=go.environment(goroot), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as build:
            words = _wait(build, pulse)
        if build.returncode:
            raise ClusterError(f"{name} could not be built in {module.folder}:\n{words}")
        partial.rename(target)


def _wait(build: "subprocess.Popen[bytes]", pulse: Pulse) -> str:
    while True:
        try:
            words, _ = build.communicate(timeout=PATIENCE_SECONDS)
            return words.decode(errors="replace").strip()
        except subprocess.TimeoutExpired:
            pulse.beat()
