"""Codes PD-2900 to PD-2999: what the client and the command line refuse by themselves, without asking the API.

The registry of all codes is the server's; a test holds this table and the registry together.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Exit(IntEnum):
    """Exit codes of the command line."""

    OK = 0
    JOB_FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    AUTH = 4
    QUOTA = 5
    CONFLICT = 6
    TIMEOUT = 7
    SERVER = 8
    INTERRUPTED = 130


class Code(NamedTuple):
    """One kind of refusal. `remedy` says what would make the request pass."""

    code: str
    title: str
    exit: Exit
    why: str
    remedy: str


UNREACHABLE = Code(
    "PD-2900",
    "API not reachable",
    Exit.SERVER,
    "Nothing answered at the API's address within the tries that were allowed.",
    "Start the control plane with `perdure up`, or set PERDURE_API_URL to the address where it runs.",
)
USAGE = Code(
    "PD-2901",
    "Command not understood",
    Exit.USAGE,
    "An option or argument is unknown, missing, or has a value that it cannot have.",
    "Look at the same command with --help.",
)
UNREADABLE_ANSWER = Code(
    "PD-2902",
    "Answer not understood",
    Exit.SERVER,
    "What answered does not speak this API, or a proxy on the way answered in its place.",
    "Check PERDURE_API_URL, and that client and server are of the same version (`perdure version --server`).",
)
NOT_CONFIRMED = Code(
    "PD-2903",
    "Confirmation needed",
    Exit.USAGE,
    "The command destroys something and asks first, but its input is not a terminal.",
    "Add -y to go ahead without being asked.",
)
WAIT_TIMEOUT = Code(
    "PD-2904",
    "Waited long enough",
    Exit.TIMEOUT,
    "The job had not ended within the time that was given for waiting. The job itself goes on.",
    "Wait again with more time, or look with `perdure jobs show`.",
)
BAD_CONFIGURATION = Code(
    "PD-2906",
    "Settings not usable",
    Exit.USAGE,
    "A file below PERDURE_HOME or an environment variable does not hold what it should.",
    "Correct what is named, or remove the file and run `perdure up` again.",
)
STREAM_BROKEN = Code(
    "PD-2907",
    "Stream broke off",
    Exit.SERVER,
    "The connection that carried logs or events ended, and could not be resumed within the tries that were allowed.",
    "Run the command again; it goes on where the API still has lines.",
)
UNKNOWN_FIELD = Code(
    "PD-2908",
    "Field not known",
    Exit.USAGE,
    "--json names a field that the answer does not have.",
    "Choose from the fields that are listed.",
)
UNREADABLE_FILE = Code(
    "PD-2909",
    "File not readable",
    Exit.USAGE,
    "A file named on the command line is missing, may not be read, or is not text in UTF-8.",
    "Check the path and its permissions.",
)
TOO_MANY_BYTES = Code(
    "PD-2910",
    "Folder too large for a snapshot",
    Exit.USAGE,
    "The files that would be kept with the job hold more bytes than a snapshot may.",
    "List what the job does not need in .perdureignore, use --workdir live, or raise PERDURE_SNAPSHOT_MAX_BYTES.",
)
TOO_MANY_FILES = Code(
    "PD-2911",
    "Folder has too many files for a snapshot",
    Exit.USAGE,
    "More files would be kept with the job than a snapshot may have.",
    "List what the job does not need in .perdureignore, or use --workdir live.",
)
CHANGING_FILE = Code(
    "PD-2912",
    "File kept changing",
    Exit.CONFLICT,
    "The file was written to each time it was read, so that no copy of it would be whole.",
    "Submit when it is at rest, list it in .perdureignore, or use --workdir live.",
)
LINK_LEAVES = Code(
    "PD-2913",
    "Link out of the folder",
    Exit.USAGE,
    "A symbolic link is absolute or points out of the folder, so that a copy of the folder would not hold its target.",
    "List the link in .perdureignore, or use --workdir live.",
)
NOT_A_FILE = Code(
    "PD-2914",
    "Not a regular file",
    Exit.USAGE,
    "Sockets, pipes and devices cannot be kept in a snapshot.",
    "List it in .perdureignore, or use --workdir live.",
)
LINK_DANGLES = Code(
    "PD-2915",
    "Link to nothing",
    Exit.USAGE,
    "A symbolic link's target does not exist, or is left out of the snapshot.",
    "Remove the link, list it in .perdureignore, or keep its target.",
)
NOT_KEPT = Code(
    "PD-2916",
    "File cannot be kept",
    Exit.USAGE,
    "A file or folder may not be read, or its name cannot be kept: not UTF-8, or reserved for the snapshot itself.",
    "Rename it, change its permissions, or list it in .perdureignore.",
)
NO_VALUE = Code(
    "PD-2917",
    "No value given",
    Exit.USAGE,
    "A secret's value is read from a prompt, from standard input or from a file, and there was none.",
    "Pipe the value in, or name a file with --from-file.",
)
UNKNOWN_CODE = Code(
    "PD-2918",
    "Code not known",
    Exit.NOT_FOUND,
    "No error has that code.",
    "Codes look like PD-2004; `perdure errors` lists them.",
)
CLIENT_FAULT = Code(
    "PD-2919",
    "Fault of the command line itself",
    Exit.SERVER,
    "The command met a fault of its own.",
    "Run it again with PERDURE_DEBUG=1 to see where, and report that.",
)
NO_DESTINATION = Code(
    "PD-2920",
    "Nowhere to write",
    Exit.USAGE,
    "The file exists already, its folder does not, or it may not be written.",
    "Name another file with --to, or remove the one that is there.",
)
LOST_SESSION = Code(
    "PD-2930",
    "Session broke off",
    Exit.SERVER,
    "The connection to the program ended before its exit code came: the API, the worker or the rank has gone.",
    "Look at `perdure jobs show`, and open a session again while the rank runs. What the program did stands.",
)
PORT_TAKEN = Code(
    "PD-2931",
    "Port of this machine cannot be used",
    Exit.USAGE,
    "A port that connections were to be taken on is in use, or needs more rights.",
    "Name another: `perdure jobs port-forward JOB 8081:80`, or 0 for any that is free.",
)
NO_SUCH_NODE = Code(
    "PD-2950",
    "No such node",
    Exit.NOT_FOUND,
    "No cluster has a node of that name, as far as their workers have told.",
    "List what there is: `perdure nodes list`.",
)
AMBIGUOUS_NODE = Code(
    "PD-2951",
    "Several nodes of that name",
    Exit.USAGE,
    "More than one cluster has a node of that name.",
    "Say which cluster is meant: --cluster NAME.",
)

ALL = tuple(value for value in list(globals().values()) if isinstance(value, Code))
