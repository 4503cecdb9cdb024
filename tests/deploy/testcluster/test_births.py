"""Two clusters that start at once: what one has chosen is not the other's, though neither uses it yet."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deploy.testcluster import births, layout


def silent(_said: str) -> None:
    """Nobody reads along."""


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with ports for four clusters."""
    monkeypatch.setenv("PERDURE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(layout, "PORTS", range(20000, 20000 + 4 * len(layout.SERVERS)))
    monkeypatch.setattr(layout, "_free", lambda port: True)


def test_clusters_that_start_at_once_share_no_port_and_no_network(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool:
        made = list(pool.map(lambda number: births.choose(tmp_path / str(number), silent), range(4)))
    assert len({port for each in made for port in each.ports.values()}) == 4 * len(layout.SERVERS)
    assert len({each.block for each in made}) == len(made)


def test_what_an_ended_cluster_had_is_free_again(tmp_path: Path) -> None:
    for _ in range(8):
        made = births.choose(tmp_path / "one", silent)
        assert births.others() == [made]
        (made.folder / layout.FILE).unlink()
    assert births.others() == []
