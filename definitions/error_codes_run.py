"""Codes PD-3000 to PD-3399: what keeps an attempt from being launched, observed or collected."""

from definitions.errors import Exit, register

register(
    "PD-3000",
    "Runtime failed",
    503,
    Exit.SERVER,
    "The place where attempts run could not do what it was asked: no space left, no permission, no process to be had.",
    "Look at the message, mend its cause on that machine; the operation is repeated by itself.",
)
register(
    "PD-3001",
    "Launch is being done elsewhere",
    503,
    Exit.SERVER,
    "Another worker has been preparing the same attempt for longer than this one waits.",
    "Nothing, usually: the launch is repeated and then finds it done.",
)
register(
    "PD-3002",
    "Supervisor could not be started",
    503,
    Exit.SERVER,
    "The process that is to supervise a rank ended, or did not answer, before its rank had an identity.",
    "Look at the message; a machine without memory or process ids is the usual cause. It is repeated by itself.",
)
register(
    "PD-3003",
    "Attempt does not end",
    503,
    Exit.SERVER,
    "An attempt was to be collected and processes of it would not die, as happens while the kernel waits for a device.",
    "Look for processes in state D on that machine; collecting is repeated by itself.",
)
register(
    "PD-3010",
    "Working directory missing",
    422,
    Exit.USAGE,
    "The folder that the job is to run in is not on this machine, or the folder inside it is missing or leads outside.",
    "Check the path and `workingDir`; with --workdir snapshot the folder travels with the job.",
)
register(
    "PD-3011",
    "Checkpoint to start from missing",
    422,
    Exit.USAGE,
    "The job starts from a checkpoint of another job, and that one is no longer there.",
    "List the other job's checkpoints and choose one that is complete.",
)
register(
    "PD-3012",
    "Path of a secret file refused",
    422,
    Exit.USAGE,
    "A secret is to be written to a path that is absolute, leads outside of the secrets folder, or is another file's.",
    "Use plain relative paths, one per secret.",
)
register(
    "PD-3013",
    "No free port",
    503,
    Exit.SERVER,
    "No port for the ranks to find each other was free in the range that is used for it.",
    "Wait for other jobs to end, or name one with `distributed.masterPort`.",
)
register(
    "PD-3014",
    "Name not usable as a folder",
    422,
    Exit.USAGE,
    "A tenant, project, job or token holds characters that a folder's name may not have.",
    "Use letters, digits, dots, dashes and underscores.",
)
register(
    "PD-3015",
    "Job still has attempts",
    409,
    Exit.CONFLICT,
    "What the runtime keeps of a job was to be removed while one of its attempts has not been collected.",
    "Wait for the job's end, then delete it again.",
)
register(
    "PD-3016",
    "Place in a log not valid",
    422,
    Exit.USAGE,
    "The cursor of a log was cut or changed, or belongs to something else.",
    "Leave the cursor out to begin anew, and pass cursors on as they were given.",
)
register(
    "PD-3017",
    "Rank does not run",
    409,
    Exit.CONFLICT,
    "A session was asked for with a rank that has not started, or has ended.",
    "Look at `perdure jobs show`; wait until the job is Running, or name another rank.",
)
register(
    "PD-3018",
    "Program cannot be started beside the rank",
    422,
    Exit.USAGE,
    "The program of the session is not there, cannot be executed, or could not be given a terminal.",
    "Name a program that is on the rank's own PATH, such as sh.",
)
register(
    "PD-3019",
    "Nothing listens on that port",
    409,
    Exit.CONFLICT,
    "The connection to a port of the rank was refused or did not come about in time.",
    "Check that the job listens on it, on every interface or on the loopback one, and has done so already.",
)
register(
    "PD-3030",
    "Places for another number of nodes",
    409,
    Exit.CONFLICT,
    "The scheduler gave the attempt more or fewer places than its job has nodes. Nothing of it has run.",
    "Submit the job again; if it is refused again, report the decision that is named.",
)
register(
    "PD-3031",
    "Place is not of this runtime",
    409,
    Exit.CONFLICT,
    "A place of the attempt is on a machine that this worker does not run on, or on a simulated node of a cluster, "
    "where only real nodes run pods. Nothing of the attempt has run.",
    "The job asks for other places by itself; a machine must not be renamed while jobs have places on it.",
)
