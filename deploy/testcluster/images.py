"""Images without an image builder: OCI layouts as archives, written by hand from layers."""

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.testcluster.errors import ClusterError

BASE = "perdure.test/busybox:1"
PAUSE = "perdure.test/pause:1"
APPLETS = (
    "sh",
    "sleep",
    "cat",
    "echo",
    "nc",
    "nslookup",
    "wget",
    "ls",
    "id",
    "mkdir",
    "rm",
    "true",
    "false",
    "env",
    "dd",
)
OCI = "application/vnd.oci.image"


@dataclass(frozen=True)
class Image:
    """`layers` are uncompressed tar archives; `config` is the image's runtime configuration (`Cmd`, `Env`, …)."""

    name: str
    layers: Sequence[bytes]
    config: Mapping[str, Any]


def write_base(path: Path) -> Path:
    """The archive of the two images that every node has: a small shell with tools, and what holds a pod together."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise ClusterError("no busybox on this machine; install the Debian package busybox-static")
    layer = _busybox_layer(Path(busybox).read_bytes())
    # A pause container needs no more than to stay.
    pause = {"Entrypoint": ["/bin/busybox", "sleep", "2147483647"]}
    write(path, [Image(BASE, [layer], {"Cmd": ["/bin/sh"]}), Image(PAUSE, [layer], pause)])
    return path


def write(path: Path, images: Sequence[Image]) -> None:
    """Write images as one OCI layout in a tar file. The same images give the same bytes."""
    blobs: dict[str, bytes] = {}
    manifests = [{**_add(blobs, image), "annotations": {"io.containerd.image.name": image.name}} for image in images]
    index = {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": manifests}
    with tarfile.open(path, "w") as archive:
        _put(archive, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        _put(archive, "index.json", json.dumps(index).encode())
        for digest, content in sorted(blobs.items()):
            _put(archive, f"blobs/sha256/{digest}", content)


def _add(blobs: dict[str, bytes], image: Image) -> dict[str, Any]:
    layers = [_blob(blobs, layer, f"{OCI}.layer.v1.tar") for layer in image.layers]
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin"], **image.config},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{OCI}.manifest.v1+json",
        "config": _blob(blobs, json.dumps(config).encode(), f"{OCI}.config.v1+json"),
        "layers": layers,
    }
    return _blob(blobs, json.dumps(manifest).encode(), f"{OCI}.manifest.v1+json")


def _blob(blobs: dict[str, bytes], content: bytes, media_type: str) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    blobs[digest] = content
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def _busybox_layer(program: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        _put(layer, "bin/busybox", program, mode=0o755)
        for applet in APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            layer.addfile(link)
        scratch = tarfile.TarInfo("tmp")
        scratch.type, scratch.mode = tarfile.DIRTYPE, 0o1777
        layer.addfile(scratch)
    return buffer.getvalue()


def _put(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    archive.addfile(member, io.BytesIO(content))
