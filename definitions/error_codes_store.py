"""Codes PD-3700 to PD-3999: the database, what it refuses, and secrets."""

from definitions.errors import Exit, register

register(
    "PD-3700",
    "Database schema is not current",
    503,
    Exit.SERVER,
    "The database was never set up, or by another version of the control plane.",
    "Stop the control plane and start it again: it migrates the database before it serves. A newer database needs the "
    "newer version.",
)
register(
    "PD-3701",
    "Database address not usable",
    500,
    Exit.SERVER,
    "The address names no database that the control plane can keep its state in.",
    "Use sqlite:///path/to/control.db or postgresql://user@host/database.",
)
register(
    "PD-3702",
    "Cursor not valid",
    422,
    Exit.USAGE,
    "The cursor was cut, changed, or comes from another list.",
    "Leave the cursor out to begin at the first page, and pass `next` on as it was given.",
)
register(
    "PD-3703",
    "Job has no row",
    500,
    Exit.SERVER,
    "Something was to be written about a job that the database does not know.",
    "Look whether the database was replaced by an older copy while its workflows went on.",
)
register(
    "PD-3704",
    "Label selector not valid",
    422,
    Exit.USAGE,
    "The selector is not a list of key=value, key!=value, key and !key, joined by commas.",
    "Write it like team=vision,stage!=test,!draft.",
)
register(
    "PD-3705",
    "Snapshot is not stored",
    409,
    Exit.CONFLICT,
    "The job names files that were never uploaded, or were removed because no job used them any more.",
    "Upload the snapshot again, then submit the job.",
)
register(
    "PD-3706",
    "Database did not answer",
    503,
    Exit.SERVER,
    "The database refused the work or could not be reached; nothing is half written.",
    "Try again. If it stays, look at the database's own log, its disk and its connections.",
)
register(
    "PD-3707",
    "Name is taken",
    409,
    Exit.CONFLICT,
    "A job of that name has not ended, or a thing of that kind has that name already.",
    "Choose another name, or end and delete what holds it.",
)
register(
    "PD-3710",
    "Idempotency key used for another request",
    409,
    Exit.CONFLICT,
    "The key belongs to a request with other content; answering it again would answer the wrong question.",
    "Use a new key for a new request; repeat a key only with exactly the same request.",
)
register(
    "PD-3711",
    "Request with this key is still running",
    409,
    Exit.CONFLICT,
    "The first request with this idempotency key has not been answered yet.",
    "Wait a moment and send it again with the same key.",
)
register(
    "PD-3720",
    "Secret is too short",
    422,
    Exit.USAGE,
    "A value of fewer than 4 characters cannot be masked in logs without hiding ordinary text.",
    "Use a longer value, or an ordinary environment variable if it is not secret.",
)
register(
    "PD-3721",
    "Secret is too long",
    422,
    Exit.USAGE,
    "A secret holds at most 64 KiB.",
    "Put large files into a volume or an image, and only the key that opens them into a secret.",
)
register(
    "PD-3722",
    "Secret does not exist",
    422,
    Exit.NOT_FOUND,
    "The job names a secret that is not there, or was deleted.",
    "Create it with `perdure secrets create`, or correct the name.",
)
register(
    "PD-3723",
    "Secret cannot be opened",
    500,
    Exit.SERVER,
    "The key that sealed the secret is not loaded, or the stored bytes were changed.",
    "Put the key with the id named here back into the key file, or rotate the secret to a new value.",
)
register(
    "PD-3724",
    "Key for secrets not usable",
    500,
    Exit.SERVER,
    "Secrets are sealed with a key of 32 bytes, which was not found or cannot be read.",
    "Set PERDURE_SECRETS_KEY_FILE to a file with one base64 key of 32 bytes a line, newest first, that only the "
    "control plane's user can read.",
)
register(
    "PD-3725",
    "Secret cannot be given to a program",
    422,
    Exit.USAGE,
    "No program can be given a value with a NUL character, or with half of a character that needs two.",
    "Encode binary values, for example in base64, and decode them in the job.",
)
register(
    "PD-3740",
    "Decision overtaken",
    409,
    Exit.CONFLICT,
    "Another scheduler took over the pool, or decided for it, after this one had looked at it. Nothing was written.",
    "Nothing is to be done: the pool is looked at again, and decided anew from what is there then.",
)
