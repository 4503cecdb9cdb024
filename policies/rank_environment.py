"""What each process of a gang is told about its place in it: the job protocol's variables and its framework's own.

Which variables a framework gets is what `FRAMEWORKS` makes; what is then left to the job stands in `LEFT_TO_THE_JOB`.
"""

import json
from collections.abc import Callable, Sequence

from definitions import protocol
from definitions.attempt import AttemptLaunch
from definitions.wire import Wire


class Place(Wire):
    """One process among those of its attempt. Ranks of one node follow each other."""

    rank: int
    ranks: int
    local_rank: int
    local_ranks: int
    node_rank: int
    nodes: int
    host: str
    master_addr: str
    master_port: int
    hosts: tuple[str, ...]  # where each node can be reached, in order of node rank
    backend: str | None


def rank_environment(
    launch: AttemptLaunch, rank: int, node: str, master_addr: str, master_port: int, hosts: Sequence[str] = ()
) -> dict[str, str]:
    """The variables of one rank. `node`: its host's name; `hosts`: address of every node, without it all are rank 0's.

    The same arguments always give the same variables. Values of the user's never replace these: a process that believes
    in another rank than its peers do would make the whole gang wait.
    """
    local = launch.processes_per_node
    place = Place(
        rank=rank,
        ranks=launch.ranks,
        local_rank=rank % local,
        local_ranks=local,
        node_rank=rank // local,
        nodes=launch.nodes,
        host=node,
        master_addr=master_addr,
        master_port=master_port,
        hosts=tuple(hosts) or (master_addr,) * launch.nodes,
        backend=launch.backend,
    )
    return _common(place) | FRAMEWORKS.get(launch.framework or "", _nothing)(place) | _ours(launch, place)


def _ours(launch: AttemptLaunch, place: Place) -> dict[str, str]:
    own = {
        protocol.RANK: str(place.rank),
        protocol.LOCAL_RANK: str(place.local_rank),
        protocol.NODE_RANK: str(place.node_rank),
        protocol.WORLD_SIZE: str(place.ranks),
        protocol.NODES: str(place.nodes),
    }
    if launch.backend is not None:
        own[protocol.BACKEND] = launch.backend
    return own


def _common(place: Place) -> dict[str, str]:
    return {
        "RANK": str(place.rank),
        "WORLD_SIZE": str(place.ranks),
        "LOCAL_RANK": str(place.local_rank),
        "LOCAL_WORLD_SIZE": str(place.local_ranks),
        "NODE_RANK": str(place.node_rank),
        "GROUP_RANK": str(place.node_rank),
        "NNODES": str(place.nodes),
        "NPROC_PER_NODE": str(place.local_ranks),
        "MASTER_ADDR": place.master_addr,
        "MASTER_PORT": str(place.master_port),
    }


def _nothing(_place: Place) -> dict[str, str]:
    return {}


def _pytorch(place: Place) -> dict[str, str]:
    return {
        "PET_NNODES": str(place.ranks),
        "PET_NODE_RANK": str(place.rank),
        "PET_MASTER_ADDR": place.master_addr,
        "PET_MASTER_PORT": str(place.master_port),
    }


def _deepspeed(place: Place) -> dict[str, str]:
    sizes = {
        "LOCAL_SIZE": str(place.local_ranks),
        "CROSS_RANK": str(place.node_rank),
        "CROSS_SIZE": str(place.nodes),
    }
    return _pytorch(place) | sizes


def _horovod(place: Place) -> dict[str, str]:
    backend = place.backend if place.backend in ("gloo", "mpi") else "gloo"
    return {
        "HOROVOD_RANK": str(place.rank),
        "HOROVOD_SIZE": str(place.ranks),
        "HOROVOD_LOCAL_RANK": str(place.local_rank),
        "HOROVOD_LOCAL_SIZE": str(place.local_ranks),
        "HOROVOD_CROSS_RANK": str(place.node_rank),
        "HOROVOD_CROSS_SIZE": str(place.nodes),
        "HOROVOD_HOSTNAME": place.host,
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": place.master_addr,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(place.master_port),
        "HOROVOD_CONTROLLER": backend,
        "HOROVOD_CPU_OPERATIONS": backend,
    }


def _mpi(place: Place) -> dict[str, str]:
    return {
        "OMPI_COMM_WORLD_RANK": str(place.rank),
        "OMPI_COMM_WORLD_SIZE": str(place.ranks),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(place.local_rank),
        "OMPI_COMM_WORLD_LOCAL_SIZE": str(place.local_ranks),
        "OMPI_COMM_WORLD_NODE_RANK": str(place.local_rank),  # its rank on its node, in spite of the name
        "PMI_RANK": str(place.rank),
        "PMI_SIZE": str(place.ranks),
        "MPI_LOCALRANKID": str(place.local_rank),
        "MPI_LOCALNRANKS": str(place.local_ranks),
    }


def _jax(place: Place) -> dict[str, str]:
    return {
        "JAX_COORDINATOR_ADDRESS": f"{place.master_addr}:{place.master_port}",
        "JAX_NUM_PROCESSES": str(place.ranks),
        "JAX_PROCESS_ID": str(place.rank),
    }


def _ray(place: Place) -> dict[str, str]:
    return {"RAY_ADDRESS": f"{place.master_addr}:{place.master_port}"}


def _tensorflow(place: Place) -> dict[str, str]:
    ports = range(place.master_port, place.master_port + place.local_ranks)
    if len(set(place.hosts)) < place.nodes:
        # Several nodes on one host: their ranks share its ports.
        ports = range(place.master_port, place.master_port + place.ranks)
        workers = [f"{place.master_addr}:{port}" for port in ports]
    else:
        workers = [f"{host}:{port}" for host in place.hosts for port in ports]
    return {"TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": place.rank}})}


FRAMEWORKS: dict[str, Callable[[Place], dict[str, str]]] = {
    "pytorch": _pytorch,
    "megatron": _pytorch,
    "deepspeed": _deepspeed,
    "horovod": _horovod,
    "mpi": _mpi,
    "jax": _jax,
    "ray": _ray,
    "tensorflow": _tensorflow,
}


LEFT_TO_THE_JOB: dict[str, str] = {
    "pytorch": "nothing: `env://` reads these; to `torchrun` as the command each of our processes is a node",
    "megatron": "nothing: it starts as PyTorch does",
    "deepspeed": "nothing: `deepspeed.init_distributed()` reads these",
    "horovod": "rank 0 starts the rendezvous server on `MASTER_PORT` before `hvd.init()`",
    "mpi": "nothing for programs that read these; a communicator of an MPI library needs its launcher as the command",
    "jax": "`jax.distributed.initialize()` reads the address; the number and the id are handed to it",
    "ray": "rank 0 runs `ray start --head --port=$MASTER_PORT`, the others `ray start --address=$RAY_ADDRESS`",
    "tensorflow": "nothing: `MultiWorkerMirroredStrategy` reads it; rank r listens on `MASTER_PORT` + r",
}


def ports_needed(launch: AttemptLaunch) -> int:
    """How many ports from the master's on the ranks of one host may listen on."""
    return launch.ranks if launch.framework == "tensorflow" else 1
