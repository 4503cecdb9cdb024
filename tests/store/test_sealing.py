"""Sealing: what opens, what does not, and where keys come from."""

import base64
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from definitions.errors import PerdureError
from store import sealing
from store.sealing import Keys, Sealed, bind, load_keys, make_key_file

OLD, NEW = b"o" * 32, b"n" * 32
PLACE = ("acme", "vision", "hub-token", 1)


def _text(*keys: bytes) -> str:
    return "\n".join(base64.b64encode(key).decode() for key in keys)


@given(st.text())
def test_a_value_opens_in_its_place(value: str) -> None:
    keys = Keys([NEW])
    assert keys.open(keys.seal(value, *PLACE), *PLACE) == value


@pytest.mark.parametrize(
    "place",
    [
        ("rival", "vision", "hub-token", 1),
        ("acme", "speech", "hub-token", 1),
        ("acme", "vision", "hub-tokens", 1),
        ("acme", "vision", "hub-token", 2),
        ("acmev", "ision", "hub-token", 1),
        ("acme", "vision", "hub-token1", ""),
    ],
)
def test_a_value_copied_to_another_place_does_not_open(place: tuple[str | int, ...]) -> None:
    keys = Keys([NEW])
    with pytest.raises(PerdureError, match=f"does not open with key {keys.newest}") as refused:
        keys.open(keys.seal("s3cr3t-value", *PLACE), *place)
    assert refused.value.code.code == "PD-3723"
    assert "s3cr3t" not in str(refused.value)


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_no_two_places_are_spelled_alike(one: list[str], other: list[str]) -> None:
    assert (bind(*one) == bind(*other)) == (one == other)


@given(st.integers(0, 27), st.integers(0, 7))
def test_a_flipped_bit_does_not_open(place: int, bit: int) -> None:
    keys = Keys([NEW])
    sealed = keys.seal("s3cr3t-value", *PLACE)
    broken = bytearray(sealed.ciphertext)
    broken[place] ^= 1 << bit
    with pytest.raises(PerdureError, match="was changed"):
        keys.open(Sealed(sealed.key_id, sealed.nonce, bytes(broken)), *PLACE)


def test_the_same_value_never_looks_the_same_twice() -> None:
    keys = Keys([NEW])
    assert len({keys.seal("s3cr3t-value", *PLACE).ciphertext for _ in range(50)}) == 50


def test_older_keys_open_what_they_sealed_and_the_newest_seals() -> None:
    sealed = Keys([OLD]).seal("s3cr3t-value", *PLACE)
    both = Keys([NEW, OLD])
    assert both.open(sealed, *PLACE) == "s3cr3t-value"
    assert both.seal("x", *PLACE).key_id == both.newest == Keys([NEW]).newest
    with pytest.raises(PerdureError, match=f"sealed with key {sealed.key_id}") as refused:
        Keys([NEW]).open(sealed, *PLACE)
    assert refused.value.code.code == "PD-3723"


def test_keys_do_not_show_themselves() -> None:
    shown = repr(Keys([OLD, NEW]))
    assert shown == f"Keys({Keys([OLD]).newest}, {Keys([NEW]).newest})"
    assert "ooo" not in shown


def test_keys_come_from_the_value_before_the_file_before_the_default(tmp_path: Path) -> None:
    named, default = tmp_path / "named", tmp_path / "default"
    for file, key in ((named, b"1" * 32), (default, b"2" * 32)):
        file.write_text(_text(key))
        file.chmod(0o600)
    everything = {sealing.FROM_VALUE: _text(NEW), sealing.FROM_FILE: str(named)}
    assert load_keys(everything, default).newest == Keys([NEW]).newest
    assert load_keys({sealing.FROM_FILE: str(named)}, default).newest == Keys([b"1" * 32]).newest
    assert load_keys({}, default).newest == Keys([b"2" * 32]).newest


@pytest.mark.parametrize("text", ["{0}\n{1}\n", "# newest\n\n  {0}  \r\n{1}", "{0},{1}"])
def test_several_keys_are_read_newest_first(text: str) -> None:
    keys = load_keys({sealing.FROM_VALUE: text.format(_text(NEW), _text(OLD))})
    assert keys.ids == (Keys([NEW]).newest, Keys([OLD]).newest)


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        (b"", 0o600, "must hold keys of 32 bytes"),
        (b"# only a comment\n", 0o600, "must hold keys of 32 bytes"),
        (base64.b64encode(b"short"), 0o600, "must hold keys of 32 bytes"),
        (b"not base64!\n", 0o600, "is not base64"),
        (b"\xff\xfe", 0o600, "is not text"),
        (base64.b64encode(NEW), 0o640, "can be read by others"),
        (base64.b64encode(NEW), 0o604, "can be read by others"),
        (None, 0o600, "cannot be read"),
    ],
)
def test_a_key_file_that_cannot_be_used_is_refused(
    tmp_path: Path, content: bytes | None, mode: int, words: str
) -> None:
    file = tmp_path / "secrets.key"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    with pytest.raises(PerdureError, match=words) as refused:
        load_keys({}, file)
    assert refused.value.code.code == "PD-3724"
    assert _text(NEW) not in str(refused.value)


def test_no_key_anywhere_says_where_to_put_one() -> None:
    with pytest.raises(PerdureError, match="PERDURE_SECRETS_KEY_FILE"):
        load_keys({})


def test_a_key_file_is_made_once_private_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "secrets.key"
    assert make_key_file(file)
    first = file.read_bytes()
    assert not make_key_file(file)
    assert file.read_bytes() == first
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["secrets.key"]
    assert load_keys({}, file).open(load_keys({}, file).seal("value", *PLACE), *PLACE) == "value"
