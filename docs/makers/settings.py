"""The settings page, from workers/settings.py."""

from docs.makers.markdown import NOTE
from workers.settings import documentation


def pages() -> dict[str, str]:
    return {"settings.md": f"{NOTE}\n\n{documentation()}"}
