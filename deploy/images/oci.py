"""Images as files: layers, configuration, manifest and index as the OCI image format has them.

An image's tag is taken from the digest of its configuration, which lists the layers' uncompressed digests: it names the
content, whatever compressor wrote the layers.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.images.machine import Machine
from deploy.images.streams import Digested, Gzipped
from deploy.images.tree import File, Tree

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CREATED = "2000-01-01T00:00:00Z"
# A runtime completes a short name with this before it looks for the image.
NAMESPACE = "docker.io/library"
TAG_LENGTH = 12


@dataclass(frozen=True)
class Layer:
    """One compressed layer on disk. `content` is the digest of the tar, `digest` that of the file."""

    file: Path
    made_of: str
    content: str
    digest: str
    size: int


@dataclass(frozen=True)
class Image:
    name: str
    tag: str
    config: bytes
    manifest: bytes
    layers: tuple[Layer, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return f"{self.name}:{self.tag}", f"{self.name}:latest"


def write_layer(tree: Tree, file: Path, made_of: str) -> Layer:
    """Write the tree as a compressed layer to a new file."""
    with file.open("wb") as raw:
        compressed = Digested(raw)
        packed = Gzipped(compressed)
        content = Digested(packed)
        tree.write(content)
        packed.finish()
    return Layer(file, made_of, content.digest, compressed.digest, compressed.size)


def assemble(name: str, machine: Machine, layers: Sequence[Layer], settings: Mapping[str, Any]) -> Image:
    """An image of these layers, from the lowest; `settings` is what a container of it is started with."""
    config = _json(
        {
            "created": CREATED,
            "architecture": machine.oci,
            "os": "linux",
            "config": dict(settings),
            "rootfs": {"type": "layers", "diff_ids": [layer.content for layer in layers]},
            "history": [{"created": CREATED, "created_by": layer.made_of} for layer in layers],
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": _descriptor(CONFIG, config),
            "layers": [{"mediaType": LAYER, "digest": layer.digest, "size": layer.size} for layer in layers],
        }
    )
    return Image(name, _digest(config).removeprefix("sha256:")[:TAG_LENGTH], config, manifest, tuple(layers))


def save(image: Image, file: Path) -> None:
    """Write the image as a tar with an OCI layout, under both of its names."""
    named = [
        _descriptor(MANIFEST, image.manifest)
        | {"annotations": {"io.containerd.image.name": f"{NAMESPACE}/{name}", "org.opencontainers.image.ref.name": tag}}
        for name, tag in ((name, name.rpartition(":")[2]) for name in image.names)
    ]
    small = {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json({"schemaVersion": 2, "mediaType": INDEX, "manifests": named}),
        _blob(_digest(image.config)): image.config,
        _blob(_digest(image.manifest)): image.manifest,
    }
    layout = Tree()
    for path, data in small.items():
        layout[path] = File(data)
    for layer in image.layers:
        layout[_blob(layer.digest)] = File(layer.file)
    unfinished = file.with_name(file.name + ".new")
    with unfinished.open("wb") as stream:
        layout.write(stream)
    unfinished.replace(file)


def _descriptor(kind: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": kind, "digest": _digest(data), "size": len(data)}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
