"""Writing YAML: deterministic, short, and read back as the same by old tools and new."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from definitions.documents import parse_job
from definitions.job import Job
from definitions.yaml_loader import load
from definitions.yaml_writer import dump, to_yaml
from tests.definitions.strategies import job_documents, jobs, json_values, texts


@given(st.dictionaries(texts, json_values, min_size=1, max_size=4))
def test_what_is_written_is_read_back_by_any_tool(value: object) -> None:
    text = dump(value)
    assert load(text, source="x")[0].data == value
    assert yaml.safe_load(text) == value


@settings(max_examples=60)
@given(jobs)
def test_a_job_survives_being_written(job: Job) -> None:
    assert parse_job(to_yaml(job), "x", served_only=False) == job
    assert Job.model_validate_json(job.model_dump_json()) == job


@settings(max_examples=30)
@given(job_documents)
def test_the_same_job_is_written_the_same_however_it_was_made(document: dict[str, object]) -> None:
    job = Job.model_validate(document)
    filled = Job.model_validate_json(job.model_dump_json())
    assert to_yaml(filled) == to_yaml(job)


def test_only_what_differs_from_its_default_is_written_in_a_form_that_people_like() -> None:
    job = Job.model_validate(
        {
            "apiVersion": "perdure/v1",
            "kind": "Job",
            "metadata": {"name": "digits"},
            "spec": {
                "shell": "set -e\npython train.py\n",
                "env": {"LR": "0.001", "TOKEN": {"secret": "hub"}, "EMPTY": ""},
                "timeout": "90m",
                "retry": {"limit": 3, "backoff": {"initial": "30s"}},
                "secretFiles": [{"secret": "hub", "path": "a"}],
            },
        }
    )
    assert to_yaml(job) == (
        "apiVersion: perdure/v1\n"
        "kind: Job\n"
        "metadata:\n"
        "  name: digits\n"
        "spec:\n"
        "  shell: |\n"
        "    set -e\n"
        "    python train.py\n"
        "  env:\n"
        '    LR: "0.001"\n'
        "    TOKEN:\n"
        "      secret: hub\n"
        '    EMPTY: ""\n'
        "  secretFiles:\n"
        "    - secret: hub\n"
        "      path: a\n"
        "  timeout: 1h30m\n"
        "  retry:\n"
        "    backoff:\n"
        "      initial: 30s\n"
    )


@pytest.mark.parametrize("value", [{"a": object()}, {"a": [b"x"]}, {"a": {1, 2}}])
def test_what_is_no_json_value_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="no JSON value"):
        dump(value)
