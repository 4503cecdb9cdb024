"""Settings: one place, one prefix, and refusals that name the variable."""

from datetime import timedelta
from pathlib import Path

import pytest

from definitions.errors import PerdureError
from workers.settings import Settings, documentation, load


def test_every_setting_has_a_description_and_its_line_in_the_documentation() -> None:
    page = documentation()
    for name, field in Settings.model_fields.items():
        assert field.description
        assert f"| `PERDURE_{name.upper()}` |" in page


def test_quantities_are_written_as_in_job_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_RETENTION", "720h")
    monkeypatch.setenv("PERDURE_SNAPSHOT_MAX_BYTES", "1Gi")
    found = load()
    assert (found.retention, found.snapshot_max_bytes) == (timedelta(days=30), 1024**3)


def test_all_faulty_variables_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_API_PORT", "0")
    monkeypatch.setenv("PERDURE_DRAIN", "soon")
    monkeypatch.setenv("PERDURE_RETENTION", "1m")
    with pytest.raises(PerdureError, match=r"PERDURE_API_PORT.*PERDURE_RETENTION.*PERDURE_DRAIN.*\[PD-4012\]"):
        load()


def test_paths_and_addresses_follow_from_home_and_ports(tmp_path: Path) -> None:
    found = Settings(home=tmp_path, temporal_port=7300, public_url="https://gpu.example/")
    assert found.database == f"sqlite:///{tmp_path}/control.db"
    assert (found.engine_address, found.api_url) == ("127.0.0.1:7300", "https://gpu.example")
    assert found.ui_url == "http://127.0.0.1:8233"
