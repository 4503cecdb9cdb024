"""Where everything lies in a pod, below one root (`/perdure`). See README.md beside this file."""

from __future__ import annotations

ROOT = "/perdure"
TERMINATION_LOG = "/dev/termination-log"
RECEIPT = "receipt.json"


class Places:
    """Absolute paths. Tests put the root elsewhere."""

    def __init__(self, root: str = ROOT) -> None:
        self.root = root
        self.bin = f"{root}/bin"  # the interpreter, the shim and the agent, copied by the init step
        self.private = f"{root}/private"  # memory: specs, values of secrets
        self.specs = f"{self.private}/specs.json"
        self.attempt = f"{root}/attempt"  # what the shim calls the attempt's folder; of this pod alone
        self.pod = f"{self.attempt}/pod.json"  # what may be known of this pod; no secret
        self.home = f"{self.attempt}/home"  # HOME where the image gives no writable one
        self.work = f"{root}/work"
        self.tree = f"{self.work}/tree"  # the working directory: a mount itself cannot be replaced by a rename
        self.data = f"{root}/data"  # the job's volume, or a folder that goes with the pod
        self.run = f"{self.data}/run"
        self.logs = f"{self.data}/logs"
        self.secret = f"{root}/secret"
        self.seed = f"{root}/seed"  # the volume of the job whose checkpoint this one starts from

    def secrets_of(self, rank: int) -> str:
        """The folder of a rank's secret files."""
        return f"{self.private}/secrets/rank-{rank}"

    def log_folder(self, number: int, token: str, rank: int) -> str:
        """The folder of a rank's log and, once it has ended, of its receipt."""
        return f"{self.logs}/{number}-{token}/rank-{rank}"
