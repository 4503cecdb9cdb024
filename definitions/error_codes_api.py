"""Codes PD-2000 to PD-2899: requests, authentication, things not found, conflicts, the engine out of reach."""

from definitions.errors import Exit, register

register(
    "PD-2001",
    "Not authenticated",
    401,
    Exit.AUTH,
    "The request carried no key, or one that is unknown, expired or revoked.",
    "Set PERDURE_API_KEY, or run the command where PERDURE_HOME holds the local admin token.",
)
register(
    "PD-2002",
    "Not allowed",
    403,
    Exit.AUTH,
    "The key's role or its projects do not allow this.",
    "Ask an admin of the tenant for a key with a wider role, or work in a project that the key is for.",
)
register(
    "PD-2003",
    "Host not served here",
    421,
    Exit.USAGE,
    "The Host header names a host that this server does not answer for; a page of another site may be behind it.",
    "Use the address that `perdure status` shows, or add the name to the allowed hosts.",
)
register(
    "PD-2004",
    "Not found",
    404,
    Exit.NOT_FOUND,
    "Nothing of that kind has that name or id in this project.",
    "List what there is, and check the project.",
)
register(
    "PD-2005",
    "Method not allowed",
    405,
    Exit.USAGE,
    "The route exists, but not for this HTTP method.",
    "Look at the API's description for the methods of this route.",
)
register(
    "PD-2006",
    "Origin not allowed",
    403,
    Exit.AUTH,
    "A page of another site sent the request from somebody's browser.",
    "Call the API from a program, or from a page that this server itself serves.",
)
register(
    "PD-2007",
    "It has changed",
    412,
    Exit.CONFLICT,
    "The request was to be done only while the ETag is the one given in If-Match, and it is another by now.",
    "Look at the present state, then repeat the request with its ETag.",
)
register(
    "PD-2008",
    "No such route",
    404,
    Exit.USAGE,
    "The path is none of this API's.",
    "Check the path against the API's description; a newer client may know routes that an older server lacks.",
)
register(
    "PD-2009",
    "Conflict",
    409,
    Exit.CONFLICT,
    "The thing is in a state, or has a name, that does not allow this.",
    "Look at its present state, then decide.",
)
register(
    "PD-2010",
    "Job has ended",
    409,
    Exit.CONFLICT,
    "The job has reached a final phase; nothing can be asked of it any more.",
    "Clone it to run it again.",
)
register(
    "PD-2011",
    "Job has not begun",
    409,
    Exit.CONFLICT,
    "The job was accepted a moment ago, and its workflow has not been started yet.",
    "Repeat the request in a moment.",
)
register(
    "PD-2012",
    "Live job differs",
    409,
    Exit.CONFLICT,
    "A job of that name has not ended, and its document is not the one sent.",
    "Cancel the job and apply again, or choose another name.",
)
register(
    "PD-2013",
    "Request too large",
    413,
    Exit.USAGE,
    "The body is larger than this route takes.",
    "Send less: put data into volumes or artifacts, and list big files in .perdureignore.",
)
register(
    "PD-2014",
    "Body cannot be read",
    400,
    Exit.USAGE,
    "The body is not what its content type says, or is not UTF-8.",
    "Send JSON as application/json, or YAML as application/yaml.",
)
register(
    "PD-2015",
    "Content type not supported",
    415,
    Exit.USAGE,
    "The route does not take bodies of this content type.",
    "Send JSON as application/json, or YAML as application/yaml where the description lists it.",
)
register(
    "PD-2016",
    "Job has not ended",
    409,
    Exit.CONFLICT,
    "Only ended jobs can be deleted.",
    "Cancel the job first, and wait until it has ended.",
)
register(
    "PD-2017",
    "No such checkpoint",
    409,
    Exit.CONFLICT,
    "The job to start from has no checkpoint of that step whose files were verified, or it was removed.",
    "List its checkpoints and choose one that is complete.",
)
register(
    "PD-2022",
    "Request not valid",
    422,
    Exit.USAGE,
    "A field of the request has a value that it cannot have.",
    "Correct what is named.",
)
register(
    "PD-2031",
    "Working directory missing",
    422,
    Exit.USAGE,
    "The document asks for a snapshot or a live folder, and the submission names none.",
    "Upload a snapshot and name its digest, give spec.workdir.path, or set spec.workdir.mode: none.",
)
register(
    "PD-2040",
    "Workflow engine not reachable",
    503,
    Exit.SERVER,
    "The request needs the workflow engine, which does not answer. It was not carried out.",
    "Repeat it in a few seconds; look at `perdure status` if it stays so.",
)
register(
    "PD-2100",
    "Cluster exists",
    409,
    Exit.CONFLICT,
    "There is a cluster of that name, and it is described differently.",
    "Replace its description with `perdure clusters add NAME --replace`, or choose another name.",
)
register(
    "PD-2101",
    "Cluster not known",
    422,
    Exit.USAGE,
    "The job, the command or the worker names a cluster that was never added here, or was removed.",
    "Name one of those that are listed (`perdure clusters list`), or add it: `perdure clusters add NAME`.",
)
register(
    "PD-2102",
    "Cluster in use",
    409,
    Exit.CONFLICT,
    "Jobs that have not ended are on the cluster; without it nobody could end or collect them.",
    "Cancel those jobs, or wait for their end.",
)
register(
    "PD-2103",
    "Cluster does not answer",
    503,
    Exit.SERVER,
    "The cluster's worker did not take the question, or did not answer it in time. Running jobs are not affected.",
    "Look whether the worker runs: `perdure clusters show`; start it with `perdure clusters worker NAME`.",
)
register(
    "PD-2104",
    "Not on this machine",
    422,
    Exit.USAGE,
    "What was asked belongs to clusters: this machine's own runtime makes processes, no objects, and has no nodes.",
    "Name a cluster with --cluster.",
)
register(
    "PD-2105",
    "Node is being worked on",
    409,
    Exit.CONFLICT,
    "Something else is being done to the node, and one thing is done at a time.",
    "Wait until it is done: its workflow is node/CLUSTER/NODE in the engine's Web UI.",
)
register(
    "PD-2500",
    "Internal error",
    500,
    Exit.SERVER,
    "The server met a fault of its own; nothing is half done.",
    "Try again; if it stays, look for the request id in the server's log.",
)
register(
    "PD-2106",
    "No image",
    422,
    Exit.USAGE,
    "A pod needs an image. The job names none, and neither does its cluster for jobs that name none.",
    "Set spec.image (`perdure run --image`), or have the cluster's settings name one.",
)
register(
    "PD-2150",
    "Nobody opened the session",
    503,
    Exit.SERVER,
    "The worker of the job's cluster took the request, if at all, and did not connect to this API in time.",
    "Look at `perdure clusters show`: its worker must run, and reach the address in PERDURE_ADVERTISE_URL.",
)
register(
    "PD-2151",
    "Job does not run",
    409,
    Exit.CONFLICT,
    "Sessions are opened with running ranks, and the job is in another phase.",
    "Wait until it runs: `perdure jobs show`.",
)
register(
    "PD-2152",
    "No such rank",
    422,
    Exit.USAGE,
    "The job has fewer ranks than the number that was given; they count from 0.",
    "Name one of the job's ranks.",
)
register(
    "PD-2107",
    "Jobs run on clusters only",
    422,
    Exit.USAGE,
    "This installation runs no jobs on its own machine (PERDURE_LOCAL_JOBS), and the job names no cluster.",
    "Name one with spec.cluster or --cluster; `perdure clusters list` shows them.",
)
register(
    "PD-2108",
    "Checkpoint is elsewhere",
    409,
    Exit.CONFLICT,
    "A job keeps its checkpoints where it ran: on its cluster's volumes, or on this machine's disk.",
    "Run the job where the other one ran (spec.cluster), or copy the checkpoint into a volume that it mounts.",
)
