"""The init step of a pod: everything that the ranks need lies ready before the agent starts. Safe to repeat."""

import json
import os
import shutil
from pathlib import Path

from activities.adapters.kubernetes.agent.places import Places
from activities.adapters.kubernetes.pod.download import open_url, repeated
from activities.adapters.kubernetes.pod.specs import PodSpecs, write_private
from activities.adapters.local import workdir
from activities.ports import PortError
from activities.snapshots import lay_out
from definitions.attempt import AttemptLaunch
from definitions.errors import PerdureError
from definitions.pod_launch import PodLaunch

LAUNCH_FILE = "launch.json"
FAILED, SNAPSHOT_GONE = "PD-3200", "PD-3202"


def run(places: Places, environment: dict[str, str], agent: Path, message: Path) -> int:
    """The step's exit status; when it is not 0, `message` says why as one line of JSON."""
    try:
        prepare(places, environment, agent, message)
        return 0
    except PortError as error:
        code, words = error.code, str(error)
    except PerdureError as error:
        code, words = error.code.code, f"{error.detail} ({error.where})"
    except (OSError, ValueError, KeyError) as error:
        code, words = FAILED, f"{type(error).__name__}: {error}"
    text = json.dumps({"code": code, "message": words[:1000]})
    print(text, flush=True)
    message.write_text(text)
    return 1


def prepare(places: Places, environment: dict[str, str], agent: Path, message: Path) -> None:
    """Lay out agent, run folder, working directory and specifications. Raises PortError, PerdureError or OSError."""
    pod = PodLaunch.model_validate_json(Path(places.secret, LAUNCH_FILE).read_bytes())
    index = int(environment.get("JOB_COMPLETION_INDEX", "0"))
    node = environment.get("PERDURE_NODE") or os.uname().nodename
    Path(places.attempt).mkdir(mode=0o700, parents=True, exist_ok=True)
    _copy_agent(Path(agent), Path(places.bin))
    _prepare_run_folder(places, pod, first=index == 0 or not pod.shared_data)
    root, start = _lay_out_work(places, pod)
    specs = PodSpecs(pod, places, index, node)
    write_private(Path(places.pod), specs.known())
    write_private(Path(places.specs), specs.all(root, start, message))


def _copy_agent(agent: Path, target: Path) -> None:
    """What lies in the folder, and not the folder's own mode and times: a mount belongs to somebody else.

    A kubelet may prepare a pod again, and what the first time left goes: a link is not copied over a link, and a copy
    would follow one to a folder.
    """
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(agent.iterdir()):
        copied = target / entry.name
        if copied.is_dir() and not copied.is_symlink():
            shutil.rmtree(copied)
        else:
            copied.unlink(missing_ok=True)
        if entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, copied, symlinks=True)
        else:
            shutil.copy2(entry, copied, follow_symlinks=False)


def _prepare_run_folder(places: Places, pod: PodLaunch, *, first: bool) -> None:
    """`first`: of the pods that share the folder this one readies it. No rank begins before every pod is prepared."""
    run = Path(places.run)
    workdir.prepare_run_folder(run)
    if not first:
        return
    workdir.clear_requests(run)
    if pod.launch.seed_checkpoint is not None:
        workdir.seed(pod.launch, pod.launch.seed_checkpoint, Path(places.seed, "run"), run)


def _lay_out_work(places: Places, pod: PodLaunch) -> tuple[Path, Path]:
    """The working directory and the folder in it that the command starts in."""
    wanted, root = pod.launch.workdir, Path(places.tree)
    if wanted.mode == "live":  # a folder of the image or of a volume: the main container alone can see it
        return _inside(Path(wanted.path or "."), wanted.subfolder)
    if wanted.mode == "snapshot":
        _fetch(pod.launch, pod.snapshot_url, root)
    root, start = _inside(root, wanted.subfolder)
    if wanted.mode == "none":
        start.mkdir(parents=True, exist_ok=True)
    if not start.is_dir():
        raise PortError(f"the snapshot has no folder {wanted.subfolder}", permanent=True, code="PD-3010")
    return root, start


def _inside(root: Path, subfolder: str) -> tuple[Path, Path]:
    if not root.is_absolute():
        raise PortError(f"{str(root)!r} is no absolute path", permanent=True, code="PD-3010")
    return root, workdir.inside(root, subfolder)


def _fetch(launch: AttemptLaunch, url: str | None, root: Path) -> None:
    if url is None:
        raise PortError("the pod was given no link to the snapshot", permanent=True, code=SNAPSHOT_GONE)
    repeated(lambda: lay_out(lambda: open_url(url), launch.workdir.sha256 or "", root))
