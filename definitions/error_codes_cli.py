"""Codes PD-2900 to PD-2999: what the client and the command line refuse by themselves.

They cannot import this: perdure/codes.py holds the same table, and a test holds both together. No HTTP status is ever
sent with them; 400 stands where one is needed.
"""

from definitions.errors import Exit, register

register(
    "PD-2900",
    "API not reachable",
    400,
    Exit.SERVER,
    "Nothing answered at the API's address within the tries that were allowed.",
    "Start the control plane with `perdure up`, or set PERDURE_API_URL to the address where it runs.",
)

register(
    "PD-2901",
    "Command not understood",
    400,
    Exit.USAGE,
    "An option or argument is unknown, missing, or has a value that it cannot have.",
    "Look at the same command with --help.",
)

register(
    "PD-2902",
    "Answer not understood",
    400,
    Exit.SERVER,
    "What answered does not speak this API, or a proxy on the way answered in its place.",
    "Check PERDURE_API_URL, and that client and server are of the same version (`perdure version --server`).",
)

register(
    "PD-2903",
    "Confirmation needed",
    400,
    Exit.USAGE,
    "The command destroys something and asks first, but its input is not a terminal.",
    "Add -y to go ahead without being asked.",
)

register(
    "PD-2904",
    "Waited long enough",
    400,
    Exit.TIMEOUT,
    "The job had not ended within the time that was given for waiting. The job itself goes on.",
    "Wait again with more time, or look with `perdure jobs show`.",
)

register(
    "PD-2906",
    "Settings not usable",
    400,
    Exit.USAGE,
    "A file below PERDURE_HOME or an environment variable does not hold what it should.",
    "Correct what is named, or remove the file and run `perdure up` again.",
)

register(
    "PD-2907",
    "Stream broke off",
    400,
    Exit.SERVER,
    "The connection that carried logs or events ended, and could not be resumed within the tries that were allowed.",
    "Run the command again; it goes on where the API still has lines.",
)

register(
    "PD-2908",
    "Field not known",
    400,
    Exit.USAGE,
    "--json names a field that the answer does not have.",
    "Choose from the fields that are listed.",
)

register(
    "PD-2909",
    "File not readable",
    400,
    Exit.USAGE,
    "A file named on the command line is missing, may not be read, or is not text in UTF-8.",
    "Check the path and its permissions.",
)

register(
    "PD-2910",
    "Folder too large for a snapshot",
    400,
    Exit.USAGE,
    "The files that would be kept with the job hold more bytes than a snapshot may.",
    "List what the job does not need in .perdureignore, use --workdir live, or raise PERDURE_SNAPSHOT_MAX_BYTES.",
)

register(
    "PD-2911",
    "Folder has too many files for a snapshot",
    400,
    Exit.USAGE,
    "More files would be kept with the job than a snapshot may have.",
    "List what the job does not need in .perdureignore, or use --workdir live.",
)

register(
    "PD-2912",
    "File kept changing",
    400,
    Exit.CONFLICT,
    "The file was written to each time it was read, so that no copy of it would be whole.",
    "Submit when it is at rest, list it in .perdureignore, or use --workdir live.",
)

register(
    "PD-2913",
    "Link out of the folder",
    400,
    Exit.USAGE,
    "A symbolic link is absolute or points out of the folder, so that a copy of the folder would not hold its target.",
    "List the link in .perdureignore, or use --workdir live.",
)

register(
    "PD-2914",
    "Not a regular file",
    400,
    Exit.USAGE,
    "Sockets, pipes and devices cannot be kept in a snapshot.",
    "List it in .perdureignore, or use --workdir live.",
)

register(
    "PD-2915",
    "Link to nothing",
    400,
    Exit.USAGE,
    "A symbolic link's target does not exist, or is left out of the snapshot.",
    "Remove the link, list it in .perdureignore, or keep its target.",
)

register(
    "PD-2916",
    "File cannot be kept",
    400,
    Exit.USAGE,
    "A file or folder may not be read, or its name cannot be kept: not UTF-8, or reserved for the snapshot itself.",
    "Rename it, change its permissions, or list it in .perdureignore.",
)

register(
    "PD-2917",
    "No value given",
    400,
    Exit.USAGE,
    "A secret's value is read from a prompt, from standard input or from a file, and there was none.",
    "Pipe the value in, or name a file with --from-file.",
)

register(
    "PD-2918",
    "Code not known",
    400,
    Exit.NOT_FOUND,
    "No error has that code.",
    "Codes look like PD-2004; `perdure errors` lists them.",
)

register(
    "PD-2919",
    "Fault of the command line itself",
    400,
    Exit.SERVER,
    "The command met a fault of its own.",
    "Run it again with PERDURE_DEBUG=1 to see where, and report that.",
)

register(
    "PD-2920",
    "Nowhere to write",
    400,
    Exit.USAGE,
    "The file exists already, its folder does not, or it may not be written.",
    "Name another file with --to, or remove the one that is there.",
)
register(
    "PD-2930",
    "Session broke off",
    400,
    Exit.SERVER,
    "The connection to the program ended before its exit code came: the API, the worker or the rank has gone.",
    "Look at `perdure jobs show`, and open a session again while the rank runs. What the program did stands.",
)

register(
    "PD-2931",
    "Port of this machine cannot be used",
    400,
    Exit.USAGE,
    "A port that connections were to be taken on is in use, or needs more rights.",
    "Name another: `perdure jobs port-forward JOB 8081:80`, or 0 for any that is free.",
)

register(
    "PD-2950",
    "No such node",
    400,
    Exit.NOT_FOUND,
    "No cluster has a node of that name, as far as their workers have told.",
    "List what there is: `perdure nodes list`.",
)

register(
    "PD-2951",
    "Several nodes of that name",
    400,
    Exit.USAGE,
    "More than one cluster has a node of that name.",
    "Say which cluster is meant: --cluster NAME.",
)
