"""How the two images are put together, layer by layer."""

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from deploy.images import base, bundle, oci, python_packages, toolchain
from deploy.images.apt import Apt, Package
from deploy.images.interpreter import Interpreter
from deploy.images.kept import KeptLayers
from deploy.images.machine import Machine, Refused, this_machine
from deploy.images.oci import Image, Layer
from deploy.images.tree import EXECUTABLE, File, Tree
from deploy.testcluster import cache

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "requirements"
SHIM = ROOT / "activities" / "adapters" / "local" / "shim"
AGENT = ROOT / "activities" / "adapters" / "kubernetes" / "agent"
HELPER = ROOT / "perdure" / "job.py"
NAMES = {"training": "perdure-training", "perdure": "perdure"}
COMMAND = b"#!/usr/bin/python3 -I\nfrom perdure.cli.main import run\n\nrun()\n"
SETTINGS = {
    "User": f"{base.USER_ID}:{base.USER_ID}",
    "WorkingDir": f"/{base.HOME}",
    "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"],
}
# Nothing of the image can be written to; what the scheduler compiles is kept here for the next process.
COMPILED = "NUMBA_CACHE_DIR=/tmp/compiled"
# Starts a module of the control plane that cannot be mistaken for a user's of the same name.
ENTRYPOINT = ["/usr/bin/python3", "-I", "-m", "perdure.local._boot"]

# The programs of this folder that decide what is in a layer.
COMPILING = ("interpreter.py", "compiler.py")
UNPACKING = ("base.py", "deb.py")
PACKAGING = ("python_packages.py",)
BUNDLING = ("bundle.py", "toolchain.py", "launcher.c")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Built:
    """An image in a file. `name` names its content, so a container of that name is one of this very image."""

    file: Path
    name: str


def build(out: Path, wanted: Sequence[str], say: Say, *, upgrade: bool = False) -> dict[str, Built]:
    """Build images (keys of `NAMES`) into a folder. Two builds at a time wait for each other. Raises Refused."""
    machine = this_machine()
    out.mkdir(parents=True, exist_ok=True)
    made = {}
    with (
        cache.only_one("images", say),
        Builder(cache.folder() / "images", machine, say, upgrade=upgrade) as builder,
    ):
        for name in wanted:
            say(f"image {NAMES[name]}")
            image = builder.training() if name == "training" else builder.perdure()
            file = out / f"{name}.tar"
            oci.save(image, file)
            say(f"  {file}: {' and '.join(image.names)}")
            made[name] = Built(file, image.names[0])
    return made


class Builder:
    """Builds images for one machine; a context, for it keeps an unpacked interpreter on disk meanwhile."""

    def __init__(self, cache: Path, machine: Machine, say: Say, *, upgrade: bool = False) -> None:
        self._machine = machine
        self._say = say
        self._upgrade = upgrade
        self._apt = Apt(cache / "debian" / machine.debian, machine)
        self._kept = KeptLayers(cache / "layers")
        self._scratch = tempfile.TemporaryDirectory(prefix="perdure-images-")

    def __enter__(self) -> "Builder":
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()
        self._kept.forget_unused()

    def training(self) -> Image:
        """What a job may run in: Python, numpy, scikit-learn, and `perdure.job` as a file of its own."""
        return oci.assemble(
            NAMES["training"],
            self._machine,
            [self._base, self._locked("training.lock.txt"), self._helper()],
            {**SETTINGS, "Cmd": ["/usr/bin/python3"]},
        )

    def perdure(self) -> Image:
        """The control plane and the steps of a pod, and what a pod takes of it to start ranks in any image."""
        layers = [self._base, self._locked("image.lock.txt"), self._bundle(), self._ours()]
        settings = {**SETTINGS, "Env": [*SETTINGS["Env"], COMPILED], "Entrypoint": ENTRYPOINT}
        return oci.assemble(NAMES["perdure"], self._machine, layers, settings)

    @property
    def _base_inputs(self) -> list[str]:
        return [package.sha256 for package in self._packages]

    @cached_property
    def _packages(self) -> list[Package]:
        return self._apt.with_dependencies(base.PACKAGES, upgrade=self._upgrade)

    @cached_property
    def _base_files(self) -> Tree:
        """The base layer's files as the packages have them."""
        return base.build(self._packages, self._machine)

    @cached_property
    def _interpreter(self) -> Interpreter:
        root = Path(self._scratch.name) / "root"
        self._base_files.extract(root)
        return Interpreter(root, self._machine)

    @cached_property
    def _base(self) -> Layer:
        def build(scratch: Path) -> Tree:
            return base.with_compiled(self._base_files, scratch, self._interpreter)

        return self._layer(f"Debian 12, {len(self._packages)} packages", self._base_inputs, UNPACKING, build)

    def _locked(self, name: str) -> Layer:
        lock = LOCKS / name

        def build(scratch: Path) -> Tree:
            return python_packages.locked(lock, scratch, self._interpreter, self._machine)

        return self._layer(f"Python packages of {name}", [*self._base_inputs, lock.read_bytes()], PACKAGING, build)

    def _helper(self) -> Layer:
        modules = Tree()
        modules["perdure/__init__.py"] = File(b"")
        modules["perdure/job.py"] = File(HELPER)
        return self._modules("the job helper", modules)

    def _bundle(self) -> Layer:
        packages = self._apt.alone(toolchain.PACKAGES)

        def build(_: Path) -> Tree:
            launcher = toolchain.launcher(packages, self._interpreter, self._machine)
            return bundle.build(self._base_files, self._interpreter, launcher, self._machine).below(bundle.PLACE)

        inputs = [*self._base_inputs, *(package.sha256 for package in packages)]
        return self._layer("the interpreter for pods", inputs, (*UNPACKING, *BUNDLING), build)

    def _ours(self) -> Layer:
        with tempfile.TemporaryDirectory(prefix="perdure-wheels-") as scratch:
            modules = python_packages.unpacked(python_packages.build_wheels(ROOT, Path(scratch)))
        beside = Tree()
        beside["usr/local/bin/perdure"] = File(COMMAND, EXECUTABLE)
        for folder, place in ((SHIM, "shim"), (AGENT, "agent")):
            if not any(folder.glob("*.py")):
                raise Refused(f"{folder} has no modules: a pod could not start its ranks")
            for path in sorted(folder.glob("*.py")):
                beside[f"{bundle.PLACE}/{place}/{path.name}"] = File(path.read_bytes())
        return self._modules("Perdure", modules, beside)

    def _modules(self, made_of: str, modules: Tree, beside: Tree | None = None) -> Layer:
        """A layer of our own modules, compiled, and of other files of ours."""
        beside = beside or Tree()

        def build(scratch: Path) -> Tree:
            whole = python_packages.compiled(modules, scratch, self._interpreter)
            for path, entry in beside.under(""):
                whole[path] = entry
            return whole

        return self._layer(made_of, [*self._base_inputs, modules.digest(), beside.digest()], PACKAGING, build)

    def _layer(
        self, made_of: str, inputs: Iterable[str | bytes], programs: Sequence[str], build: Callable[[Path], Tree]
    ) -> Layer:
        began = time.monotonic()
        layer, was_there = self._kept.layer(made_of, inputs, (*COMPILING, *programs), build)
        how = "kept" if was_there else f"built in {time.monotonic() - began:.1f} s"
        self._say(f"  {made_of}: {layer.size / 1e6:.1f} MB, {how}")
        return layer
