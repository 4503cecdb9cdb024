"""The images as they are built from this checkout: valid, safe, the same every time, and able to do their work."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import pytest

from deploy.images.builder import Built
from tests.support.images import built_images
from tests.support.oci_layout import ReadImage, read_image

pytestmark = [pytest.mark.pods, pytest.mark.timeout(600)]
MEGABYTE = 1_000_000
USER = "1000:1000"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Built]:
    return built_images(tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="module", params=["training", "perdure"])
def image(request: pytest.FixtureRequest, built: dict[str, Built]) -> ReadImage:
    return read_image(built[request.param].file)


@pytest.fixture(scope="module")
def training(built: dict[str, Built], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from unpacked(built["training"], tmp_path_factory.mktemp("training"))


@pytest.fixture(scope="module")
def perdure(built: dict[str, Built], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from unpacked(built["perdure"], tmp_path_factory.mktemp("perdure"))


def unpacked(built: Built, folder: Path) -> Iterator[Path]:
    root = folder / "root"
    root.mkdir()  # open to everybody, as the folder around it is not
    read_image(built.file).unpack(root)
    yield root
    shutil.rmtree(root)


def run_in(root: Path, command: Sequence[str], user: str = USER) -> str:
    """Run a command with this folder as its root, and a /proc of its own that ends with it."""
    script = 'mount -t proc proc "$1/proc" && root=$1 user=$2 && shift 2 && exec chroot --userspec="$user" "$root" "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script, "sh", str(root), user, *command],
        env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_entry_is_a_file_folder_or_link_within_the_image_that_gives_nobody_rights(image: ReadImage) -> None:
    for _, entry in image.entries():
        where = f"{entry.name}: {entry.mode:o}"
        assert entry.isreg() or entry.isdir() or entry.issym(), where
        assert not PurePosixPath(entry.name).is_absolute(), where
        assert ".." not in PurePosixPath(entry.name).parts, where
        assert entry.mode & 0o6000 == 0, where
        assert entry.issym() or entry.mode & 0o002 == 0 or entry.mode == 0o1777, where
        assert (entry.uid, entry.gid) == ((1000, 1000) if entry.name == "home/perdure" else (0, 0)), where


def test_no_link_of_an_image_leads_nowhere(perdure: Path) -> None:
    lost = []
    for link in filter(Path.is_symlink, perdure.rglob("*")):
        target = PurePosixPath(link.readlink())
        place = perdure / target.relative_to("/") if target.is_absolute() else link.parent / target
        if not place.exists() and not place.is_symlink() and target.parts[:2] != ("/", "proc"):
            lost.append(f"{link.relative_to(perdure)} -> {target}")
    assert lost == []


def test_it_does_not_run_as_root_and_says_its_machine(image: ReadImage) -> None:
    assert image.config["config"]["User"] == USER
    assert image.config["os"] == "linux"
    assert image.config["architecture"] in ("amd64", "arm64")


def test_building_again_without_what_was_kept_gives_the_same_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the same Debian packages: those that are kept may be older than what is served."""
    kept = built_images(tmp_path / "kept", upgrade=True)
    monkeypatch.setenv("PERDURE_CACHE", str(tmp_path / "cache"))
    again = built_images(tmp_path / "images")
    assert {name: one.name for name, one in again.items()} == {name: one.name for name, one in kept.items()}
    digests = [{name: read_image(one.file).digest for name, one in each.items()} for each in (kept, again)]
    assert digests[0] == digests[1]


def test_a_job_finds_numpy_scikit_learn_and_the_helper_in_the_training_image(training: Path) -> None:
    probe = "import numpy, sklearn.linear_model, perdure.job as job; print(numpy.eye(2).sum(), job.rank())"
    for name in ("python3", "python"):
        assert run_in(training, ["/usr/bin/env", name, "-I", "-c", probe]) == "2.0 0\n"
    assert run_in(training, ["/bin/sh", "-c", "id -u; bash -c 'echo $((6*7))' | awk '{print $1 + 1}'"]) == "1000\n43\n"


