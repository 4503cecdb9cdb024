"""Error codes: from the API, which has all of them; without it those of the client itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.cli import session
from perdure.cli.terminal import say
from perdure.codes import ALL, UNKNOWN_CODE, Code
from perdure.errors import PerdureError, PerdureUnreachable
from perdure.local.errors import CODES

if TYPE_CHECKING:
    from perdure.client._models import ErrorCodeView

OWN = (*ALL, *CODES)


def every() -> list[ErrorCodeView]:
    """Every code there is, in order; only the client's own when the API cannot be asked, which is said."""
    try:
        with session.client(None) as client:
            return list(client.system.errors().items)
    except PerdureUnreachable as error:
        say(f"{error.detail}; these are the client's own codes")
        return [_own(code) for code in OWN]


def one(code: str) -> ErrorCodeView:
    """One code. Raises PerdureError PD-2918 when there is none such."""
    wanted = code.upper() if code.upper().startswith("PD-") else f"PD-{code}"
    known = {each.code: each for each in OWN}
    if wanted in known:
        return _own(known[wanted])
    with session.client(None) as client:
        found = next((each for each in client.system.errors().items if each.code == wanted), None)
    if found is None:
        raise PerdureError(UNKNOWN_CODE, f"there is no code {wanted}")
    return found


def _own(code: Code) -> ErrorCodeView:
    from perdure.client._models import ErrorCodeView

    return ErrorCodeView(
        code=code.code,
        title=code.title,
        status=400,
        exit=int(code.exit),
        why=code.why,
        remedy=code.remedy,
        page=f"/errors/{code.code}",
    )
