"""The project's two container images, built once for a session and given to the nodes of its cluster."""

import sys
from dataclasses import dataclass
from pathlib import Path

from deploy.images.builder import NAMES, Built, build
from tests.support.cluster import TestCluster


@dataclass(frozen=True)
class Images:
    """Names under which pods get them; with `imagePullPolicy: Never`, for there is no registry."""

    training: str
    perdure: str


def built_images(folder: Path, *, upgrade: bool = False) -> dict[str, Built]:
    """Both images as files, by `training` and `perdure`. What did not change comes from the cache."""
    return build(folder, list(NAMES), _say, upgrade=upgrade)


def load_images(cluster: TestCluster, built: dict[str, Built]) -> Images:
    """Give the images to every real node, under the names of their content."""
    for image in built.values():
        cluster.load_image(image.file)
    return Images(training=built["training"].name, perdure=built["perdure"].name)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
