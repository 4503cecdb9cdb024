"""What the engine keeps of jobs, sealed: arguments, results, signals, heartbeats and failures.

Names are not sealed, because the engine has to search them: workflow ids, types, queues and search attributes, which
hold ids and words of ours only (definitions/search_attributes.py).
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from google.protobuf import json_format
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter, DefaultFailureConverterWithEncodedAttributes, PayloadCodec

from definitions.errors import PerdureError
from store.sealing import NONCE_BYTES, Keys, Sealed, read_key_file

ENCODING = b"binary/encrypted"
KEY_ID = "encryption-key-id"
PLACE = "payload"  # what is sealed here opens as nothing else


def data_converter(keys: Keys | None) -> DataConverter:
    """The one converter of every client, worker and replayer. Without keys nothing is sealed, and nothing opened."""
    if keys is None:
        return dataclasses.replace(pydantic_data_converter, payload_codec=NoKeys())
    return dataclasses.replace(
        pydantic_data_converter,
        payload_codec=SealedPayloads(keys),
        # Messages and stack traces of failures would else stand in the clear.
        failure_converter_class=DefaultFailureConverterWithEncodedAttributes,
    )


def load_payload_keys(file: Path) -> Keys:
    """Raises PerdureError PD-4101 when the file cannot be used, or others can read it."""
    try:
        return read_key_file(file)
    except PerdureError as error:
        raise PerdureError("PD-4101", error.detail, where=str(file)) from None


class SealedPayloads(PayloadCodec):
    """Seals with the newest key, opens with any that is loaded, and lets through what was never sealed."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [self._seal(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [open_payload(payload, self._keys) for payload in payloads]

    def _seal(self, payload: Payload) -> Payload:
        sealed = self._keys.seal_bytes(payload.SerializeToString(), PLACE)
        metadata = {"encoding": ENCODING, KEY_ID: sealed.key_id.encode()}
        return Payload(metadata=metadata, data=sealed.nonce + sealed.ciphertext)


class NoKeys(PayloadCodec):
    """Says what is missing when something sealed is met, instead of handing on bytes that nobody understands."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return list(payloads)

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [open_payload(payload, None) for payload in payloads]


class StoredPayloads:
    """The API's `PayloadOpener`."""

    def __init__(self, keys: Keys | None) -> None:
        self._keys = keys

    def open(self, body: bytes) -> bytes:
        if self._keys is None:
            raise PerdureError("PD-4105", "this deployment seals no payloads")
        try:
            sealed = json_format.Parse(body, Payloads())
        except json_format.ParseError as error:
            raise PerdureError("PD-4106", str(error)[:200]) from None
        opened = Payloads(payloads=[open_payload(payload, self._keys) for payload in sealed.payloads])
        return json_format.MessageToJson(opened, indent=None).encode()


def open_payload(payload: Payload, keys: Keys | None) -> Payload:
    """What was sealed, or the payload itself when it was not. Raises PerdureError PD-4102."""
    if payload.metadata.get("encoding") != ENCODING:
        return payload
    key_id = payload.metadata.get(KEY_ID, b"").decode(errors="replace")
    if keys is None:
        raise PerdureError(
            "PD-4102", f"a payload is sealed with key {key_id}, and PERDURE_PAYLOAD_KEYS_FILE is not set"
        )
    sealed = Sealed(key_id, payload.data[:NONCE_BYTES], payload.data[NONCE_BYTES:])
    try:
        return Payload.FromString(keys.open_bytes(sealed, PLACE))
    except PerdureError as error:
        raise PerdureError("PD-4102", error.detail) from None
