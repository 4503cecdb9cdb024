"""Writes what is generated in the documentation: `python -m docs.generate`; with `--check` it only compares.

Two forms: whole pages, and blocks in pages that people write, between `<!-- begin NAME -->` and `<!-- end NAME -->`.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

from docs.makers import api, cli, errors, failures, helper, kinds, notices, plans, protocol, settings, timeline

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
OWNED = ("errors",)  # folders whose pages are all generated: a page too many is removed
BLOCK = re.compile(r"(?P<begin><!-- begin (?P<name>[a-z-]+) -->\n)(?P<body>.*?)(?P<end><!-- end (?P=name) -->)", re.S)

BLOCKS: dict[str, Callable[[], str]] = {
    "api-routes": api.routes,
    "failure-proofs": failures.proofs,
    "failure-table": failures.failure_table,
    "failure-limits": failures.limits,
    "verbs-by-phase": failures.verbs_by_phase,
    "job-helper": helper.block,
    "launchers": protocol.launchers,
    "node-notices": notices.block,
    "protocol-common": protocol.common_variables,
    "protocol-variables": protocol.variables,
}


def main(arguments: list[str]) -> int:
    """Write every page that differs, or with `--check` name it and fail."""
    found = differences()
    if "--check" in arguments:
        for path in found:
            print(f"{path} is not what the code says: run `make docs`", file=sys.stderr)
        return 1 if found else 0
    for path, wanted in found.items():
        _write(ROOT / path, wanted)
        print(f"{'wrote' if wanted is not None else 'removed'} {path}")
    return 0


def differences() -> dict[str, str | None]:
    """Path below the root -> text that should stand there (None: no such page), for each file that differs."""
    wanted: dict[str, str | None] = {**dict.fromkeys(_there_already()), **pages()}
    return {path: text for path, text in sorted(wanted.items()) if _read(ROOT / path) != text}


def pages() -> dict[str, str]:
    """Every page that is generated as a whole or in part, by path below the root."""
    makers = (api, cli, errors, kinds, plans, settings, timeline)
    made = {path: text for maker in makers for path, text in maker.pages().items()}
    return {**_filled(), **{f"docs/{path}": text for path, text in made.items()}}


def _filled() -> dict[str, str]:
    """Pages with blocks, as they should read."""
    found = {}
    for path in (ROOT / "README.md", *DOCS.rglob("*.md")):
        text = path.read_text()
        if BLOCK.search(text):
            found[str(path.relative_to(ROOT))] = BLOCK.sub(_fill, text)
    return found


def _fill(match: re.Match[str]) -> str:
    return f"{match['begin']}{BLOCKS[match['name']]()}\n{match['end']}"


def _there_already() -> list[str]:
    return [str(path.relative_to(ROOT)) for folder in OWNED for path in (DOCS / folder).glob("*.md")]


def _read(path: Path) -> str | None:
    return path.read_text() if path.is_file() else None


def _write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
