"""Codes PD-2190 to PD-2199: jobs that wait for others."""

from definitions.errors import Exit, register

UNPROCESSABLE = 422

register(
    "PD-2190",
    "No such job to wait for",
    UNPROCESSABLE,
    Exit.USAGE,
    "An entry of spec.after names a job by its id, or the newest of a name, and there is none of it in the project: it "
    "was never submitted there, or has been deleted.",
    "Correct the name, or submit that job first. A job waits for jobs of its own project only.",
)
register(
    "PD-2191",
    "The same job twice",
    UNPROCESSABLE,
    Exit.USAGE,
    "Two entries of spec.after come to the same job, perhaps one by its name and one by its id. It ends in one way "
    "only, so two outcomes could not both be met.",
    "Keep one of the two entries; outcome finished means however it ends.",
)
register(
    "PD-2192",
    "Too many jobs to wait for",
    UNPROCESSABLE,
    Exit.USAGE,
    "A job waits for at most 64 others, those of its document and those that a submit names beside it taken together.",
    "Let a job that does nothing wait for some of them, and wait for that one.",
)
