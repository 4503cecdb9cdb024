"""Codes PD-2120 to PD-2139: accepting a job where jobs wait in queues."""

from definitions.errors import Exit, register

UNPROCESSABLE = 422


def _refused(code: str, title: str, why: str, remedy: str, ends: Exit = Exit.USAGE) -> None:
    register(code, title, UNPROCESSABLE, ends, why, remedy)


_refused(
    "PD-2120",
    "No queues here",
    "Queue, priority and class say how a job waits. Without a Queue document nothing waits: each job starts as soon as "
    "it is accepted, and the field would do nothing.",
    "Remove the field, or let an administrator apply a Queue: perdure apply FILE.",
)
_refused(
    "PD-2121",
    "No queue named",
    "Where there are queues every job waits in one, and none of them is the default for jobs that name none.",
    "Set queue: NAME in the job, or default: true in one of the queues.",
)
_refused(
    "PD-2122",
    "No such queue",
    "The job names a queue that is not there.",
    "Correct the name, or apply a Queue of that name.",
)
_refused(
    "PD-2123",
    "No such priority class",
    "Where there are queues, a job's class is one of the PriorityClass documents, not one of the cluster's own.",
    "Correct the name, or apply a PriorityClass of that name.",
)
_refused(
    "PD-2124",
    "Priority class not for this queue",
    "The class says in usableBy for which queues it is, each with all below it.",
    "Choose another class or queue, or add the queue to usableBy of the class.",
)
_refused(
    "PD-2125",
    "More than the queue may ever use",
    "The job alone asks for more than a limit of its queue, or of one above it, so it would wait for ever.",
    "Ask for less, use another queue, or raise the limit that is named.",
    Exit.QUOTA,
)
_refused(
    "PD-2126",
    "No such level",
    "How close together a job's nodes are is said by the name of a level of a Topology.",
    "Correct the name, or apply a Topology with that level.",
)
_refused(
    "PD-2127",
    "Places that depend on pods",
    "A job of a queue gets its nodes before it has pods, from a scheduler that sees no labels of other pods. A rule "
    "that its cluster holds against those could keep a pod from its own node for ever.",
    "Write placement.spread for one pod per machine, placement.topology for closeness, nodeAffinity for labels of "
    "nodes, or make the rule a preference.",
)
_refused(
    "PD-2180",
    "Nothing to go on from at another size",
    "A job that changes its size is stopped and started again from its newest checkpoint, on other nodes than before. "
    "Its cluster gives it no volume for its run folder, or one that several nodes cannot mount.",
    "Remove elastic, name a shared storage class, or save on a volume of the job's own and say so in "
    "checkpoints.directory.",
)
