"""Codes PD-3400 to PD-3699: snapshots, objects, checkpoints and artifacts."""

from definitions.errors import Exit, register

register(
    "PD-3400",
    "Snapshot archive not readable",
    422,
    Exit.USAGE,
    "The upload is not a complete gzip-compressed tar archive in the documented form.",
    "Send the archive again as the client makes it; if it was cut on the way, repeating is safe.",
)
register(
    "PD-3401",
    "Snapshot digest differs",
    422,
    Exit.USAGE,
    "The archive's manifest does not have the digest under which the snapshot was sent or asked for.",
    "Name the snapshot by the sha256 of its manifest's canonical bytes.",
)
register(
    "PD-3402",
    "Snapshot too large",
    413,
    Exit.USAGE,
    "The snapshot has more files or bytes than allowed, or unpacks to far more than its archive holds.",
    "Leave out what the job does not need (.perdureignore), or use --workdir live on one machine.",
)
register(
    "PD-3403",
    "Snapshot entry refused",
    422,
    Exit.USAGE,
    "An entry has a path, a link or a type that could reach outside the extracted folder.",
    "Keep to regular files and relative links inside the folder; leave out the named entry (.perdureignore).",
)
register(
    "PD-3404",
    "Object not found",
    404,
    Exit.NOT_FOUND,
    "The object store has no blob under that key; it may have been deleted by its retention policy.",
    "Look at the list of the job's artifacts, or upload the snapshot again.",
)
register(
    "PD-3405",
    "Snapshot content differs",
    422,
    Exit.USAGE,
    "A member of the archive does not have the size, mode, link or sha256 that the manifest says.",
    "Make the snapshot again: a file changed while it was read, or the archive was damaged.",
)
register(
    "PD-3406",
    "Object key not allowed",
    422,
    Exit.USAGE,
    "An object key is absolute or too long, or holds an empty, '.' or '..' segment, \\ % ? # or a control character.",
    "Use keys of plain segments joined by '/'.",
)
register(
    "PD-3407",
    "Object store failed",
    503,
    Exit.SERVER,
    "The object store could not read or write: no space left, no permission, or a damaged disk.",
    "Look at the message, free space or mend permissions; the operation may then be repeated.",
)
register(
    "PD-3408",
    "Snapshot cannot be laid out",
    503,
    Exit.SERVER,
    "The folder of the run could not be written: no space left, no permission, or it is in the way of something.",
    "Look at the message, free space or mend permissions; the next attempt tries again.",
)
register(
    "PD-3409",
    "Object store not reached",
    503,
    Exit.SERVER,
    "The bucket's store did not answer in time, broke off, or said that it is busy.",
    "Look at the store and the network before it; the operation may be repeated.",
)
register(
    "PD-3410",
    "Object store refused access",
    503,
    Exit.SERVER,
    "The store does not let the control plane in: no credentials, wrong or expired ones, or too few rights.",
    "Give the credentials that the message is about, with GetObject, PutObject, DeleteObject, ListBucket and "
    "AbortMultipartUpload on the bucket.",
)
register(
    "PD-3411",
    "Bucket not found",
    503,
    Exit.SERVER,
    "The bucket that PERDURE_OBJECT_STORE names does not exist at that endpoint and region.",
    "Create it, or mend PERDURE_OBJECT_STORE, PERDURE_S3_ENDPOINT or PERDURE_S3_REGION.",
)
register(
    "PD-3412",
    "Content changed while it was read",
    503,
    Exit.SERVER,
    "An object was replaced while it was being read, or a file changed while it was being stored; nothing was kept.",
    "Repeat the operation.",
)
register(
    "PD-3413",
    "Object too large for the store",
    413,
    Exit.USAGE,
    "The store takes no object of that size.",
    "Store less, or in several objects.",
)
register(
    "PD-3414",
    "Object store setting unusable",
    500,
    Exit.USAGE,
    "PERDURE_OBJECT_STORE is not s3://BUCKET or s3://BUCKET/PREFIX, or an endpoint is not an address.",
    "Mend the setting and start again.",
)
register(
    "PD-3415",
    "Object store refused a request",
    502,
    Exit.SERVER,
    "The store calls a request invalid that other S3 stores accept.",
    "Look at the store's words; `perdure doctor` says what this store lacks.",
)
