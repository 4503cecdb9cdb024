"""Where the API is, and with which key."""

import json
from pathlib import Path

import pytest

from perdure import PerdureError
from perdure.client.config import DEFAULT_URL, from_environment
from perdure.client.exchange import Target

LOCAL = "http://127.0.0.1:18642"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "endpoint.json").write_text(json.dumps({"api": LOCAL, "ui": "http://127.0.0.1:1"}))
    (tmp_path / "admin.token").write_text("pd_live_local\n")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ({}, Target(LOCAL, "pd_live_local", None)),
        ({"PERDURE_PROJECT": "vision"}, Target(LOCAL, "pd_live_local", "vision")),
        ({"PERDURE_API_KEY": "pd_live_mine"}, Target(LOCAL, "pd_live_mine", None)),
        ({"PERDURE_API_URL": LOCAL + "/"}, Target(LOCAL + "/", "pd_live_local", None)),
        ({"PERDURE_API_URL": "https://far.example.org"}, Target("https://far.example.org", None, None)),
        (
            {"PERDURE_API_URL": "https://far.example.org", "PERDURE_API_KEY": "pd_live_far"},
            Target("https://far.example.org", "pd_live_far", None),
        ),
        ({"PERDURE_API_URL": "", "PERDURE_PROJECT": ""}, Target(LOCAL, "pd_live_local", None)),
    ],
)
def test_the_environment_comes_first_and_the_home_fills_in(home: Path, given: dict[str, str], target: Target) -> None:
    assert from_environment({"PERDURE_HOME": str(home), **given}) == target


def test_without_a_home_the_default_address_is_tried(tmp_path: Path) -> None:
    assert from_environment({"PERDURE_HOME": str(tmp_path / "none")}) == Target(DEFAULT_URL, None, None)


@pytest.mark.parametrize(
    ("content", "words"), [("{", "does not hold"), ("[]", "does not hold"), ('{"api": "ftp://x"}', "no address")]
)
def test_a_damaged_file_is_named(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "endpoint.json").write_text(content)
    with pytest.raises(PerdureError, match=words) as error:
        from_environment({"PERDURE_HOME": str(tmp_path)})
    assert error.value.where == str(tmp_path / "endpoint.json")
    assert error.value.code == "PD-2906"


def test_an_address_that_is_none_is_refused(home: Path) -> None:
    with pytest.raises(PerdureError, match="no address"):
        from_environment({"PERDURE_HOME": str(home), "PERDURE_API_URL": "127.0.0.1:8642"})
