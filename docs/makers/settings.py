"""The settings page, from workers/settings.py, and what other parts read from the environment."""

from docs.makers.markdown import NOTE, code, table
from workers.settings import documentation

KEYS = {
    "PERDURE_SECRETS_KEY": "Keys for secrets: 32 bytes in base64 each, one a line or between commas, newest first.",
    "PERDURE_SECRETS_KEY_FILE": "A file, mode 0600, that holds them. Without either: `secrets.key` in the home.",
}
CLIENT = {
    "PERDURE_API_URL": "Address of the API. Without it: this machine's control plane.",
    "PERDURE_API_KEY": "Key to send. Without it: this machine's `admin.token`, to this machine's control plane only.",
    "PERDURE_PROJECT": "Project to work in, else `default`.",
    "PERDURE_PAGER": "Program that long tables go through on a terminal, else `PAGER`.",
    "PERDURE_DEBUG": "When set, a fault of the command itself shows where it happened.",
    "NO_COLOR, CLICOLOR, CLICOLOR_FORCE": "Colour off, off when 0, and on when it would be off.",
}


def pages() -> dict[str, str]:
    keys = f"## Keys for secrets\n\n{_rows(KEYS)}"
    client = f"## Command line and client\n\n{_rows(CLIENT)}"
    return {"settings.md": f"{NOTE}\n\n{documentation()}\n{keys}\n\n{client}\n"}


def _rows(variables: dict[str, str]) -> str:
    return table(
        ["variable", "meaning"], ([", ".join(map(code, n.split(", "))), what] for n, what in variables.items())
    )
