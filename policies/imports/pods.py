"""From a pod template to the fields of a job: command, environment, resources, volumes, placement."""

from __future__ import annotations

import re
import shlex
from typing import Any

from definitions.job_workload import variable_fault
from definitions.kube_quantity import cpu_millis, parse_kube_quantity, whole_bytes
from definitions.quantities import QuantityError, format_cpus, format_size
from policies.imports.ledger import Item

GPU = re.compile(r"[a-z0-9.-]+/(?:gpu|mig-.+)")
MAIN_NAMES = ("pytorch", "trainer", "main", "node", "mpi", "launcher", "worker")
RESOURCES = {"memory": "memory", "ephemeral-storage": "ephemeralStorage"}
Spec = dict[str, Any]


def from_template(template: Item | None) -> Spec:
    """The part of a job's spec that a pod template determines. Nothing of the template is passed over unsaid."""
    pod = template.at("spec") if template is not None else None
    if pod is None:
        return {}
    containers = pod.each("containers")
    main = next((c for c in containers if c.at("name") and _word(c.at("name")) in MAIN_NAMES), None)
    main = main or (containers[0] if containers else None)
    if main is None:
        return {}
    for other in containers:
        if other is not main:
            other.ledger.dropped(other, "one container per node; run helpers within the command or as other jobs")
    volumes, shared_memory = _volumes(pod, main)
    spec = {**from_container(main), **volumes, **_placement(pod), **_ending(pod)}
    if shared_memory is not None:
        spec["resources"] = {**spec.get("resources", {}), "sharedMemory": shared_memory}
    return spec


def from_container(main: Item) -> Spec:
    """Image, command, environment and resources of one container."""
    main.take("name")
    spec: Spec = {}
    for field, ours in (("image", "image"), ("imagePullPolicy", "imagePullPolicy")):
        if (value := main.take(field)) is not None:
            spec[ours] = value
    return {**spec, **_command(main), **_environment(main), **resources_of(main.at("resources"))}


def _command(main: Item) -> Spec:
    command, args = main.take("command") or [], main.take("args") or []
    where = main.at("command") or main.at("args") or main
    if not command:
        main.ledger.needed(where, "the image's own entry point is not known here: write what it runs before the args")
    argv = [str(part) for part in [*command, *args]]
    if any(re.search(r"\$\([A-Za-z_]\w*\)", part) for part in argv):
        main.ledger.changed(where, "$(NAME) is not replaced in a command here: use a shell and $NAME")
    folder = main.take("workingDir")
    if folder:
        argv = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', str(folder), *argv]
        at = main.at("workingDir")
        assert at is not None
        main.ledger.changed(at, "the command changes into it first: workingDir here is a folder of the snapshot")
    else:
        main.ledger.changed(where, "it starts in an empty folder, not in the image's own: name files by absolute paths")
    return {"workdir": {"mode": "none"}, **({"command": argv} if argv else {})}


def _environment(main: Item) -> Spec:
    env: dict[str, Any] = {}
    for entry in main.each("env"):
        name = str(entry.take("name"))
        if fault := variable_fault(name):
            entry.ledger.dropped(entry, fault.what)
        elif (secret := entry.at("valueFrom", "secretKeyRef")) is not None:
            env[name] = {"secret": _secret_name(secret)}
        elif (source := entry.at("valueFrom")) is not None:
            entry.ledger.dropped(source, f"{name} comes from the cluster; give its value, or a secret")
        else:
            value = entry.take("value")
            env[name] = "" if value is None else value if isinstance(value, str) else str(value)
    return {"env": env} if env else {}


def _secret_name(ref: Item) -> str:
    name, key = str(ref.take("name")), str(ref.take("key"))
    ours = re.sub(r"[^a-z0-9-]+", "-", f"{name}-{key}".lower()).strip("-")[:63].strip("-")
    ref.take("optional")
    ref.ledger.needed(ref, f"store key {key} of secret {name}: perdure secrets create {ours}")
    return ours


