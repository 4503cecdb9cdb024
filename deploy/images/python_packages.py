"""Python packages as files of an image: those of a lock file, and the project's own wheels."""

import csv
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from deploy.images.interpreter import VERSION, Interpreter
from deploy.images.machine import Machine, Refused
from deploy.images.tree import File, Tree

# Where Debian's Python looks for what its packages did not bring, also when it is started isolated.
PLACE = f"usr/local/lib/python{VERSION}/dist-packages"
# What packages bring and nothing here loads; half of all files, and each one costs time on every node:
LEFT_OUT = re.compile(
    "kubernetes/aio/"  # a second client
    "|temporalio/bridge/(sdk-core|src)/"  # sources of what is compiled beside them
    "|botocore/data/(?!s3/|sts/|sso/|sso-oidc/)[^/]+/"  # services that are never called
)
INSTALLER = Path(sys.executable).with_name("uv")


def locked(lock: Path, scratch: Path, interpreter: Interpreter, machine: Machine) -> Tree:
    """What a lock file lists, for the image's Python: wheels only, each verified by its hash. Raises Refused.

    The tree reads its files from `scratch`.
    """
    folder = scratch / "packages"
    _run(
        *(
            "pip",
            "install",
            "--quiet",
            "--target",
            folder,
            "--link-mode",
            "copy",
            "--no-deps",
            "--only-binary",
            ":all:",
        ),
        *("--require-hashes", "--python", sys.executable, "--python-version", VERSION),
        *("--python-platform", machine.wheels, "--requirements", lock),
    )
    # Commands would name this machine's interpreter; the other is a lock of the installer.
    shutil.rmtree(folder / "bin", ignore_errors=True)
    (folder / ".lock").unlink(missing_ok=True)
    for below in list(folder.rglob("*/")):
        if LEFT_OUT.fullmatch(f"{below.relative_to(folder).as_posix()}/"):
            shutil.rmtree(below)
    for record in folder.glob("*.dist-info/RECORD"):
        _list_what_is_there(record, folder)
    interpreter.compile(folder, f"/{PLACE}")
    tree = Tree()
    tree.take(folder, PLACE)
    return tree


def build_wheels(root: Path, scratch: Path) -> list[Path]:
    """The wheels of both distributions of the checkout, without a network. Raises Refused."""
    for source in (root, root / "deploy" / "dist" / "server"):
        _run(
            *("build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable),
            *("--out-dir", scratch / "wheels", source),
        )
    return sorted((scratch / "wheels").glob("*.whl"))


def unpacked(wheels: list[Path]) -> Tree:
    """The modules of wheels that hold nothing but modules, not compiled."""
    tree = Tree()
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if not name.endswith("/"):
                    tree[name] = File(archive.read(name))
    return tree


def compiled(modules: Tree, scratch: Path, interpreter: Interpreter) -> Tree:
    """The modules and their compiled forms, where the image has them. The tree reads its files from `scratch`."""
    folder = scratch / "modules"
    modules.extract(folder)
    interpreter.compile(folder, f"/{PLACE}")
    tree = Tree()
    tree.take(folder, PLACE)
    return tree


def _list_what_is_there(record: Path, folder: Path) -> None:
    """Take files that were removed from a package's list of its files: the digest of a command is that of this
    machine's paths."""
    with record.open(newline="") as listed:
        rows = [row for row in csv.reader(listed) if row and (folder / row[0]).exists()]
    with record.open("w", newline="") as listed:
        csv.writer(listed, lineterminator="\n").writerows(rows)


def _run(*arguments: str | Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    # Certificates come from the machine's own store, as everywhere in this project.
    environment.setdefault("UV_SYSTEM_CERTS", "1")
    done = subprocess.run(
        [INSTALLER, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Refused(f"uv {' '.join(map(str, arguments[:2]))} failed:\n{done.stdout[-2000:]}")
