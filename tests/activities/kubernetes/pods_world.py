"""The world of real pods: images, an object store that pods reach, and this machine, on which all nodes are."""

import contextlib
from pathlib import Path

from activities.adapters.kubernetes.kinds import Kind
from activities.adapters.kubernetes.naming import job_labels, selector
from definitions.attempt import AttemptRef
from definitions.places import PlacedPod
from deploy.testcluster.kwok import FAKE
from tests.activities.kubernetes.world import KubernetesWorld
from tests.activities.local.world import mentioning


class PodsWorld(KubernetesWorld):
    """What the Runtime contract asks of a world, where attempts are real pods."""

    @property
    def places(self) -> tuple[PlacedPod, PlacedPod]:
        """Nodes that nobody simulates: others may play some on the same cluster."""
        nodes = [node["metadata"] for node in self.client.list(Kind.NODE)]
        names = sorted(meta["name"] for meta in nodes if not FAKE.keys() & (meta.get("annotations") or {}).keys())
        return PlacedPod(node=names[0]), PlacedPod(node=names[1])

    def living(self, marker: str) -> list[int]:
        """Processes of pods are processes of this machine too."""
        return mentioning(marker)

    def read(self, ref: AttemptRef, path: str) -> str | None:
        folder = self._volume(ref)
        with contextlib.suppress(FileNotFoundError):
            return None if folder is None else (folder / "run" / path).read_text()
        return None

    def _volume(self, ref: AttemptRef) -> Path | None:
        """The folder on this machine that is the job's volume."""
        labels = selector(job_labels(ref.tenant, ref.project, ref.job))
        for claim in self.client.list(Kind.PERSISTENT_VOLUME_CLAIM, labels=labels):
            name = claim["spec"].get("volumeName")
            volume = self.client.get(Kind.PERSISTENT_VOLUME, name) if name else None
            if volume is not None:
                return Path(volume["spec"]["hostPath"]["path"])
        return None
