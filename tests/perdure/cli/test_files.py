"""Files that hold a template or a schedule: looked at, applied, applied again."""

import json
from pathlib import Path

import yaml

from tests.api.world import schedule_document, template_document
from tests.perdure.cli.calling import Cli


def test_a_template_is_looked_at_before_it_is_stored(cli: Cli, folder: Path) -> None:
    (folder / "t.yaml").write_text(yaml.safe_dump(template_document()))
    for line in (("apply", "-f", "t.yaml"), ("templates", "create", "-f", "t.yaml")):
        assert json.loads(cli.ok(*line, "--dry-run", "--json", "version,versions")) == {"version": 1, "versions": [1]}
    assert json.loads(cli.ok("templates", "list", "--json"))["items"] == []
    cli.ok("apply", "-f", "t.yaml")
    assert json.loads(cli.ok("apply", "-f", "t.yaml", "--dry-run", "--json", "version,jobs"))["version"] == 1
    (folder / "t.json").write_text(json.dumps(template_document(default=7)))
    assert json.loads(cli.ok("apply", "-f", "t.json", "--dry-run", "--json=versions"))["versions"] == [1, 2]
    assert "version      1 of 1" in cli.ok("templates", "show", "finetune")


def test_a_file_of_any_kind_is_validated_and_its_faults_have_a_place(cli: Cli, folder: Path) -> None:
    kinds = {"finetune": template_document(), "nightly": schedule_document()}
    for name, document in kinds.items():
        (folder / "it.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
        assert cli.ok("validate", "-f", "it.yaml") == f"valid  {name}\n"
        (folder / "it.yaml").write_text(yaml.safe_dump({**document, "spek": {}}, sort_keys=False))
        wrong = cli("validate", "-f", "it.yaml")
        assert (wrong.code, "it.yaml:" in wrong.err, "spek" in wrong.err) == (2, True, True)
    for noun in ("templates", "schedules"):
        assert json.loads(cli.ok(noun, "list", "--json"))["items"] == []


def test_a_schedule_that_is_applied_again_is_unchanged_and_another_one_a_conflict(cli: Cli, folder: Path) -> None:
    file = folder / "s.yaml"
    document = schedule_document()
    document["spec"]["job"]["spec"]["workdir"] = {"mode": "snapshot"}
    file.write_text(yaml.safe_dump(document))
    (folder / ".perdureignore").write_text("*.yaml\n")
    cli.ok("apply", "-f", "s.yaml")
    again = cli("apply", "-f", "s.yaml", "-o", "name")
    assert (again.code, again.out, again.err) == (0, "nightly\n", "unchanged schedule nightly\n")
    file.write_text(yaml.safe_dump({**document, "spec": {**document["spec"], "cron": ["0 1 * * *"]}}))
    assert cli("apply", "-f", "s.yaml").code == 6


PODS = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  parallelism: 2
  template:
    spec:
      serviceAccountName: trainer
      containers:
        - {name: main, image: train, command: [python, train.py]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: nothing}
spec: {}
"""


def test_a_file_for_kubernetes_is_translated_and_what_goes_is_named_with_its_line(cli: Cli, folder: Path) -> None:
    (folder / "pods.yaml").write_text(PODS)
    result = cli("import", "kubernetes", "-f", "pods.yaml", "--cluster", "north")
    assert result.code == 0
    first, second = yaml.safe_load_all(result.out)
    assert (first["spec"]["nodes"], first["spec"]["cluster"]) == (2, "north")
    assert second["metadata"]["name"] == "nothing"
    assert "pods.yaml:8:7: dropped spec.template.spec.serviceAccountName: pods of jobs get no token" in result.err
    assert "job train: 1 changed, 1 dropped" in result.err
    assert "nothing: cannot be submitted as it stands: spec.command: nothing says what to run [PD-1112]" in result.err
    names = cli.ok("import", "kubernetes", "-f", "pods.yaml", "-o", "name")
    assert names == "train\nnothing\n"
    assert json.loads(cli.ok("jobs", "list", "--json"))["items"] == []


def test_a_file_of_a_kind_that_cannot_be_translated_is_refused_with_its_place(cli: Cli, folder: Path) -> None:
    (folder / "web.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\n")
    result = cli("import", "kubernetes", "-f", "web.yaml")
    assert (result.code, result.out) == (2, "")
    assert "web.yaml:1:1" in result.err
    assert "Deployment of apps cannot be imported" in result.err
