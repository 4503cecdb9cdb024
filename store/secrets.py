"""Secrets by name, in versions. Values come in sealed and leave only through `reveal`, for an attempt that starts."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import ColumnElement, Select, func, select, update
from sqlalchemy.orm import Session

from definitions.errors import PerdureError
from store.errors import NameTaken
from store.paging import Page, cursor, cut, read_name
from store.sealing import Keys, Sealed
from store.tables_access import SecretRow
from store.types import clean_text
from store.upsert import changed, insert_missing

SHORTEST_CHARACTERS = 4
LONGEST_BYTES = 64 * 1024


def create(
    session: Session, keys: Keys, tenant: str, project: str, name: str, value: str, now: datetime, *, owner: str
) -> SecretRow:
    """Keep a value under a new name. Raises NameTaken where there is one, PD-3720 or PD-3721 for a value not fit."""
    version = _next_version(session, tenant, project, name)  # before the look: who comes between has this number
    if get(session, tenant, project, name) is None:
        made = _add(session, keys, (tenant, project, name, version), value, owner=owner, created_at=now)
        if made is not None:
            return made
    raise NameTaken(
        f"secret {name!r} of project {project!r} exists", remedy=f"Give it a new value: perdure secrets rotate {name}"
    )


def rotate(
    session: Session, keys: Keys, tenant: str, project: str, name: str, value: str, now: datetime
) -> SecretRow | None:
    """Add a version, which attempts get from now on; whose it is stays. None when there is no such secret.

    Of two at once, both count.
    """
    while (current := get(session, tenant, project, name)) is not None:
        place = (tenant, project, name, _next_version(session, tenant, project, name))
        made = _add(session, keys, place, value, owner=current.owner, created_at=current.created_at, rotated_at=now)
        if made is not None:
            return made
    return None


def get(session: Session, tenant: str, project: str, name: str) -> SecretRow | None:
    """The newest version of a secret that is not deleted."""
    query = _shown(tenant, project).where(SecretRow.name == name).order_by(SecretRow.version.desc())
    return session.scalar(query.limit(1))


def page(session: Session, tenant: str, project: str, *, limit: int, after: str | None = None) -> Page[SecretRow]:
    """The newest version of each secret, by name, at most `limit`; raises BadCursor."""
    query = _newest(tenant, project)
    if after is not None:
        query = query.where(SecretRow.name > read_name(after))
    rows = session.scalars(query.order_by(SecretRow.name).limit(limit + 1)).all()
    return cut(rows, limit, lambda row: cursor(row.name))


def delete(session: Session, tenant: str, project: str, name: str, now: datetime) -> bool:
    """Destroy every version's sealed bytes; the rows stay as a trace. False when there was none."""
    mine = (*_is(tenant, project, name), SecretRow.deleted_at.is_(None))
    return changed(session, update(SecretRow).where(*mine).values(deleted_at=now, nonce=b"", ciphertext=b"")) > 0


def reveal(session: Session, keys: Keys, tenant: str, project: str, names: Iterable[str]) -> dict[str, str]:
    """Values of the newest versions by name; names that are not there are left out. Raises PD-3723."""
    query = _newest(tenant, project).where(SecretRow.name.in_(sorted(names)))
    return {row.name: keys.open(_sealed(row), *_place(row)) for row in session.scalars(query)}


def reseal(session: Session, keys: Keys, row: SecretRow) -> bool:
    """Seal a version with the newest key, so that older keys can be thrown away. Raises PD-3723.

    False when it is so already, or is not as it was read any more: one that was destroyed meanwhile stays so.
    """
    if row.deleted_at is not None or row.key_id == keys.newest:
        return False
    tenant, project, name, version = _place(row)
    sealed = keys.seal(keys.open(_sealed(row), *_place(row)), *_place(row))
    as_read = (SecretRow.version == version, SecretRow.nonce == row.nonce, SecretRow.deleted_at.is_(None))
    new = {"key_id": sealed.key_id, "nonce": sealed.nonce, "ciphertext": sealed.ciphertext}
    query = update(SecretRow).where(*_is(tenant, project, name), *as_read).values(**new)
    return changed(session, query.execution_options(synchronize_session=False)) == 1


def _next_version(session: Session, tenant: str, project: str, name: str) -> int:
    return 1 + (session.scalar(select(func.max(SecretRow.version)).where(*_is(tenant, project, name))) or 0)


def _add(
    session: Session,
    keys: Keys,
    place: tuple[str, str, str, int],
    value: str,
    *,
    owner: str,
    created_at: datetime,
    rotated_at: datetime | None = None,
) -> SecretRow | None:
    """A new version at its place, or None when another writer took its number."""
    _check(value)
    sealed = keys.seal(value, *place)
    row = dict(zip(("tenant", "project", "name", "version"), place, strict=True))
    row |= dict(key_id=sealed.key_id, nonce=sealed.nonce, ciphertext=sealed.ciphertext)
    row |= dict(owner=owner, created_at=created_at, rotated_at=rotated_at)
    if not insert_missing(session, SecretRow, [row], ("tenant", "project", "name", "version")):
        return None
    return session.get_one(SecretRow, place)


def _check(value: str) -> None:
    if len(value) < SHORTEST_CHARACTERS:
        raise PerdureError("PD-3720", f"the value has {len(value)} characters, {SHORTEST_CHARACTERS} are needed")
    if clean_text(value) != value:
        raise PerdureError("PD-3725", "the value holds a NUL or half a character")
    size = len(value.encode())
    if size > LONGEST_BYTES:
        raise PerdureError("PD-3721", f"the value has {size} bytes, at most {LONGEST_BYTES} are kept")


def _sealed(row: SecretRow) -> Sealed:
    return Sealed(row.key_id, row.nonce, row.ciphertext)


def _place(row: SecretRow) -> tuple[str, str, str, int]:
    return row.tenant, row.project, row.name, row.version


def _is(tenant: str, project: str, name: str) -> tuple[ColumnElement[bool], ...]:
    return SecretRow.tenant == tenant, SecretRow.project == project, SecretRow.name == name


def _shown(tenant: str, project: str) -> Select[SecretRow]:
    mine = (SecretRow.tenant == tenant, SecretRow.project == project)
    return select(SecretRow).where(*mine, SecretRow.deleted_at.is_(None))


def _newest(tenant: str, project: str) -> Select[SecretRow]:
    newest = (
        _shown(tenant, project)
        .with_only_columns(SecretRow.name, func.max(SecretRow.version).label("version"))
        .group_by(SecretRow.name)
        .subquery()
    )
    return _shown(tenant, project).join(
        newest, (newest.c.name == SecretRow.name) & (newest.c.version == SecretRow.version)
    )
