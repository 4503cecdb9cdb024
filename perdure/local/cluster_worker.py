"""Becoming the worker of a cluster, beside the control plane of this machine."""

import os
from pathlib import Path
from typing import NoReturn

from perdure.local import home, stack, state
from perdure.local.home import HOME_VARIABLE

MODULE = "workers.cluster_worker"


def become(cluster: str, kubeconfig: Path | None, context: str | None) -> NoReturn:
    """Replace this process by the worker. Ctrl-C then ends it in good order.

    Where a control plane of this machine is recorded, its ports count; else the PERDURE_ variables do.
    """
    place = home.locate(os.environ)
    environment = stack.without_user_settings(os.environ)
    record = state.read(place)
    if record is not None:
        environment |= record.ports.environment()
    environment |= {HOME_VARIABLE: str(place.root), "PERDURE_CLUSTER": cluster}
    if kubeconfig is not None:
        environment["PERDURE_KUBECONFIG"] = str(kubeconfig.expanduser().absolute())
    if context is not None:
        environment["PERDURE_KUBE_CONTEXT"] = context
    command = [*stack.boot_command(), MODULE]
    os.execve(command[0], command, environment)