def resources_of(resources: Item | None) -> Spec:
    """Limits count before requests; a request that differs from its limit is said."""
    if resources is None:
        return {}
    found: Spec = {}
    for source in ("requests", "limits"):
        for item in resources.each(source):
            try:
                _resource(item, found, source)
            except QuantityError as error:
                item.ledger.dropped(item, error.what)
    return {"resources": found} if found else {}


def _resource(item: Item, found: Spec, source: str) -> None:
    name, value = item.name, item.ledger.settle(item)
    key: str
    ours: str | int
    if name == "cpu":
        key, ours = "cpus", format_cpus(cpu_millis(value))
    elif name in RESOURCES:
        key, ours = RESOURCES[name], format_size(whole_bytes(value))
    elif GPU.fullmatch(name):
        key, ours = "gpus", int(parse_kube_quantity(value))
        if "/mig-" in name:
            found["gpuType"] = name.rpartition("/")[2]
    else:
        item.ledger.dropped(item, "only processors, memory, scratch space and GPUs are asked for in a job")
        return
    if source == "limits" and found.get(key, ours) != ours:
        item.ledger.changed(item, f"the request {found[key]} is raised to the limit: pods get what they may use")
    found[key] = ours


def _volumes(pod: Item, main: Item) -> tuple[Spec, str | None]:
    """Volumes that are mounted, and the size of a memory folder that stands as /dev/shm."""
    shared: set[str] = set()
    size: str | None = None
    volumes = []
    for volume in pod.each("volumes"):
        name = _word(volume.at("name"))
        if name in _mounted_at(main, "/dev/shm") and volume.at("emptyDir") is not None:
            shared.add(name)
            limit = volume.take("emptyDir", "sizeLimit")
            volume.ledger.settle(volume)
            size = size if limit is None else format_size(whole_bytes(limit))
            continue
        data = volume.ledger.settle(volume)
        if not any(_word(mount.at("name")) == name for mount in main.each("volumeMounts")):
            volume.ledger.dropped(volume, "the job's container does not mount it")
            continue
        volumes.append({"name": name, "source": {key: value for key, value in data.items() if key != "name"}})
    mounts = [mount for item in main.each("volumeMounts") if (mount := _mount(item, shared)) is not None]
    return {**({"volumes": volumes} if volumes else {}), **({"volumeMounts": mounts} if mounts else {})}, size


def _mount(item: Item, shared: set[str]) -> Spec | None:
    name = _word(item.at("name"))
    item.take("name")
    mount: Spec = {"name": name, "mountPath": item.take("mountPath")}
    if name in shared:
        return None
    for field in ("subPath", "readOnly"):
        if (value := item.take(field)) is not None:
            mount[field] = value
    return mount


def _mounted_at(main: Item, path: str) -> set[str]:
    places = ((mount, mount.at("mountPath")) for mount in main.each("volumeMounts"))
    return {_word(mount.at("name")) for mount, at in places if at is not None and _word(at).rstrip("/") == path}


def _placement(pod: Item) -> Spec:
    placement: Spec = {}
    for field in ("nodeSelector", "tolerations", "affinity"):
        if value := pod.take(field):
            placement[field] = value
    spec: Spec = {"placement": placement} if placement else {}
    if (name := pod.take("priorityClassName")) is not None:
        spec["priorityClass"] = name
    return spec


def _ending(pod: Item) -> Spec:
    policy = pod.at("restartPolicy")
    if policy is not None and pod.take("restartPolicy") != "Never":
        pod.ledger.changed(policy, "attempts are repeated by spec.retry, all ranks together")
    seconds = pod.take("terminationGracePeriodSeconds")
    return {} if seconds is None else {"gracePeriod": f"{seconds}s"}


def shell_words(argv: list[str]) -> list[str]:
    """The words of a command that is a shell's one text, when it is one plain command; else the command itself."""
    if len(argv) == 3 and argv[0].rpartition("/")[2] in ("sh", "bash") and argv[1] in ("-c", "-ec"):
        if re.search(r"[;&|<>`$\n]", argv[2]):
            return argv
        try:
            return shlex.split(argv[2])
        except ValueError:
            return argv
    return argv


def _word(item: Item | None) -> str:
    """A scalar as text, not yet taken."""
    return "" if item is None else str(getattr(item.node, "value", ""))
