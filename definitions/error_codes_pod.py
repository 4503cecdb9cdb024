"""Codes PD-3200 to PD-3249: what our own steps do in the pods of a job."""

from definitions.errors import Exit, register

register(
    "PD-3200",
    "Pod could not be prepared",
    500,
    Exit.SERVER,
    "The step that lays out a pod's folders before the job's command failed; the detail says at what.",
    "Correct what the detail names. The attempt is tried again by the job's retry policy.",
)
register(
    "PD-3201",
    "Snapshot could not be fetched",
    502,
    Exit.SERVER,
    "A pod could not read the working directory's snapshot from the object store.",
    "See that pods reach the object store under the address that the cluster's settings name (objects_url).",
)
register(
    "PD-3202",
    "Snapshot may not be fetched",
    500,
    Exit.SERVER,
    "The object store refused the pod's link to the snapshot: it had run out, or the snapshot is gone.",
    "Run the job again; when pods wait longer than a link lasts, look at what keeps them waiting.",
)
register(
    "PD-3203",
    "Upload failed",
    502,
    Exit.SERVER,
    "A pod could not store logs or artifacts in the object store.",
    "See that pods reach the object store and that its clock is right; collecting is repeated by itself.",
)
register(
    "PD-3204",
    "Secret not in the pod",
    500,
    Exit.SERVER,
    "A secret that the job names is not among the files of the pod's Secret.",
    "Create the secret and run the job again.",
)
register(
    "PD-3205",
    "Request to a pod not valid",
    400,
    Exit.USAGE,
    "The agent in a pod was asked something that it does not know, or that only the first pod of the gang answers.",
    "This is a fault of the cluster's worker: its version and the agent's image should be the same.",
)
register(
    "PD-3206",
    "Pod's answer cannot be read",
    502,
    Exit.SERVER,
    "A pod of ours ended without the answer that it was started for, or said something else.",
    "Look at the pod's log; it is asked again by itself. The agent's image should be of the worker's version.",
)
register(
    "PD-3207",
    "Agent failed",
    500,
    Exit.SERVER,
    "The process that supervises a pod's ranks could not begin, or met something that it was not made for.",
    "The detail and the pod's log say what. The attempt is tried again by the job's retry policy.",
)
