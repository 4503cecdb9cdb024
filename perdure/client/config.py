"""Where the API is, and with which key: from the environment, else from the control plane of this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from perdure.client.exchange import Target
from perdure.codes import BAD_CONFIGURATION
from perdure.errors import PerdureError

DEFAULT_URL = "http://127.0.0.1:8642"


def from_environment(environment: Mapping[str, str] | None = None) -> Target:
    """PERDURE_API_URL, PERDURE_API_KEY and PERDURE_PROJECT; what is not set comes from PERDURE_HOME.

    The admin token of this machine is sent to this machine's own control plane, and to no other address.
    Raises PerdureError PD-2906 when a file or variable cannot be used.
    """
    given = os.environ if environment is None else environment
    home = home_folder(given)
    local = from_home(home)
    url = _checked(given.get("PERDURE_API_URL") or local.url, "PERDURE_API_URL")
    key = given.get("PERDURE_API_KEY") or (local.key if url.rstrip("/") == local.url.rstrip("/") else None)
    if key is not None and not (key.isascii() and key.isprintable()):
        detail = "the API key holds characters that no key has"
        raise PerdureError(
            BAD_CONFIGURATION, detail, where="PERDURE_API_KEY" if "PERDURE_API_KEY" in given else str(home)
        )
    return Target(url, key, given.get("PERDURE_PROJECT") or None)


def from_home(home: Path) -> Target:
    """What the control plane of this machine wrote down: its address, and the admin token."""
    endpoint = _text(home / "endpoint.json")
    token = _text(home / "admin.token")
    return Target(_address(endpoint, home / "endpoint.json"), token.strip() if token else None)


def home_folder(environment: Mapping[str, str]) -> Path:
    """PERDURE_HOME, or `.perdure` in the user's home folder."""
    given = environment.get("PERDURE_HOME")
    return Path(given).expanduser() if given else Path("~/.perdure").expanduser()


def _address(endpoint: str | None, file: Path) -> str:
    if endpoint is None:
        return DEFAULT_URL
    try:
        return _checked(str(json.loads(endpoint)["api"]), str(file))
    except (ValueError, KeyError, TypeError) as error:
        raise PerdureError(
            BAD_CONFIGURATION, f'{file} does not hold {{"api": "http://..."}}', where=str(file)
        ) from error


def _checked(url: str, where: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise PerdureError(BAD_CONFIGURATION, f"{url!r} is no address: it begins with http:// or https://", where=where)
    return url


def _text(file: Path) -> str | None:
    try:
        return file.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise PerdureError(BAD_CONFIGURATION, f"{file} cannot be read: {error}", where=str(file)) from error
