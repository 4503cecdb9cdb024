"""API keys: `pd_live_`, 32 random bytes and a checksum, all in base 62. Only a digest is stored; a key is shown once.

A fast digest is right here: 256 random bits cannot be guessed, whatever a guess costs. The checksum lets scanners tell
a real key from look-alikes, and typing errors be refused without asking the database.
"""

import hashlib
import hmac
import secrets
import string
import zlib
from datetime import datetime, timedelta

from sqlalchemy import or_, select, tuple_, update
from sqlalchemy.orm import Session

from definitions.ids import new_id
from definitions.principal import Principal, Role
from store.paging import Page, cursor, cut, read_time_and_id, typed
from store.tables_access import TokenRow
from store.upsert import changed, insert_missing

PREFIX = "pd_live_"
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
BODY, CHECK = 43, 6  # characters for 32 bytes, and for a CRC-32
SHOWN = len(PREFIX) + 6
USE_EVERY = timedelta(minutes=1)  # last_used_at is no more exact than this: reads should not write


def new_key() -> str:
    """A key that nobody has seen."""
    body = PREFIX + _base62(int.from_bytes(secrets.token_bytes(32), "big"), BODY)
    return body + _checksum(body)


def is_key(text: str) -> bool:
    """Whether text is spelled like a key, checksum included."""
    if len(text) != len(PREFIX) + BODY + CHECK or not text.startswith(PREFIX):
        return False
    return all(letter in ALPHABET for letter in text[len(PREFIX) :]) and _checksum(text[:-CHECK]) == text[-CHECK:]


def create(
    session: Session,
    tenant: str,
    name: str,
    role: Role,
    now: datetime,
    *,
    projects: tuple[str, ...] = (),
    expires_at: datetime | None = None,
) -> tuple[TokenRow, str]:
    """Make a key for a principal of the tenant. The second value is the key itself; it cannot be had again."""
    key = new_key()
    return ensure(session, key, tenant, name, role, now, projects=projects, expires_at=expires_at), key


def ensure(
    session: Session,
    key: str,
    tenant: str,
    name: str,
    role: Role,
    now: datetime,
    *,
    projects: tuple[str, ...] = (),
    expires_at: datetime | None = None,
) -> TokenRow:
    """Let in a key that exists already (the local admin key in its file). Safe to repeat: the first row stands."""
    row = dict(id=new_id(), tenant=tenant, name=name, role=role, projects=list(projects), expires_at=expires_at)
    made = dict(sha256=_digest(key), prefix=key[:SHOWN], created_at=now)
    insert_missing(session, TokenRow, [row | made], ["sha256"])
    return session.scalars(select(TokenRow).where(TokenRow.sha256 == _digest(key))).one()


def find(session: Session, key: str, now: datetime) -> TokenRow | None:
    """The row of a key that lets in now: known, not revoked, not expired. The only read that learns its tenant."""
    if not is_key(key):
        return None
    digest = _digest(key)
    row = session.scalar(select(TokenRow).where(TokenRow.sha256 == digest))
    if row is None or not hmac.compare_digest(row.sha256, digest) or row.revoked_at is not None:
        return None
    return None if row.expires_at is not None and row.expires_at <= now else row


def principal(row: TokenRow) -> Principal:
    return Principal(tenant=row.tenant, name=row.name, role=row.role, projects=tuple(row.projects))


def use_is_news(row: TokenRow, now: datetime) -> bool:
    """Whether a use now is worth a write (`mark_used`)."""
    return row.last_used_at is None or now - row.last_used_at >= USE_EVERY


def mark_used(session: Session, tenant: str, token: str, now: datetime) -> None:
    """Note the use, at most once in USE_EVERY however many processes do so."""
    stale = or_(TokenRow.last_used_at.is_(None), TokenRow.last_used_at <= now - USE_EVERY)
    mine = (TokenRow.tenant == tenant, TokenRow.id == token)
    changed(session, update(TokenRow).where(*mine, stale).values(last_used_at=now))


def page(session: Session, tenant: str, *, limit: int, after: str | None = None) -> Page[TokenRow]:
    """The tenant's keys, newest first, revoked and expired ones included; raises BadCursor."""
    query = select(TokenRow).where(TokenRow.tenant == tenant)
    if after is not None:
        key = (TokenRow.created_at, TokenRow.id)
        query = query.where(tuple_(*key) < typed(key, read_time_and_id(after)))
    query = query.order_by(TokenRow.created_at.desc(), TokenRow.id.desc()).limit(limit + 1)
    return cut(session.scalars(query).all(), limit, lambda row: cursor(row.created_at, row.id))


def revoke(session: Session, tenant: str, token: str, now: datetime) -> bool:
    """Shut a key out from now on. False when the tenant has no such key, or it is revoked already."""
    mine = (TokenRow.tenant == tenant, TokenRow.id == token, TokenRow.revoked_at.is_(None))
    return changed(session, update(TokenRow).where(*mine).values(revoked_at=now)) == 1


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _checksum(text: str) -> str:
    return _base62(zlib.crc32(text.encode()), CHECK)


def _base62(number: int, length: int) -> str:
    letters = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        letters.append(ALPHABET[digit])
    return "".join(reversed(letters))
