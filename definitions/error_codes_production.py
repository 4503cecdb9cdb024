"""Codes PD-4100 to PD-4149: deployments on an engine, a database and a store that others look after."""

from definitions.errors import Exit, register

register(
    "PD-4100",
    "Engine credentials unusable",
    500,
    Exit.USAGE,
    "A file with which the workflow engine is to be reached (authority, certificate, key, API key) cannot be used.",
    "Mount the file, or mend the setting PERDURE_TEMPORAL_... that names it.",
)
register(
    "PD-4101",
    "Payload keys unusable",
    500,
    Exit.USAGE,
    "PERDURE_PAYLOAD_KEYS_FILE must be readable by this user alone and hold keys of 32 bytes in base64, one a line.",
    "Mend the file. A new key: head -c 32 /dev/urandom | base64",
)
register(
    "PD-4102",
    "Payload cannot be opened",
    503,
    Exit.SERVER,
    "What the workflow engine keeps was sealed with a key that this process does not have, or it was changed.",
    "Add the key that the message names to PERDURE_PAYLOAD_KEYS_FILE and start again; work that waits for it goes on.",
)
register(
    "PD-4103",
    "Admin key unusable",
    500,
    Exit.USAGE,
    "The file that PERDURE_ADMIN_TOKEN_FILE names holds no key, or one that was revoked or belongs to another tenant.",
    "Put a key there that begins with pdk_ and was made with `perdure up` or by hand as docs/production.md says.",
)
register(
    "PD-4104",
    "Setting missing",
    500,
    Exit.USAGE,
    "A single process of the control plane needs an engine and a database that it shares with the others.",
    "Set the variables that the message names, or use `perdure up`, which starts everything on one machine.",
)
