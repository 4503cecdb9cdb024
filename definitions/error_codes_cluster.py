"""Codes PD-3100 to PD-3249: Kubernetes clusters and what runs in them."""

from definitions.errors import Exit, register

register(
    "PD-3100",
    "Kubernetes API does not answer",
    503,
    Exit.SERVER,
    "The cluster's API server could not be reached, or did not answer in time, also when asked again.",
    "Check the address in the kubeconfig and the network to it; the operation is repeated by itself.",
)
register(
    "PD-3101",
    "Kubernetes credentials not usable",
    503,
    Exit.SERVER,
    "The kubeconfig cannot be read, lacks the context, or names a plugin that gave no credentials.",
    "Try `kubectl --kubeconfig FILE get nodes` as the user that the cluster's worker runs as.",
)
register(
    "PD-3102",
    "Kubernetes credentials refused",
    503,
    Exit.SERVER,
    "The API server answered 401, also after the credentials were read anew.",
    "Renew the token or certificate in the kubeconfig; what waits for it goes on by itself.",
)
register(
    "PD-3103",
    "Not allowed in the cluster",
    502,
    Exit.SERVER,
    "The cluster's access rules do not let the worker's account do this.",
    "Add the rule that is named to the account's role, or apply the document that `perdure clusters rbac` prints.",
)
register(
    "PD-3104",
    "Refused by the cluster's policy",
    502,
    Exit.SERVER,
    "An admission check of the cluster (Pod Security, a policy engine, a limit range) refuses the object.",
    "Change what is named, or ask the cluster's admin for an exception.",
)
register(
    "PD-3105",
    "Kubernetes API fails",
    503,
    Exit.SERVER,
    "The API server answered with overload or an internal error, also when asked again.",
    "Look at the API server and etcd; the operation is repeated by itself.",
)
register(
    "PD-3106",
    "Namespace not usable",
    502,
    Exit.SERVER,
    "The cluster has no such namespace, or it is being deleted.",
    "Create it, or set another one for the cluster.",
)
register(
    "PD-3107",
    "Not served by this cluster",
    502,
    Exit.SERVER,
    "The address does not serve that kind of object: another Kubernetes version, or no API server at all.",
    "Check the server's address in the kubeconfig and its version.",
)
register(
    "PD-3108",
    "Object not valid",
    502,
    Exit.SERVER,
    "The API server finds the request or the object malformed.",
    "Correct the field that is named; `perdure render` shows the objects of a job.",
)
register(
    "PD-3109",
    "Changed meanwhile",
    409,
    Exit.CONFLICT,
    "Another writer changed the object between reading and writing it.",
    "Repeat the operation on the present state.",
)
register(
    "PD-3110",
    "Field belongs to another",
    409,
    Exit.CONFLICT,
    "A field that was to be set is managed by another program.",
    "Find out who sets it (metadata.managedFields), and let one of the two do it.",
)
register(
    "PD-3111",
    "Version too old",
    503,
    Exit.SERVER,
    "The API server has compacted the changes that were asked for.",
    "Nothing: the objects are listed anew.",
)
register(
    "PD-3112",
    "Answer not understood",
    502,
    Exit.SERVER,
    "An answer was no JSON object, or larger than can be taken.",
    "See whether a proxy stands before the API server and answers in its stead.",
)
register(
    "PD-3113",
    "Container takes no session",
    409,
    Exit.CONFLICT,
    "The container does not run (yet), lacks the command, or nothing listens on the port.",
    "See whether the job runs, and whether its image has the program.",
)
register(
    "PD-3114",
    "Session broke",
    503,
    Exit.SERVER,
    "The connection to a container or of a log ended before it was through; a command may still run.",
    "Connect again.",
)
register(
    "PD-3115",
    "Not in the cluster",
    404,
    Exit.NOT_FOUND,
    "The API server says that there is no such object.",
    "See whether it was deleted by hand.",
)
register(
    "PD-3116",
    "Command took too long",
    504,
    Exit.TIMEOUT,
    "A command in a container did not end in the time that it had; it may still run.",
    "See whether the node is overloaded.",
)
register(
    "PD-3117",
    "Eviction not allowed now",
    409,
    Exit.CONFLICT,
    "A disruption budget of the cluster does not let the pod go at present.",
    "Wait, or change the budget.",
)
register(
    "PD-3118",
    "Object too large",
    502,
    Exit.SERVER,
    "The object exceeds what the API server takes.",
    "Make the job's document smaller: move data out of environment variables and arguments.",
)
register(
    "PD-3119",
    "Quota of the namespace used up",
    409,
    Exit.QUOTA,
    "A ResourceQuota of the cluster's namespace leaves no room for the object.",
    "Wait until others end, or have the quota raised; the operation is repeated by itself.",
)
register(
    "PD-3150",
    "Attempt cannot be named",
    500,
    Exit.SERVER,
    "An attempt's number or token is not what the control plane makes, so its objects have no names.",
    "Report it: this is a fault of the control plane.",
)
register(
    "PD-3151",
    "Node selectors contradict each other",
    422,
    Exit.USAGE,
    "The job's node selector and what its GPU type or network needs ask for different values of one label.",
    "Remove the label from the job's node selector, or ask for another GPU type or network.",
)
register(
    "PD-3152",
    "Volume cannot be mounted",
    422,
    Exit.USAGE,
    "A mount names no volume of the job, a volume has the name of one of ours, or a mount covers our own folders.",
    "Give the volume another name, or mount it elsewhere.",
)
register(
    "PD-3153",
    "Storage is not shared",
    422,
    Exit.USAGE,
    "The job asks for a volume and has several nodes, and the cluster's storage can be mounted by one node at a time.",
    "Use a cluster with shared storage, run on one node, or leave the storage out.",
)
register(
    "PD-3154",
    "Network not on this cluster",
    422,
    Exit.USAGE,
    "The job asks for a kind of network for which the cluster's settings have no rule.",
    "Ask for another network or cluster, or add the rule to the cluster's settings.",
)
register(
    "PD-3155",
    "No image",
    422,
    Exit.USAGE,
    "The job names no image, and its cluster has none for jobs that name none.",
    "Name an image in the job, or give the cluster one.",
)
register(
    "PD-3156",
    "Launch too large for a cluster",
    422,
    Exit.USAGE,
    "Command, environment and secrets of an attempt together exceed what a Secret of a cluster holds, 1 MiB.",
    "Move data out of environment, arguments and secrets into files of the working directory or a volume.",
)
register(
    "PD-3157",
    "Name is taken in the cluster",
    409,
    Exit.CONFLICT,
    "An object with the name of one of the attempt's is there already and is not the attempt's.",
    "Look at who made it, and delete it; then retry the job.",
)
register(
    "PD-3158",
    "Pods cannot reach the object store",
    422,
    Exit.USAGE,
    "The object store gives no addresses that are good without credentials, as a folder of one machine does not.",
    "Set up an object store that speaks S3.",
)
register(
    "PD-3159",
    "Pods do not go",
    504,
    Exit.TIMEOUT,
    "Pods of an ended attempt were deleted and are still there.",
    "Look at their node: it may be down, or a finalizer may hold them. It is tried again by itself.",
)
register(
    "PD-3160",
    "Agent did not take a request",
    502,
    Exit.SERVER,
    "The agent in a job's pod refused a request, or could not carry it out.",
    "It is tried again by itself; look at the pod's log if it goes on.",
)
register(
    "PD-3161",
    "Keeper pod failed",
    502,
    Exit.SERVER,
    "The pod that keeps what a job left did not start, did not end, or was deleted.",
    "Look at its image, its volume and its place in the cluster. It is tried again by itself.",
)
register(
    "PD-3162",
    "Attempts not collected",
    409,
    Exit.CONFLICT,
    "A job cannot be forgotten by its cluster before all its attempts have been collected.",
    "Wait until the job has ended; the deletion is tried again by itself.",
)
