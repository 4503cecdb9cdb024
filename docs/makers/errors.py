"""One page per error code, and a list of them, from the registry in definitions/errors.py."""

from definitions.errors import ErrorCode, all_codes
from docs.makers.markdown import page, table

AREAS = (
    (1000, 1599, "Documents, fields and templates"),
    (1600, 1699, "Documents of the scheduler"),
    (2000, 2899, "Requests to the API"),
    (2900, 2999, "The command line and the client"),
    (3000, 3399, "Running attempts"),
    (3400, 3699, "Objects, checkpoints and snapshots"),
    (3700, 3999, "Store and secrets"),
    (4000, 4099, "The control plane on this machine"),
    (4100, 4149, "Deployments"),
)
EXIT = "../cli.md#exit-codes"


def pages() -> dict[str, str]:
    """Markdown by path below docs/."""
    found = {f"errors/{entry.code}.md": _page(entry) for entry in all_codes()}
    return {"errors/README.md": _index(), **found}


def area_of(entry: ErrorCode) -> str:
    number = int(entry.code.removeprefix("PD-"))
    return next(title for first, last, title in AREAS if first <= number <= last)


def _page(entry: ErrorCode) -> str:
    facts = table(
        ["Area", "HTTP status", "Exit code of the command line"],
        [[area_of(entry), str(entry.status), f"[{int(entry.exit)}]({EXIT})"]],
    )
    return page(
        f"{entry.code}: {entry.title}",
        f"**Why.** {entry.why.strip()}",
        f"**What to do.** {entry.remedy.strip()}",
        facts,
        "A code keeps its meaning for ever. [All codes](README.md)",
    )


def _index() -> str:
    sections = []
    for first, last, title in AREAS:
        rows = [
            [f"[{entry.code}]({entry.code}.md)", entry.title, str(entry.status), str(int(entry.exit))]
            for entry in all_codes()
            if first <= int(entry.code.removeprefix("PD-")) <= last
        ]
        if rows:
            sections.append(
                f"## {title} (PD-{first} to PD-{last})\n\n" + table(["Code", "Title", "HTTP", "Exit"], rows)
            )
    intro = (
        "Every refusal says what failed, where, why and what to do, and carries one of these codes. "
        "The API sends it as `code` in `application/problem+json`; the command line prints it and ends with the "
        f"[exit code]({EXIT}) of the last column. A code is stable: it may be retired, it is never used again."
    )
    return page("Error codes", intro, *sections)
