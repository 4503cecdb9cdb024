"""Clusters of this machine that have chosen ports and a network and may not use them yet: two that start at once must
not choose the same."""

import secrets
from pathlib import Path

from deploy.testcluster import cache, layout
from deploy.testcluster.errors import ClusterError
from deploy.testcluster.layout import Layout
from deploy.testcluster.progress import Say


def choose(folder: Path, say: Say) -> Layout:
    """A layout for a new cluster, written down, that shares nothing with those of others. Raises ClusterError."""
    with cache.only_one("the layout of a cluster", say):
        made = layout.new(folder, others())
        made.save()
        (_list() / secrets.token_hex(8)).write_text(str(made.folder))
    return made


def others() -> list[Layout]:
    """Of all clusters that were not ended. Forgets those that were."""
    found = []
    for entry in sorted(_list().iterdir()):
        try:
            found.append(layout.load(Path(entry.read_text())))
        except (ClusterError, ValueError, TypeError, OSError):
            entry.unlink(missing_ok=True)
    return found


def _list() -> Path:
    folder = cache.folder() / "clusters"
    folder.mkdir(exist_ok=True)
    return folder
