"""Sealing what the engine keeps: nothing readable, keys that follow each other, and clear words when one is missing."""

import base64
import json
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DataConverter
from temporalio.exceptions import ApplicationError

from definitions.errors import PerdureError
from store.sealing import Keys
from tests.support.jobs import launch_of
from workers.payloads import StoredPayloads, data_converter, load_payload_keys

OLD, NEW = b"o" * 32, b"n" * 32
WORDS = launch_of(argv=("train", "--password", "hunter2"))


async def seal(*keys: bytes) -> Payload:
    (payload,) = await data_converter(Keys(keys)).encode([WORDS])
    return payload


async def opened(payload: Payload, converter: DataConverter) -> object:
    (value,) = await converter.decode([payload], [type(WORDS)])
    return value


async def test_a_sealed_payload_tells_nothing_and_opens_again() -> None:
    payload = await seal(NEW)
    assert b"hunter2" not in payload.SerializeToString()
    assert b"json" not in payload.SerializeToString()
    assert await opened(payload, data_converter(Keys([NEW]))) == WORDS
    assert await seal(NEW) != payload, "the same content is never sealed the same way twice"


async def test_the_newest_key_seals_and_older_ones_still_open() -> None:
    both = data_converter(Keys([NEW, OLD]))
    assert await opened(await seal(OLD), both) == WORDS
    (payload,) = await both.encode([WORDS])
    assert await opened(payload, data_converter(Keys([NEW]))) == WORDS


async def test_what_was_never_sealed_can_still_be_read_once_keys_are_given() -> None:
    (plain,) = await data_converter(None).encode([WORDS])
    assert b"hunter2" in plain.data
    assert await opened(plain, data_converter(Keys([NEW]))) == WORDS


@pytest.mark.parametrize("keys", [None, Keys([NEW])], ids=["no keys", "another key"])
async def test_a_missing_key_is_named(keys: Keys | None) -> None:
    with pytest.raises(PerdureError) as refusal:
        await opened(await seal(OLD), data_converter(keys))
    assert refusal.value.code.code == "PD-4102"
    assert Keys([OLD]).newest in refusal.value.detail


async def test_a_payload_that_was_changed_does_not_open() -> None:
    payload = await seal(OLD)
    changed = Payload(metadata=payload.metadata, data=payload.data[:-1] + bytes([payload.data[-1] ^ 1]))
    with pytest.raises(PerdureError) as refusal:
        await opened(changed, data_converter(Keys([OLD])))
    assert refusal.value.code.code == "PD-4102"


async def test_messages_and_traces_of_failures_are_sealed_too() -> None:
    for keys, readable in ((Keys([NEW]), False), (None, True)):
        failure = Failure()
        await data_converter(keys).encode_failure(ApplicationError("hunter2 was refused"), failure)
        assert (b"hunter2" in failure.SerializeToString()) is readable
        assert "hunter2 was refused" in str(await data_converter(keys).decode_failure(failure))


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        (None, 0o600, "cannot be read"),
        (base64.b64encode(NEW), 0o644, "can be read by others"),
        (b"too short", 0o600, "base64"),
        (b"# only a comment\n", 0o600, "32 bytes"),
    ],
)
def test_a_key_file_that_cannot_be_used_is_refused(
    content: bytes | None, mode: int, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "keys"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    with pytest.raises(PerdureError, match=words) as refusal:
        load_payload_keys(file)
    assert (refusal.value.code.code, refusal.value.where) == ("PD-4101", str(file))


async def test_the_codec_of_the_engines_tools_opens_what_they_send() -> None:
    sealed = await seal(OLD)
    body = {"payloads": [_as_sent(sealed), {"metadata": {"encoding": _text(b"json/plain")}, "data": _text(b'"plain"')}]}
    answer = json.loads(StoredPayloads(Keys([NEW, OLD])).open(json.dumps(body).encode()))
    first, second = (base64.b64decode(payload["data"]) for payload in answer["payloads"])
    assert (b"hunter2" in first, second) == (True, b'"plain"')


@pytest.mark.parametrize(("keys", "code"), [(None, "PD-4105"), (Keys([NEW]), "PD-4106")])
def test_a_body_of_another_form_is_refused(keys: Keys | None, code: str) -> None:
    with pytest.raises(PerdureError) as refusal:
        StoredPayloads(keys).open(b"{")
    assert refusal.value.code.code == code


def _as_sent(payload: Payload) -> dict[str, object]:
    return {
        "metadata": {name: _text(value) for name, value in payload.metadata.items()},
        "data": _text(payload.data),
    }


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()
