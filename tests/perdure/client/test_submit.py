"""Submitting through the client to the real API: the folder is kept once, and the job names it."""

from pathlib import Path

import pytest

from activities.snapshots import extract
from definitions.object_keys import snapshot_key
from perdure import AsyncClient, Client, PerdureApiError, PerdureError, PerdureUnreachable, SnapshotRefused
from perdure.client import _models as models
from perdure.client.documents import Document
from perdure.client.exchange import Target
from perdure.client.submitting import drafting, request, sending
from perdure.snapshot import take
from tests.perdure.live import JOB_YAML, Live

JOB = {
    "apiVersion": "perdure/v1",
    "kind": "Job",
    "metadata": {"name": "digits"},
    "spec": {"command": ["python", "train.py"]},
}


def test_a_submitted_folder_comes_back_byte_for_byte(live: Live, client: Client, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "sub" / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("sub/run.sh")
    run = client.submit(JOB)
    digest = run.view.snapshot
    assert digest is not None
    extract(live.objects, snapshot_key("acme", "default", digest), digest, live.home.parent / "out")
    out = live.home.parent / "out"
    assert (out / "train.py").read_text() == "print('hello')\n"
    assert (out / "sub" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (out / "link").readlink() == Path("sub/run.sh")


def test_a_folder_that_is_kept_already_is_not_sent_again(live: Live, client: Client, folder: Path) -> None:
    first = client.submit(JOB)
    told: list[str] = []
    second = client.submit({**JOB, "metadata": {"name": "again"}}, progress=lambda what, done, total: told.append(what))
    assert first.view.snapshot == second.view.snapshot
    assert set(told) == {"reading"}


def test_a_plan_neither_writes_nor_uploads_anything(live: Live, client: Client, folder: Path) -> None:
    before = live.world.dump()
    draft = client.run(drafting(request(JOB)))
    plan = client.plan(draft)
    assert (plan.name, plan.workdir.mode, plan.workdir.sha256) == (
        "digits",
        "snapshot",
        draft.snapshot and draft.snapshot.sha256,
    )
    assert live.world.dump() == before
    assert live.objects.list("") == []


def test_a_file_that_changes_after_the_plan_is_taken_as_it_is_at_the_submit(client: Client, folder: Path) -> None:
    draft = client.run(drafting(request(JOB)))
    (folder / "train.py").write_text("print('changed meanwhile')\n")
    view = client.run(sending(draft))
    assert view.snapshot == take(folder).sha256
    assert draft.snapshot is not None
    assert view.snapshot != draft.snapshot.sha256


def test_a_folder_that_never_rests_is_refused_in_the_end(client: Client, folder: Path) -> None:
    draft = client.run(drafting(request(JOB)))
    number = iter(range(100))

    def meddle(what: str, done: int, total: int) -> None:
        if what == "reading again":
            (folder / f"new-{next(number)}").write_text("x")
            (folder / "train.py").write_text(f"print({next(number)})\n")

    (folder / "train.py").write_text("print('changed')\n")
    with pytest.raises(SnapshotRefused, match=r"train\.py changed"):
        client.run(sending(draft, meddle))


def test_yaml_text_a_file_and_a_model_submit_the_same_job(client: Client, folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB_YAML)
    typed = models.Job(
        api_version="perdure/v1",
        kind="Job",
        metadata=models.Metadata(name="digits", labels={"team": "vision"}),
        spec=models.JobSpec(command=["python", "train.py"], timeout="1h"),
    )
    documents = []
    forms: list[Document] = [JOB_YAML, folder / "job.yaml", typed]
    for number, form in enumerate(forms):
        view = client.submit(form, name=f"digits-{number}").view
        assert view.spec is not None
        documents.append({**view.spec, "metadata": {**view.spec["metadata"], "name": "digits"}})
    assert documents[0] == documents[1] == documents[2]


def test_faults_of_a_file_are_told_with_their_lines(client: Client, folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB_YAML.replace("command:", "comand:").replace("1h", "1:00:00"))
    with pytest.raises(PerdureApiError) as refusal:
        client.submit(folder / "job.yaml")
    assert refusal.value.exit_code == 2
    places = [fault.where for fault in refusal.value.errors]
    assert any(place and place.startswith(f"{folder / 'job.yaml'}:7:") for place in places), places


@pytest.mark.parametrize("mode", ["none", "live"])
def test_a_job_without_a_copy_looks_at_no_file(live: Live, client: Client, folder: Path, mode: str) -> None:
    (folder / "bad").symlink_to("/etc")
    document = {**JOB, "spec": {"command": ["true"], "workdir": {"mode": mode}}}
    view = client.submit(document).view
    assert view.snapshot is None
    assert view.spec is not None
    assert view.spec["spec"]["workdir"]["mode"] == mode


def test_a_text_that_wants_no_copy_is_understood_before_the_folder_is_read(client: Client, folder: Path) -> None:
    (folder / "bad").symlink_to("/etc")
    with pytest.raises(SnapshotRefused):
        client.submit(JOB_YAML)
    assert client.submit(JOB_YAML + "  workdir: {mode: none}\n").view.snapshot is None


def test_the_folder_of_a_file_may_be_named_relative_to_it(live: Live, client: Client, folder: Path) -> None:
    (folder / "jobs").mkdir()
    (folder / "code").mkdir()
    (folder / "code" / "only.py").write_text("1\n")
    (folder / "jobs" / "job.yaml").write_text(JOB_YAML + "  workdir: {mode: snapshot, path: ../code}\n")
    digest = client.submit(folder / "jobs" / "job.yaml").view.snapshot
    assert digest is not None
    extract(live.objects, snapshot_key("acme", "default", digest), digest, live.home.parent / "out")
    assert [path.name for path in (live.home.parent / "out").iterdir()] == ["only.py"]


def test_where_a_job_comes_from_is_sent_and_nothing_else_of_the_environment(folder: Path, live: Live) -> None:
    given = {"PATH": "/usr/bin", "VIRTUAL_ENV": "/venv", "AWS_SECRET": "s3cr3t"}
    with live.client() as client:
        draft = client.run(drafting(request(JOB), environment=given))
    sent = draft.body.model_dump(mode="json", exclude_unset=True)["submission"]
    assert sent["baseEnv"] == {"PATH": "/usr/bin", "VIRTUAL_ENV": "/venv"}
    assert sent["cwd"] == str(folder)


async def test_the_asynchronous_twin_submits_and_reads_the_same(live: Live, folder: Path) -> None:
    async with AsyncClient.from_env(live.environment) as client:
        run = await client.submit(JOB)
        assert run.view.snapshot is not None
        live.world.end(run.id)
        assert (await run.wait()).phase is models.Phase.SUCCEEDED
        assert [job.name async for job in client.jobs.each()] == ["digits"]


def test_nothing_at_the_address_is_one_clear_error() -> None:
    with Client("http://127.0.0.1:9", tries=1) as client, pytest.raises(PerdureUnreachable) as unreachable:
        client.system.health()
    assert (unreachable.value.code, unreachable.value.exit_code) == ("PD-2900", 8)
    assert "perdure up" in unreachable.value.remedy


def test_the_admin_token_is_sent_to_this_machine_alone(live: Live) -> None:
    elsewhere = {**live.environment, "PERDURE_API_URL": "https://api.example.org"}
    assert Client.from_env(elsewhere).target == Target("https://api.example.org", None, None)
    assert Client.from_env({**elsewhere, "PERDURE_API_KEY": "pd_live_x"}).target.key == "pd_live_x"
    assert Client.from_env(live.environment).target.key == live.world.key()


def test_a_submit_names_the_jobs_that_come_first(client: Client, folder: Path) -> None:
    first = client.submit(JOB_YAML, name="prepare").view
    second = client.submit(JOB_YAML, name="train", after=["prepare"]).view
    third = client.submit(JOB_YAML, name="report", after=[f"{first.id}:any", "train:fail"]).view
    shown = [[(one.job, one.outcome) for one in client.jobs.get(each.id).after] for each in (second, third)]
    assert shown == [[(first.id, "succeeded")], [(first.id, "finished"), (second.id, "failed")]]
    with pytest.raises(PerdureError, match="does not read as JOB") as refused:
        client.submit(JOB_YAML, name="other", after=["train:never"])
    assert refused.value.where == "after"
