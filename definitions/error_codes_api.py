"""Codes PD-2000 to PD-2999: requests, authentication, things not found, conflicts, the command line's own."""

from definitions.errors import Exit, register

register(
    "PD-2001", "Not authenticated", 401, Exit.AUTH,
    "The request carried no key, or one that is unknown, expired or revoked.",
    "Set PERDURE_API_KEY, or run the command where PERDURE_HOME holds the local admin token.",
)
register(
    "PD-2002", "Not allowed", 403, Exit.AUTH,
    "The key's role may not do this.",
    "Ask an admin of the tenant for a key with a wider role.",
)
register(
    "PD-2004", "Not found", 404, Exit.NOT_FOUND,
    "Nothing of that kind has that name or id in this project.",
    "List what there is, and check the project.",
)
register(
    "PD-2009", "Conflict", 409, Exit.CONFLICT,
    "The thing is in a state, or has a name, that does not allow this.",
    "Look at its present state, then decide.",
)
register(
    "PD-2022", "Request not valid", 422, Exit.USAGE,
    "A field of the request has a value that it cannot have.",
    "Correct the fields named in `errors`.",
)
register(
    "PD-2500", "Internal error", 500, Exit.SERVER,
    "The server met a fault of its own; nothing is half done.",
    "Try again; if it stays, look for the request id in the server's log.",
)
