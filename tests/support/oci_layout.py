"""Reading an image archive as a registry or a runtime would: every digest and size is checked on the way."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True)
class ReadImage:
    names: list[str]
    digest: str
    config: dict[str, Any]
    layers: list[bytes]  # compressed

    def entries(self) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(layer), mode="r:gz") as archive:
                for entry in archive:
                    yield archive, entry

    def unpack(self, folder: Path) -> None:
        """Write the layers over each other, as root with their owners."""
        for layer in self.layers:
            with tarfile.open(fileobj=io.BytesIO(layer), mode="r:gz") as archive:
                archive.extractall(folder, filter="fully_trusted")


def read_image(file: Path) -> ReadImage:
    """The image in an archive with an OCI layout; fails when anything in it is not what its descriptor says."""
    with tarfile.open(file) as archive:
        blobs = {entry.name: _content(archive, entry) for entry in archive if entry.isfile()}
    assert json.loads(blobs.pop("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads(blobs.pop("index.json"))
    assert (index["schemaVersion"], index["mediaType"]) == (2, INDEX)
    seen = {entry["digest"] for entry in index["manifests"]}
    assert len(seen) == 1
    manifest = json.loads(_blob(blobs, index["manifests"][0], MANIFEST))
    assert (manifest["schemaVersion"], manifest["mediaType"]) == (2, MANIFEST)
    config = json.loads(_blob(blobs, manifest["config"], CONFIG))
    layers = [_blob(blobs, layer, LAYER) for layer in manifest["layers"]]
    named = {f"blobs/{digest.replace(':', '/')}" for digest in seen | {manifest["config"]["digest"]}}
    named |= {f"blobs/{layer['digest'].replace(':', '/')}" for layer in manifest["layers"]}
    assert set(blobs) == named
    names = [entry["annotations"]["io.containerd.image.name"] for entry in index["manifests"]]
    return ReadImage(names, index["manifests"][0]["digest"], config, layers)


def _blob(blobs: dict[str, bytes], descriptor: dict[str, Any], kind: str) -> bytes:
    data = blobs[f"blobs/{descriptor['digest'].replace(':', '/')}"]
    assert descriptor["mediaType"] == kind
    assert descriptor["size"] == len(data)
    assert descriptor["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    return data


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    content = archive.extractfile(entry)
    assert content is not None
    return content.read()
