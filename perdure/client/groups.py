"""The client's verbs by kind of thing. Each is an operation of the API; the same names stand in the command line."""

from __future__ import annotations

from perdure.client.call import paged
from perdure.client.operations import catalog, clusters, history, jobs, queueing, reservations, scheduling, system
from perdure.client.verbs import C, Group, Iterate, OwnIterate, OwnVerb, Thing, Verb


class System(Group[C]):
    """What the API says of itself."""

    health = Verb(system.health)
    version = Verb(system.version)
    doctor = Verb(system.doctor)
    errors = Verb(system.errors)
    metrics = Verb(system.metrics)


class Jobs(Group[C]):
    """Jobs, by id or by name. `submit` of the client itself also takes care of the working directory."""

    submit = Verb(jobs.submit)
    plan = Verb(jobs.plan)
    validate = Verb(jobs.validate)
    render = Verb(jobs.render)
    objects = Verb(jobs.objects)
    objects_diff = Verb(jobs.objects_diff)
    diff = Verb(jobs.diff)
    apply = Verb(jobs.apply)
    import_ = Verb(jobs.import_jobs)
    list = Verb(jobs.list_jobs)
    each = Iterate(paged(jobs.list_jobs))
    children = Verb(jobs.children)
    each_child = Iterate(paged(jobs.children))
    get = Verb(jobs.get)
    why = Verb(jobs.why)
    wait = Verb(jobs.wait)
    delete = Verb(jobs.delete)
    cancel = Verb(jobs.cancel)
    suspend = Verb(jobs.suspend)
    resume = Verb(jobs.resume)
    extend = Verb(jobs.extend)
    reprioritise = Verb(jobs.reprioritise)
    resize = Verb(jobs.resize)
    checkpoint = Verb(jobs.checkpoint)
    clone = Verb(jobs.clone)
    attempts = Verb(history.attempts)
    each_attempt = Iterate(paged(history.attempts))
    events = Verb(history.events)
    read_events = Iterate(history.read_events)
    checkpoints = Verb(history.checkpoints)
    each_checkpoint = Iterate(paged(history.checkpoints))
    metrics = Verb(history.metrics)
    each_metric = Iterate(paged(history.metrics))
    artifacts = Verb(history.artifacts)
    each_artifact = Iterate(paged(history.artifacts))
    artifact = Verb(history.artifact)
    download_artifact = Verb(history.download_artifact)
    delete_artifact = Verb(history.delete_artifact)
    logs = Verb(history.logs)
    read_logs = Iterate(history.read_logs)


class Templates(Group[C]):
    """Jobs with parameters."""

    create = Verb(catalog.create_template)
    list = Verb(catalog.list_templates)
    each = Iterate(paged(catalog.list_templates))
    get = Verb(catalog.get_template)
    render = Verb(catalog.render_template)
    delete = Verb(catalog.delete_template)


class Secrets(Group[C]):
    """Values that go in and never come out."""

    create = Verb(catalog.create_secret)
    rotate = Verb(catalog.rotate_secret)
    list = Verb(catalog.list_secrets)
    each = Iterate(paged(catalog.list_secrets))
    delete = Verb(catalog.delete_secret)


class Schedules(Group[C]):
    """Jobs that are submitted by the clock."""

    create = Verb(catalog.create_schedule)
    list = Verb(catalog.list_schedules)
    each = Iterate(paged(catalog.list_schedules))
    get = Verb(catalog.get_schedule)
    pause = Verb(catalog.pause_schedule)
    resume = Verb(catalog.resume_schedule)
    trigger = Verb(catalog.trigger_schedule)
    delete = Verb(catalog.delete_schedule)


class Clusters(Group[C]):
    """Where jobs can run beside this machine. They belong to the installation, not to a project."""

    create = Verb(clusters.create)
    replace = Verb(clusters.replace)
    list = Verb(clusters.list_clusters)
    each = Iterate(paged(clusters.list_clusters))
    get = Verb(clusters.get)
    check = Verb(clusters.check)
    delete = Verb(clusters.delete)


class Nodes(Group[C]):
    """Nodes of clusters."""

    list = Verb(clusters.list_nodes)
    each = Iterate(paged(clusters.list_nodes))
    get = Verb(clusters.get_node)
    cordon = Verb(clusters.cordon)
    uncordon = Verb(clusters.uncordon)
    drain = Verb(clusters.drain)


