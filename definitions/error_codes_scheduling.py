"""Codes PD-1601 to PD-1699 (1600 is retired), and PD-2140 to PD-2149: documents of the scheduler, and their use."""

from definitions.errors import Exit, register

UNPROCESSABLE = 422


def _document(code: str, title: str, why: str, remedy: str) -> None:
    register(code, title, UNPROCESSABLE, Exit.USAGE, why, remedy)


_document(
    "PD-1601",
    "Not a number of GPUs",
    "GPUs are counted in whole ones or in fractions of one, down to a thousandth.",
    "Write a number such as 8 or 0.5, without quotes.",
)
_document(
    "PD-1602",
    "Not a local time",
    "Reservations are meant in local time: a date and a time to the minute, in the zone of timeZone, with no offset.",
    "Write it like 2027-03-05T10:00.",
)
_document(
    "PD-1603",
    "Not a day of the week",
    "Days are written mon to sun. For months a number before it counts them from the begin, or with - from the end.",
    "Write it like mon, 1mon or -1fri.",
)
_document(
    "PD-1610",
    "Names what is not there",
    "Documents of the scheduler name each other, and everything that is named must be among those that are read.",
    "Add the document that is named, or correct the name.",
)
_document(
    "PD-1611",
    "Queues in a circle",
    "Queues form a tree: going up from parent to parent must end at a root.",
    "Remove parent from one of the queues that are listed.",
)
_document(
    "PD-1612",
    "Name taken",
    "Two documents of one kind have the same name, so it is not clear which is meant.",
    "Rename or remove one of them.",
)
_document(
    "PD-1613",
    "Two defaults",
    "One queue takes the jobs that name none, and one priority class those that name no class.",
    "Remove default from all but one.",
)
_document(
    "PD-1614",
    "Guaranteed more than there is above",
    "What queues are guaranteed together must fit into what the queue above them is guaranteed, or may have at most.",
    "Lower a guarantee below, or raise the one above.",
)
_document(
    "PD-1615",
    "One model in two flavors",
    "Quotas are counted by model of GPU, so that each model, under any of its names, belongs to one flavor.",
    "Merge the two flavors, or remove the model from one of them.",
)
_document(
    "PD-1616",
    "Domains that cut across each other",
    "A domain lies within one domain of the wider level, so the wider one holds a whole number of narrower ones.",
    "Choose sizes of which each wider one is a multiple of the next.",
)
_document(
    "PD-1617",
    "Reserved twice at once",
    "Windows hold more of the same capacity at one time than there is. They are compared in real time.",
    "Move or shorten one of the two, or reserve other nodes.",
)
_document(
    "PD-1618",
    "Reserves what cannot be had",
    "A reservation keeps what its pool has, and no more than its queue and those above it may ever use.",
    "Keep less, take it from another pool, or raise the limit that is named.",
)
_document(
    "PD-1619",
    "Only jobs that name it",
    "A job is looked for nodes outside of all reservations, or within the one that it names, and never in both.",
    "Remove withoutNaming, and write `reservation: NAME` in the jobs that are to run in it.",
)
_document(
    "PD-1620",
    "Not a document of the scheduler",
    "Queues, flavors, priority classes, topologies, node pools and reservations are applied together, or not at all; a "
    "document of another kind among them is not part of that.",
    "Take it out of the request, and apply it by itself.",
)


def _in_use(code: str, title: str, why: str, remedy: str) -> None:
    register(code, title, 409, Exit.CONFLICT, why, remedy)


_in_use(
    "PD-2140",
    "Queue has jobs",
    "Jobs that have not ended wait in the queue, hold places of it, or come back to it when they are resumed.",
    "Wait for them to end, or cancel them; with `stop: hold` in the queue's document no more of them start meanwhile.",
)
_in_use(
    "PD-2141",
    "Priority class has jobs",
    "Jobs that have not ended are of this class, and are ordered by it.",
    "Wait for them to end, or cancel them.",
)
_in_use(
    "PD-2142",
    "Named by others",
    "Other documents of the scheduler name this one, and would name what is not there.",
    "Change or delete the documents that are listed, then delete this one.",
)
