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
    "Mend the file. `head -c 32 /dev/urandom | base64` makes a new key.",
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
    "Put a key there that was made as docs/production.md says; it begins with pd_live_.",
)
register(
    "PD-4104",
    "Setting missing",
    500,
    Exit.USAGE,
    "A single process of the control plane needs an engine and a database that it shares with the others.",
    "Set the variables that the message names, or use `perdure up`, which starts everything on one machine.",
)
register(
    "PD-4105",
    "Nothing to open payloads with",
    409,
    Exit.CONFLICT,
    "This deployment seals no payloads: PERDURE_PAYLOAD_KEYS_FILE is not set for the API.",
    "Read the payload as it is, or give the API the keys that sealed it.",
)
register(
    "PD-4106",
    "Payloads not understood",
    400,
    Exit.USAGE,
    'The body is not {"payloads": [{"metadata": {...}, "data": "..."}]} with values in base64, as engines send it.',
    "Let the engine's Web UI or its command line ask, with this address as its codec endpoint.",
)
register(
    "PD-4110",
    "Database schema differs",
    503,
    Exit.SERVER,
    "The database cannot be read, or its tables are not of this version.",
    "Run `perdure serve migrate` of this version, or mend PERDURE_DATABASE_URL.",
)
register(
    "PD-4111",
    "Workflow engine not reached",
    503,
    Exit.SERVER,
    "The engine does not answer at PERDURE_TEMPORAL_ADDRESS, or does not accept how we identify ourselves.",
    "Look at the engine and the network before it, and at the settings PERDURE_TEMPORAL_...",
)
register(
    "PD-4112",
    "Namespace not as it must be",
    503,
    Exit.SERVER,
    "The engine's namespace is missing, or keeps ended workflows for another time than PERDURE_RETENTION says.",
    "Start a worker that may change the namespace, or have its operator set what the message says.",
)
register(
    "PD-4113",
    "Search attributes missing",
    503,
    Exit.SERVER,
    "The namespace lacks keyword search attributes of ours; the engine refuses workflows that carry them.",
    "Start a worker that may add them, or have the engine's operator add those that the message names.",
)
register(
    "PD-4114",
    "Task queue without a worker",
    503,
    Exit.SERVER,
    "Nobody has asked the engine for work of this queue lately: what is put there waits.",
    "Start the worker: `perdure serve worker`, or for a cluster `perdure serve cluster-worker`.",
)
register(
    "PD-4115",
    "Object store not as it must be",
    503,
    Exit.SERVER,
    "An object could not be stored, read, listed and deleted, or a second write replaced one that was to stay.",
    "Mend what the message says. A store that ignores If-None-Match is not fit.",
)
register(
    "PD-4116",
    "Cluster's worker silent",
    503,
    Exit.SERVER,
    "The worker of that cluster has not been heard of lately: no job starts or ends there.",
    "Look at the worker's log; start it with `perdure serve cluster-worker`.",
)
