"""Documents of Kubernetes become jobs, and not one line of them is lost in silence."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from definitions.importing import NoteKind
from definitions.spec_errors import SpecError
from definitions.yaml_writer import dump
from policies.imports.kinds import KINDS
from policies.imports.kubernetes import translate

FOLDER = Path(__file__).parent
SAMPLES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def shown(name: str) -> str:
    (found,) = translate((FOLDER / f"{name}.yaml").read_text(), f"{name}.yaml", cluster="north")
    return dump(found.document) + "".join(f"# {note.text(f'{name}.yaml')}\n" for note in found.notes)


@pytest.mark.parametrize("name", SAMPLES)
def test_each_sample_gives_the_job_and_the_notes_that_were_agreed(name: str) -> None:
    assert shown(name) == (FOLDER / f"{name}.expected").read_text()


def test_there_is_a_sample_of_every_kind() -> None:
    kinds = {yaml.safe_load((FOLDER / f"{name}.yaml").read_text())["kind"] for name in SAMPLES}
    assert kinds == {kind for _, kind in KINDS}


def mappings(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a field could be added."""
    if isinstance(data, dict):
        return [path, *(found for key, value in data.items() for found in mappings(value, (*path, key)))]
    if isinstance(data, list):
        return [found for index, value in enumerate(data) for found in mappings(value, (*path, index))]
    return []


@pytest.mark.parametrize("name", SAMPLES)
@given(data=st.data())
def test_a_field_that_nobody_knows_is_named_wherever_it_stands(name: str, data: st.DataObject) -> None:
    written = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    document = json.loads(json.dumps(written))  # without aliases, which show one line in two places
    opaque = ("nodeSelector", "affinity", "tolerations", "volumes", "status", "labels")
    places = [path for path in mappings(document) if not any(part in opaque for part in path)]
    place = data.draw(st.sampled_from(places))
    target = document
    for step in place:
        target = target[step]
    target["somethingElse"] = data.draw(st.sampled_from([1, "text", ["x"], {"deep": {"er": True}}]))
    (found,) = translate(yaml.safe_dump(document, sort_keys=False), "x.yaml")
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")
    named = [note.path for note in found.notes if note.kind is NoteKind.DROPPED]
    path = f"{steps}.somethingElse".removeprefix(".")
    assert any(path == dropped or path.startswith((f"{dropped}.", f"{dropped}[")) for dropped in named)
    assert "somethingElse" not in dump(found.document)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("apiVersion: apps/v1\nkind: Deployment\n", "Deployment of apps cannot be imported"),
        ("apiVersion: batch/v1\nkind: Jobb\n", "Did you mean Job?"),
        ("apiVersion: kubeflow.org/v1\nkind: Job\n", "Job of kubeflow.org cannot be imported"),
        ("a: [1\n", ""),
        ("", "there is no document"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=r"x\.yaml") as refusal:
        translate(text, "x.yaml")
    assert words in str(refusal.value)


def test_several_documents_become_several_jobs() -> None:
    both = "---\n".join((FOLDER / f"{name}.yaml").read_text() for name in ("job", "mpijob"))
    assert [one.document["metadata"]["name"] for one in translate(both, "x.yaml")] == ["train", "pi"]


@pytest.mark.parametrize("value", ["lots", "", "1.5.5", "-"])
def test_a_quantity_that_is_none_is_dropped_with_its_line(value: str) -> None:
    document = yaml.safe_load((FOLDER / "job.yaml").read_text())
    document["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"memory": value}}
    (found,) = translate(yaml.safe_dump(document), "x.yaml")
    (note,) = [note for note in found.notes if note.path.endswith("limits.memory")]
    assert note.kind is NoteKind.DROPPED
    assert "memory" not in found.document["spec"].get("resources", {})
