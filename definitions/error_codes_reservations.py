"""Codes PD-2160 to PD-2179: naming, booking, making longer and giving up what is reserved."""

from definitions.errors import Exit, register

CONFLICT = 409
UNPROCESSABLE = 422


def _refused(code: str, title: str, why: str, remedy: str) -> None:
    register(code, title, UNPROCESSABLE, Exit.USAGE, why, remedy)


def _denied(code: str, title: str, why: str, remedy: str) -> None:
    register(code, title, CONFLICT, Exit.CONFLICT, why, remedy)


_refused(
    "PD-2160",
    "No such reservation",
    "A job runs in a reservation that is there when it is submitted.",
    "Name one that perdure reservations list shows, or none.",
)
_refused(
    "PD-2161",
    "Reservation is over",
    "Every window of it has ended, and the job would wait for another one for ever.",
    "Name another reservation or none; one that is applied again with a later end goes on.",
)
_refused(
    "PD-2162",
    "Reservation is not for this job",
    "A reservation keeps nodes of one cluster, for jobs of its queue, of queues that `users` names, and of all that "
    "are below these.",
    "Submit the job to one of these queues and for that cluster, or name another reservation.",
)
_denied(
    "PD-2163",
    "Window stays as long as it is",
    "A window becomes longer only as far as its reservation allows when it is booked, when that is asked for in time, "
    "and never into another window of the same capacity.",
    "Ask for less or earlier, or book another window; `extension` of the document says what is allowed.",
)
_denied(
    "PD-2164",
    "Window cannot be given up",
    "What has ended holds nothing any more.",
    "Nothing is to be done; perdure reservations show NAME tells which windows are still to come.",
)
register(
    "PD-2165",
    "No such window",
    404,
    Exit.NOT_FOUND,
    "The reservation has no window of that number that is booked, or none at all that is not over. Windows are booked "
    "60 days ahead, and always the next one.",
    "Name one of the windows that perdure reservations show NAME lists.",
)
register(
    "PD-2166",
    "Nothing of it is still to come",
    UNPROCESSABLE,
    Exit.USAGE,
    "Every window that the document describes is over already, so that it would keep nothing.",
    "Choose a later start, or a repetition that goes on.",
)
register(
    "PD-2167",
    "Name is taken",
    CONFLICT,
    Exit.CONFLICT,
    "There is a reservation of that name. `reservations create` makes new ones and changes none.",
    "Choose another name, or change the one that is there: perdure apply -f FILE.",
)
