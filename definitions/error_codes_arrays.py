"""Codes PD-2200 to PD-2209: jobs that stand for many, one per index."""

from definitions.errors import Exit, register

register(
    "PD-2200",
    "Names of the array's jobs would be too long",
    422,
    Exit.USAGE,
    "Each job of an array is called NAME-INDEX, and a name has 63 characters at most.",
    "Shorten the name.",
)
register(
    "PD-2201",
    "A job has the name of one of the array's",
    409,
    Exit.CONFLICT,
    "Each job of an array is called NAME-INDEX, and a job that has not ended holds one of these names.",
    "Choose another name, or cancel that job first.",
)
register(
    "PD-2202",
    "Name of a job that an array is to make",
    409,
    Exit.CONFLICT,
    "An array of this project that has not ended will make a job of this name.",
    "Choose another name, or wait for the array.",
)
register(
    "PD-2203",
    "Asked of an array, not of one of its jobs",
    409,
    Exit.USAGE,
    "An array runs nothing itself: logs, processes, checkpoints and files are those of its jobs.",
    "Name one of its jobs; `perdure jobs children NAME` lists them.",
)
register(
    "PD-2204",
    "Not an array",
    422,
    Exit.USAGE,
    "Only an array has jobs of its own.",
    "Name an array; `perdure jobs list` shows which jobs are.",
)
