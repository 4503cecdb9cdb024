"""Sealed payloads on the real engine: nothing of a job's words in its database, and keys that follow each other."""

import asyncio
import base64
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.worker import Replayer

from definitions.search_attributes import ALL
from definitions.states import FailureClass, Phase
from store.sealing import Keys
from tests.support.debian_postgres import Postgres
from tests.support.minio import Minio
from tests.support.polling import eventually
from tests.support.production import Engine, ProductionStack
from tests.support.stack import running
from workers.payloads import data_converter, load_payload_keys
from workers.workflow_runner import workflow_runner
from workflows.job import JobWorkflow

pytestmark = [pytest.mark.production, pytest.mark.timeout(600)]

WAITS = "until [ -e {} ]; do sleep 0.2; done"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "payload.keys"
    write(file, new_key())
    return file


@pytest.fixture(scope="module")
def sealed(
    engine: Engine, postgres: Postgres, minio: Minio, keys: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProductionStack]:
    home = tmp_path_factory.mktemp("sealed") / "home"
    with running(ProductionStack(home, engine, postgres, minio, PERDURE_PAYLOAD_KEYS_FILE=str(keys))) as stack:
        yield stack


def new_key() -> str:
    return base64.b64encode(secrets.token_bytes(32)).decode()


def write(file: Path, *lines: str) -> None:
    file.write_text("\n".join(lines) + "\n")
    file.chmod(0o600)


def in_the_engine(stack: ProductionStack, words: str) -> bool:
    """Whether the engine's databases hold these words, as text or as bytes."""
    texts = [stack.postgres.text(database) for database in stack.engine.databases]
    return any(words in text or words.encode().hex() in text for text in texts)


def test_nothing_of_a_jobs_words_can_be_read_in_the_engines_database(
    sealed: ProductionStack, stack: ProductionStack
) -> None:
    for control_plane, readable in ((stack, True), (sealed, False)):
        argv, name, variable = (f"{kind}-{secrets.token_hex(8)}" for kind in ("argv", "name", "variable"))
        spec = {"command": ["sh", "-c", f"echo {argv}; exit 3"], "env": {"WORDS": variable}, "retry": {"limit": 0}}
        over = control_plane.until(control_plane.submit(spec, name=name))
        assert over["exitCode"] == 3
        assert in_the_engine(control_plane, over["id"]), "the scan finds what is there"
        found = {words: in_the_engine(control_plane, words) for words in (argv, name, variable)}
        assert found == dict.fromkeys((argv, name, variable), readable)


def test_what_is_searched_by_holds_ids_and_words_of_ours_only(sealed: ProductionStack) -> None:
    sealed.until(sealed.submit({"command": ["false"], "retry": {"limit": 0}}, name="told-nobody"))
    allowed = {"default", "local", *map(str, Phase), *map(str, FailureClass)}
    for name, values in asyncio.run(search_attributes(sealed)).items():
        assert set(values) <= allowed, name


async def search_attributes(stack: ProductionStack) -> dict[str, list[str]]:
    client = await Client.connect(stack.temporal_address, namespace=stack.namespace)
    found: dict[str, list[str]] = {}
    async for entry in client.list_workflows():
        for pair in entry.typed_search_attributes:
            if pair.key.name in {key.name for key in ALL}:
                found.setdefault(pair.key.name, []).append(str(pair.value))
    assert found
    return found


async def test_a_history_replays_with_its_key_and_says_which_one_is_missing(
    sealed: ProductionStack, keys: Path
) -> None:
    over = await asyncio.to_thread(lambda: sealed.until(sealed.submit({"command": ["true"]})))
    client = await Client.connect(sealed.temporal_address, namespace=sealed.namespace)
    history = await client.get_workflow_handle(f"job/default/{over['id']}").fetch_history()
    await replayer(load_payload_keys(keys)).replay_workflow(history)
    with pytest.raises(Exception, match="is sealed with key"):
        await replayer(None).replay_workflow(history)


def replayer(keys: Keys | None) -> Replayer:
    return Replayer(workflows=[JobWorkflow], data_converter=data_converter(keys), workflow_runner=workflow_runner())


def test_keys_follow_each_other_while_jobs_run_and_a_missing_one_is_named(
    sealed: ProductionStack, keys: Path, tmp_path: Path
) -> None:
    old, new = keys.read_text().strip(), new_key()
    early = sealed.submit({"shell": WAITS.format(tmp_path / "go")}, name="early")
    sealed.until(early, ["Running"])
    sealed.down()

    write(keys, new)  # the old key is lost: what it sealed waits, and the log says for which key
    sealed.up()
    late = sealed.submit({"shell": WAITS.format(tmp_path / "go")}, name="late")
    sealed.until(late, ["Running"])
    (tmp_path / "go").touch()
    assert sealed.until(late)["phase"] == "Succeeded"
    log = sealed.home / "logs" / "worker.log"
    eventually(lambda: "was sealed with key" in log.read_text(), 60, "the missing key named in the worker's log")
    assert sealed.job(early)["phase"] == "Running"
    finding = next(each for each in sealed.ask("GET", "/doctor").json()["findings"] if each["check"] == "payloads")
    assert (finding["status"], finding["code"]) == ("failed", "PD-4102")

    sealed.down()
    write(keys, new, old)
    sealed.up()
    assert sealed.until(early)["phase"] == "Succeeded"
