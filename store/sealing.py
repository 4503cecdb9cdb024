"""Sealing values with AES-256-GCM, and the keys for it.

The newest key seals; every loaded key opens what it sealed. A sealed value is bound to its place (tenant, project,
name, version): copied into another row it does not open.
"""

import base64
import binascii
import hashlib
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from definitions.errors import PerdureError

KEY_BYTES = 32
NONCE_BYTES = 12
FROM_VALUE = "PERDURE_SECRETS_KEY"
FROM_FILE = "PERDURE_SECRETS_KEY_FILE"


@dataclass(frozen=True)
class Sealed:
    """A value that only the key `key_id` opens."""

    key_id: str
    nonce: bytes
    ciphertext: bytes


class Keys:
    """Keys of 32 bytes, newest first. Shows only their ids."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise PerdureError("PD-3724", f"the key for secrets must have {KEY_BYTES} bytes")
        self._keys = {_key_id(key): AESGCM(key) for key in keys}
        self.newest = _key_id(keys[0])

    def __repr__(self) -> str:
        return f"Keys({', '.join(self._keys)})"

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._keys)

    def seal(self, value: str, *place: str | int) -> Sealed:
        """Seal a value for the place that `place` names."""
        return self.seal_bytes(value.encode(), *place)

    def seal_bytes(self, value: bytes, *place: str | int) -> Sealed:
        nonce = secrets.token_bytes(NONCE_BYTES)
        return Sealed(self.newest, nonce, self._keys[self.newest].encrypt(nonce, value, bind(*place)))

    def open(self, sealed: Sealed, *place: str | int) -> str:
        """The value. Raises PerdureError PD-3723 naming the key's id when it is not loaded or the bytes do not fit."""
        return self.open_bytes(sealed, *place).decode()

    def open_bytes(self, sealed: Sealed, *place: str | int) -> bytes:
        """As `open`."""
        what = "/".join(str(part) for part in place)
        if sealed.key_id not in self._keys:
            loaded = ", ".join(self._keys)
            raise PerdureError("PD-3723", f"{what} was sealed with key {sealed.key_id}; loaded: {loaded}")
        try:
            return self._keys[sealed.key_id].decrypt(sealed.nonce, sealed.ciphertext, bind(*place))
        except InvalidTag:
            raise PerdureError("PD-3723", f"{what} does not open with key {sealed.key_id}: it was changed") from None


def bind(*place: str | int) -> bytes:
    """Spell a place so that no two places are spelled alike: each part with its length before it."""
    parts = [str(part).encode() for part in place]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def load_keys(environment: Mapping[str, str], default_file: Path | None = None) -> Keys:
    """Keys from PERDURE_SECRETS_KEY, else the file PERDURE_SECRETS_KEY_FILE, else `default_file`.

    One base64 key a line (or between commas), newest first; empty lines and lines with # are passed over. Raises
    PerdureError PD-3724, also when others can read the file.
    """
    if FROM_VALUE in environment:
        return _read_keys(environment[FROM_VALUE], FROM_VALUE)
    file = Path(environment[FROM_FILE]) if FROM_FILE in environment else default_file
    if file is None:
        raise PerdureError("PD-3724", f"neither {FROM_VALUE} nor {FROM_FILE} is set")
    return read_key_file(file)


def read_key_file(file: Path) -> Keys:
    """Keys from a file that others cannot read. Raises PerdureError PD-3724.

    A file of somebody else's may be readable by its group: so are secrets mounted into a pod that is not root.
    """
    try:
        status = file.stat()
        if status.st_mode & (0o077 if status.st_uid == os.geteuid() else 0o007):
            raise PerdureError("PD-3724", f"{file} can be read by others; it needs mode 0600")
        return _read_keys(file.read_text(), str(file))
    except OSError as error:
        raise PerdureError("PD-3724", f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PerdureError("PD-3724", f"{file} is not text") from None


def make_key_file(file: Path) -> bool:
    """Make a key file (mode 0600) where there is none; durable before it returns. False when there was one.

    Whole or not at all: the key is written under another name and linked, so a crash leaves no empty file behind.
    """
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as output:
            output.write(base64.b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n")
            output.flush()
            os.fsync(output.fileno())
        os.link(draft, file)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)
    return True


def _read_keys(text: str, source: str) -> Keys:
    lines = [line.strip() for line in text.replace(",", "\n").splitlines()]
    try:
        keys = [base64.b64decode(line, validate=True) for line in lines if line and not line.startswith("#")]
    except (binascii.Error, ValueError):
        raise PerdureError("PD-3724", f"{source} holds a line that is not base64") from None
    if not keys or any(len(key) != KEY_BYTES for key in keys):
        raise PerdureError("PD-3724", f"{source} must hold keys of {KEY_BYTES} bytes in base64, one a line")
    return Keys(keys)


def _key_id(key: bytes) -> str:
    """Names a key without telling anything of use about it."""
    return hashlib.sha256(b"perdure secrets key" + key).hexdigest()[:12]