def test_the_helper_comes_alone_into_the_training_image(training: Path) -> None:
    ours = training / "usr/local/lib/python3.11/dist-packages/perdure"
    assert {path.name for path in ours.glob("*.py")} == {"__init__.py", "job.py"}


@pytest.mark.parametrize(
    "module", ["api.app", "workers.control", "workers.api_process", "workers.migrate", "kubernetes.config", "ssl"]
)
def test_what_the_control_plane_starts_is_in_our_image(perdure: Path, module: str) -> None:
    assert run_in(perdure, ["/usr/bin/python3", "-I", "-c", f"import {module}; print('there')"]) == "there\n"


def test_our_image_starts_a_module_by_name_and_has_the_command_line(perdure: Path, built: dict[str, Built]) -> None:
    entry = read_image(built["perdure"].file).config["config"]["Entrypoint"]
    assert entry == ["/usr/bin/python3", "-I", "-m", "perdure.local._boot"]
    refused = ["/bin/sh", "-c", f"{' '.join(entry)} api.nothing 2>&1 || true"]
    assert "No module named 'api.nothing'" in run_in(perdure, refused)
    assert run_in(perdure, ["perdure", "version"]).startswith("perdure ")


def test_our_image_trusts_the_usual_certificates_and_reaches_s3s_description(perdure: Path) -> None:
    trust = "import ssl; print(len(ssl.create_default_context().get_ca_certs()) > 100)"
    assert run_in(perdure, ["/usr/bin/python3", "-I", "-c", trust]) == "True\n"
    client = "import boto3; print(boto3.client('s3', region_name='x', endpoint_url='http://x').meta.service_model.service_name)"
    assert run_in(perdure, ["/usr/bin/python3", "-I", "-c", client]) == "s3\n"


@pytest.fixture
def bare(perdure: Path, tmp_path: Path) -> Path:
    """A root with nothing in it but what a pod takes of our image, in another place."""
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    shutil.copytree(perdure / "opt/perdure/agent", root / "some where" / "else")
    return root


def test_the_interpreter_for_pods_runs_where_there_is_nothing_else(bare: Path) -> None:
    probe = (
        "import ctypes, json, mmap, socket, subprocess, sys; "
        "again = [sys.executable, '-I', '-S', '-c', 'import sys; print(sys.executable)']; "
        "said = subprocess.run(again, stdout=subprocess.PIPE, text=True).stdout.strip(); "
        "print(json.dumps([sys.path, said, sys.argv]))"
    )
    path, executable, arguments = json.loads(
        run_in(bare, ["/some where/else/python", "-I", "-S", "-c", probe, "a", "b c"])
    )
    library = "/some where/else/lib"
    assert path == [f"{library}/python311.zip", f"{library}/python3.11", f"{library}/python3.11/lib-dynload"]
    assert executable == "/some where/else/python"
    assert arguments == ["-c", "a", "b c"]


def test_the_supervisors_load_with_the_interpreter_for_pods(bare: Path) -> None:
    modules = sorted(path.stem for path in (bare / "some where/else/shim").glob("*.py") if path.stem != "__main__")
    probe = (
        f"import sys; sys.path.insert(0, '/some where/else'); import {', '.join(f'shim.{name}' for name in modules)}"
    )
    run_in(bare, ["/some where/else/python", "-I", "-S", "-c", probe])
    assert len(modules) > 10
    agent = ["main", "ask"]
    assert [name for name in agent if not (bare / f"some where/else/agent/{name}.py").exists()] == []


def test_what_is_copied_into_every_pod_is_small(perdure: Path) -> None:
    files = [path for path in (perdure / "opt/perdure/agent").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 25 * MEGABYTE
    assert len(files) < 100


def test_the_packages_of_an_image_are_listed_for_scanners(perdure: Path) -> None:
    listed = (perdure / "var/lib/dpkg/status").read_text()
    blocks = [block for block in listed.split("\n\n") if block.strip()]
    assert all("Status: install ok installed" in block and "\nVersion: " in block for block in blocks)
    assert len(blocks) > 50
