"""An image's archive is a valid OCI layout, the same for the same content, and its tag names that content."""

import gzip
import hashlib
from pathlib import Path

from deploy.images import oci
from deploy.images.machine import MACHINES
from deploy.images.tree import File, Tree
from tests.support.oci_layout import read_image

X86, ARM = MACHINES["x86_64"], MACHINES["aarch64"]
SETTINGS = {"User": "1000:1000", "Cmd": ["/bin/hello"]}


def layer(folder: Path, name: str, data: bytes) -> oci.Layer:
    tree = Tree()
    tree[f"bin/{name}"] = File(data, 0o755)
    return oci.write_layer(tree, folder / f"{name}.tar.gz", f"made of {name}")


def saved(folder: Path, image: oci.Image) -> Path:
    oci.save(image, folder / "image.tar")
    return folder / "image.tar"


def test_every_digest_size_and_media_type_is_right(tmp_path: Path) -> None:
    layers = [layer(tmp_path, "hello", b"one"), layer(tmp_path, "again", b"two" * 10_000)]
    image = oci.assemble("perdure-test", X86, layers, SETTINGS)
    read = read_image(saved(tmp_path, image))
    assert read.config["config"] == SETTINGS
    assert (read.config["architecture"], read.config["os"]) == ("amd64", "linux")
    uncompressed = [f"sha256:{hashlib.sha256(gzip.decompress(packed)).hexdigest()}" for packed in read.layers]
    assert read.config["rootfs"] == {"type": "layers", "diff_ids": uncompressed}
    assert [entry["created_by"] for entry in read.config["history"]] == ["made of hello", "made of again"]


def test_it_is_named_by_its_content_and_as_the_latest_where_a_runtime_looks_for_short_names(tmp_path: Path) -> None:
    image = oci.assemble("perdure-test", X86, [layer(tmp_path, "hello", b"one")], SETTINGS)
    prefix = "docker.io/library/perdure-test"
    assert read_image(saved(tmp_path, image)).names == [f"{prefix}:{image.tag}", f"{prefix}:latest"]


def test_the_same_content_is_the_same_archive_byte_for_byte(tmp_path: Path) -> None:
    written = []
    for attempt in ("first", "second"):
        folder = tmp_path / attempt
        folder.mkdir()
        image = oci.assemble("perdure-test", X86, [layer(folder, "hello", b"one")], SETTINGS)
        written.append(saved(folder, image).read_bytes())
    assert written[0] == written[1]


def test_other_content_machine_or_settings_is_another_tag(tmp_path: Path) -> None:
    one, two = layer(tmp_path, "one", b"1"), layer(tmp_path, "two", b"2")
    images = [
        oci.assemble("perdure-test", X86, [one], SETTINGS),
        oci.assemble("perdure-test", X86, [two], SETTINGS),
        oci.assemble("perdure-test", X86, [one, two], SETTINGS),
        oci.assemble("perdure-test", X86, [two, one], SETTINGS),
        oci.assemble("perdure-test", ARM, [one], SETTINGS),
        oci.assemble("perdure-test", X86, [one], {**SETTINGS, "User": "0"}),
    ]
    assert len({image.tag for image in images}) == len(images)
