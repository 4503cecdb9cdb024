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
