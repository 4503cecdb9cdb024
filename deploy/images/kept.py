"""Layers that were built before, found again by a key of all that they are made from."""

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

from deploy.images.oci import Layer, write_layer
from deploy.images.tree import Tree

RECIPE = Path(__file__).parent
# Another version of whatever may have a hand in a layer makes another layer: building anew costs a minute, a layer that
# nobody can build again costs trust.
ALWAYS = tuple(sorted(path.name for path in RECIPE.iterdir() if path.suffix in (".py", ".c")))
KEPT_FOR = timedelta(days=30)


class KeptLayers:
    """A folder of layers. Two processes must not use it at the same time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def layer(
        self, made_of: str, inputs: Iterable[str | bytes], programs: Iterable[str], build: Callable[[Path], Tree]
    ) -> tuple[Layer, bool]:
        """The layer made from these inputs by these programs of this folder, and whether it was there.

        `build` gets a scratch folder for its files. A build that dies leaves nothing that could be taken for a layer.
        """
        place = self._folder / key(made_of, recipe(programs), *inputs)
        was_there = place.exists()
        if not was_there:
            self._build(place, made_of, build)
        os.utime(place)
        kept = json.loads((place / "layer.json").read_text())
        return Layer(**(kept | {"file": place / kept["file"]})), was_there

    def forget_unused(self) -> None:
        """Remove layers that no build has asked for in a month, and what died builds left."""
        for place in self._folder.glob("*"):
            if time.time() - place.stat().st_mtime > KEPT_FOR.total_seconds():
                shutil.rmtree(place)

    def _build(self, place: Path, made_of: str, build: Callable[[Path], Tree]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix="new-") as scratch:
            ready = Path(scratch) / "ready"
            ready.mkdir()
            layer = write_layer(build(Path(scratch)), ready / "layer.tar.gz", made_of)
            (ready / "layer.json").write_text(json.dumps(asdict(layer) | {"file": layer.file.name}))
            ready.rename(place)


def key(*inputs: str | bytes) -> str:
    """One name for these inputs in this order."""
    digest = hashlib.sha256()
    for given in inputs:
        data = given.encode() if isinstance(given, str) else given
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def recipe(programs: Iterable[str]) -> str:
    """A digest of these programs of this folder, and of those that write every layer."""
    return key(*((RECIPE / name).read_bytes() for name in (*ALWAYS, *programs)))
