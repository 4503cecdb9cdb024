"""The reference of each kind of document, made from the models by definitions/reference.py."""

import re

from definitions.reference import reference
from docs.makers.markdown import page

FORMS = (
    "Durations are written `30s`, `90m`, `1h30m`, `7d`. Sizes are written `500M` (decimal) or `10Gi` (binary). "
    'Nothing is converted quietly: `nodes: "2"` is an error. An unknown field is refused, with the nearest known name.'
)
YAML = (
    "Documents are YAML 1.2 or JSON. Keys written twice are refused, and so are unquoted words that older tools read "
    "as something else (`NO`, `12:00:00`): put them in quotes. Every fault is reported with file, line and column."
)
REFUSED = (
    "**Refused here** marks a field whose subsystem is not part of this installation. "
    "It is refused with the code that is given, never stored and ignored. **Only with `cluster`** marks what "
    "a job of this machine's processes cannot have; it is refused there in the same way."
)
OF_SCHEDULER = (
    "It belongs to the installation. How it is used: [queues](queues.md). The simulator reads it too "
    "(`perdure simulate -f FILE`)."
)
PRIORITY = "It belongs to the installation. How it is used: [queues](queues.md#priorities)."
RESERVED = "It belongs to the installation. How it is used: [reservations](reservations.md)."
LOCAL_TIME = (
    "Local times are meant in the zone of `timeZone`, and are written to the minute, without an offset: "
    "`2027-03-05T10:00`. A rule keeps local times; what is charged is real time, which on a night of changing clocks "
    "is an hour more or less. A start or end that clocks jump over becomes the first moment after the jump; of one "
    "that comes twice the first is taken; a day that a zone skipped has no window. The window notes each of these."
)
INTRO = {
    "Job": f"A job, as a document for `perdure apply -f`. {FORMS}\n\n{YAML}\n\n{REFUSED}",
    "Template": f"A template, as a document. How it is used: [templates](templates.md). {FORMS}",
    "Schedule": f"A schedule, as a document. How it is used: [schedules](schedules.md). {FORMS}",
    "Cluster": f"A cluster, as a document. How it is used: [clusters](clusters.md). {FORMS}",
    "Queue": f"A node of the tree of queues, as a document. {OF_SCHEDULER} {FORMS}",
    "ResourceFlavor": f"One sort of GPU, as a document. {OF_SCHEDULER}",
    "PriorityClass": f"A class of priority, as a document. {PRIORITY}",
    "Topology": f"How close to each other nodes are, as a document. {OF_SCHEDULER}",
    "NodePool": f"Nodes that belong together, real or made up, as a document. {OF_SCHEDULER}",
    "Reservation": f"Nodes or GPUs kept for a queue in windows of time, as a document. {RESERVED} {LOCAL_TIME}",
    "Secret": "A secret, as a document. How it is used: [secrets](secrets.md).",
}
TITLES = {"Job": "Job specification"}


def pages() -> dict[str, str]:
    return {
        f"{_slug(kind)}-spec.md": page(
            TITLES.get(kind, f"{kind} specification"), _linked(intro), _linked(reference(kind))
        )
        for kind, intro in INTRO.items()
    }


def _slug(kind: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind).lower()


def _linked(text: str) -> str:
    return re.sub(r"\((PD-[0-9]{4})\)", r"([\1](errors/\1.md))", text)