class SchedulingDocuments(Group[C]):
    """Documents of the scheduler of any kind, together. They belong to the installation, not to a project."""

    apply = Verb(scheduling.apply)
    diff = Verb(scheduling.diff)


class Queues(Group[C]):
    """The tree that divides what there is among those who wait."""

    list = Verb(scheduling.queues.list_documents)
    each = Iterate(paged(scheduling.queues.list_documents))
    get = Verb(scheduling.queues.get)
    put = Verb(scheduling.queues.put)
    delete = Verb(scheduling.queues.delete)
    usage = Verb(queueing.usage)
    each_usage = Iterate(paged(queueing.usage))


class Waiting(Group[C]):
    """Jobs that wait for places."""

    list = Verb(queueing.waiting)
    each = Iterate(paged(queueing.waiting))


class Capacity(Group[C]):
    """What nodes have, and what jobs hold and want of it."""

    list = Verb(queueing.capacity)
    each = Iterate(paged(queueing.capacity))


class Decisions(Group[C]):
    """What the scheduler decided."""

    list = Verb(queueing.list_decisions)
    each = Iterate(paged(queueing.list_decisions))
    get = Verb(queueing.get_decision)


class Flavors(Group[C]):
    """Sorts of GPU."""

    list = Verb(scheduling.flavors.list_documents)
    each = Iterate(paged(scheduling.flavors.list_documents))
    get = Verb(scheduling.flavors.get)
    put = Verb(scheduling.flavors.put)
    delete = Verb(scheduling.flavors.delete)


class PriorityClasses(Group[C]):
    """How important jobs are."""

    list = Verb(scheduling.priority_classes.list_documents)
    each = Iterate(paged(scheduling.priority_classes.list_documents))
    get = Verb(scheduling.priority_classes.get)
    put = Verb(scheduling.priority_classes.put)
    delete = Verb(scheduling.priority_classes.delete)


class Topologies(Group[C]):
    """How close to each other nodes are."""

    list = Verb(scheduling.topologies.list_documents)
    each = Iterate(paged(scheduling.topologies.list_documents))
    get = Verb(scheduling.topologies.get)
    put = Verb(scheduling.topologies.put)
    delete = Verb(scheduling.topologies.delete)


class NodePools(Group[C]):
    """Nodes that the scheduler places jobs on."""

    list = Verb(scheduling.node_pools.list_documents)
    each = Iterate(paged(scheduling.node_pools.list_documents))
    get = Verb(scheduling.node_pools.get)
    put = Verb(scheduling.node_pools.put)
    delete = Verb(scheduling.node_pools.delete)


class Reservations(Group[C]):
    """What is kept for a queue in windows of time."""

    preview = Verb(reservations.preview)
    create = Verb(reservations.create)
    list = Verb(reservations.list_reservations)
    each = Iterate(paged(reservations.list_reservations))
    get = Verb(reservations.get)
    put = Verb(reservations.documents.put)
    delete = Verb(reservations.documents.delete)
    windows = Verb(reservations.windows)
    each_window = Iterate(paged(reservations.windows))
    extend = Verb(reservations.extend)
    cancel = Verb(reservations.cancel)
    calendar = Verb(reservations.calendar)
    each_calendar = Iterate(paged(reservations.calendar))


class Snapshots(Group[C]):
    """The bytes of submitted folders."""

    put = Verb(catalog.put_snapshot)
    head = Verb(catalog.head_snapshot)


class RunVerbs(Thing[C]):
    """What can be asked of one job."""

    get = OwnVerb(jobs.get)
    why = OwnVerb(jobs.why)
    cancel = OwnVerb(jobs.cancel)
    suspend = OwnVerb(jobs.suspend)
    resume = OwnVerb(jobs.resume)
    extend = OwnVerb(jobs.extend)
    reprioritise = OwnVerb(jobs.reprioritise)
    resize = OwnVerb(jobs.resize)
    checkpoint = OwnVerb(jobs.checkpoint)
    delete = OwnVerb(jobs.delete)
    artifact = OwnVerb(history.artifact)
    download_artifact = OwnVerb(history.download_artifact)
    delete_artifact = OwnVerb(history.delete_artifact)
    logs = OwnIterate(history.read_logs)
    events = OwnIterate(history.read_events)
    attempts = OwnIterate(paged(history.attempts))
    checkpoints = OwnIterate(paged(history.checkpoints))
    metrics = OwnIterate(paged(history.metrics))
    artifacts = OwnIterate(paged(history.artifacts))
