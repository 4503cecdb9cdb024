"""Submitting: what the API takes, and the plan that it shows before anything is written."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from definitions.api_arrays import ArrayView
from definitions.api_base import Body, Document, Reason, Sha256, View, doc
from definitions.api_order import AwaitedView
from definitions.job_relations import MOST_AWAITED, Dependency
from definitions.spec_types import Name
from definitions.states import FailureClass, Mode


class BaseEnv(Body):
    """What of the submitter's own environment a job on the same machine starts with. Nothing else is carried over."""

    PATH: Annotated[str | None, doc("Search path for commands.", "/usr/bin:/bin", alias="PATH")] = None
    VIRTUAL_ENV: Annotated[
        str | None, doc("Folder of the active virtual environment.", "/home/ada/.venv", alias="VIRTUAL_ENV")
    ] = None
    CONDA_PREFIX: Annotated[
        str | None, doc("Folder of the active conda environment.", "/opt/conda", alias="CONDA_PREFIX")
    ] = None


class GitState(Body):
    """Where the submitted folder stood in its git repository."""

    commit: Annotated[str | None, doc("Full commit id; null before the first commit.", "4893416c0ffee")] = None
    branch: Annotated[str | None, doc("Checked-out branch; null when none.", "main")] = None
    dirty: Annotated[bool, doc("Whether tracked files differed from the commit.", False)] = False


class Submission(Body):
    """Where and how a job was submitted. Kept with the job; a clone starts from the same."""

    base_env: Annotated[BaseEnv, Field(description="The submitter's PATH and environments.")] = BaseEnv()
    cwd: Annotated[str | None, doc("Absolute folder the job was submitted from.", "/home/ada/digits")] = None
    git: Annotated[GitState | None, Field(description="State of the folder's git repository, if it has one.")] = None
    snapshot: Annotated[Sha256 | None, doc("Snapshot of the folder, uploaded beforehand.", "0f" * 32)] = None


class TemplateUse(Body):
    """A template and the values of its parameters."""

    name: Annotated[Name, doc("Name of the template.", "finetune")]
    version: Annotated[int | None, doc("Which version; the newest when left out.", 2, ge=1)] = None
    values: Annotated[dict[str, Any], doc("Parameter values by name.", {"epochs": 3})] = {}


class SubmitJob(Body):
    """A job to run: exactly one of `document`, `text` and `template` says what; `submission` says from where."""

    document: Annotated[
        Document | None, doc("A Job document as JSON.", {"kind": "Job", "spec": {"command": ["python", "train.py"]}})
    ] = None
    text: Annotated[
        str | None,
        doc("A Job document as YAML; faults are then reported by line.", "kind: Job\n", max_length=262144),
    ] = None
    source: Annotated[str | None, doc("File the text came from; used in messages only.", "job.yaml")] = None
    template: Annotated[TemplateUse | None, Field(description="A template to render the document from.")] = None
    name: Annotated[Name | None, doc("Replaces the name in the document.", "digits")] = None
    after: Annotated[
        tuple[Dependency, ...],
        doc("Jobs to wait for, besides those in the document.", [{"job": "prepare-data"}], max_length=MOST_AWAITED),
    ] = ()
    submission: Annotated[Submission, Field(description="Where the job comes from.")] = Submission()

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [self.document is not None, self.text is not None, self.template is not None]
        if sum(given) != 1:
            raise ValueError("give exactly one of document, text and template")
        return self


class CloneJob(Body):
    """A new job from the stored document and snapshot of another."""

    name: Annotated[Name | None, doc("Name of the new job; the old name when left out.", "digits-2")] = None
    overrides: Annotated[
        Document,
        doc("Merged into the document: objects by key, everything else replaced.", {"spec": {"timeout": "2h"}}),
    ] = {}
    from_step: Annotated[int | None, doc("Begin at the other job's verified checkpoint of this step.", 120, ge=0)] = (
        None
    )


class Operate(Body):
    """A request to a running job that needs nothing but, perhaps, a reason."""

    reason: Reason = ""


class ExtendJob(Body):
    """More running time."""

    by: Annotated[str, doc("How much longer, as a duration.", "30m", max_length=32)]
    reason: Reason = ""


class ReprioritiseJob(Body):
    """Another priority within the job's class."""

    priority: Annotated[int, doc("0 to 100; more goes first.", 50, ge=0, le=100)]
    reason: Reason = ""


class ResizeJob(Body):
    """Another number of nodes for an elastic job."""

    nodes: Annotated[int, doc("Within the bounds of its spec.elastic.", 4, ge=1, le=1024)]
    reason: Reason = ""


class RetryPlan(View):
    """How failures will be met."""

    limit: Annotated[int, doc("Most attempts after the first.", 3)]
    first_delay: Annotated[str, doc("Wait before the second attempt.", "10s")]
    longest_delay: Annotated[str, doc("No wait is longer.", "10m")]
    budget: Annotated[str | None, doc("No attempt begins later than this after the first; null: no limit.", "1d")]
    by_class: Annotated[dict[FailureClass, int], doc("Most retries per class of failure; 0: never.", {"user-error": 0})]


class WorkdirPlan(View):
    """Where the command will run."""

    mode: Annotated[str, doc("snapshot, live or none.", "snapshot")]
    sha256: Annotated[str | None, doc("Digest of the snapshot.", "9f86d081" + "0" * 56)] = None
    path: Annotated[str | None, doc("The folder itself, with `live`.", "/home/ada/digits")] = None
    bytes: Annotated[int | None, doc("Size of the snapshot's files.", 20480)] = None
    files: Annotated[int | None, doc("Number of the snapshot's files.", 12)] = None


class Plan(View):
    """What a submit would do. Nothing is written to make one."""

    name: Annotated[str, doc("Name the job would have.", "digits")]
    project: Annotated[str, doc("Project it would be in.", "default")]
    mode: Annotated[Mode, doc("Batch jobs end; services do not.", "batch")]
    document: Annotated[Document, doc("The document with all defaults filled in.", {"kind": "Job"})]
    command: Annotated[list[str], doc("What every rank runs.", ["python", "train.py"])]
    cluster: Annotated[str, doc("Where it would run; `local` is the control plane's own machine.", "north-1")]
    image: Annotated[str | None, doc("Image of its pods.", "registry.example.org/train:1")] = None
    volumes: Annotated[list[str], doc("Volumes of its pods.", ["run folder: 10Gi of the default class"])] = []
    queue: Annotated[str | None, doc("Queue that it would wait in; null: it starts at once.", "research")] = None
    priority: Annotated[int, doc("Its priority there, within its class.", 0)] = 0
    priority_class: Annotated[str | None, doc("Its class there.", "batch")] = None
    reservation: Annotated[str | None, doc("Reservation that it would run in.", "nightly")] = None
    after: Annotated[list[AwaitedView], Field(description="Jobs that it would wait for.")] = []
    array: Annotated[ArrayView | None, Field(description="Of an array: how many such jobs it comes to.")] = None
    nodes: Annotated[int, doc("Nodes asked for.", 2)]
    ranks: Annotated[int, doc("Processes started together, or not at all.", 2)]
    gpus: Annotated[int, doc("GPUs in all.", 0)]
    env: Annotated[list[str], doc("Names of the environment entries set by the document.", ["EPOCHS"])]
    secrets: Annotated[list[str], doc("Secrets that will be injected.", ["hub-token"])]
    workdir: Annotated[WorkdirPlan, Field(description="Where the command will run.")]
    timeout: Annotated[str | None, doc("Running time after which the job is ended; null: no limit.", "2h")]
    grace: Annotated[str, doc("Time between SIGTERM and SIGKILL.", "30s")]
    retry: Annotated[RetryPlan, Field(description="How failures will be met.")]
    checkpoint_every: Annotated[str | None, doc("How often the job is asked to save.", "5m")] = None
    template: Annotated[str | None, doc("Template and version it came from.", "finetune@2")] = None
    warnings: Annotated[list[str], doc("What is legal but surprising.", ["no timeout: runs until it ends"])] = []


class Change(View):
    """One difference between two documents."""

    path: Annotated[str, doc("Field, from the top of the document.", "spec.retry.limit")]
    before: Annotated[Any, doc("Value of the job that is there; null when absent.", 3)] = None
    after: Annotated[Any, doc("Value in the document sent; null when absent.", 5)] = None


class Diff(View):
    """The document sent, against the newest job of that name."""

    job: Annotated[str | None, doc("Id of the job compared with; null when there is none.", "0k3b" + "0" * 22)]
    live: Annotated[bool, doc("Whether that job has not ended.", True)]
    changes: Annotated[list[Change], Field(description="Differences, in the order of the document. Empty: the same.")]


class Validation(View):
    """A document that would be accepted. One that would not is answered with a problem listing every fault."""

    valid: Annotated[bool, doc("Always true.", True)] = True
    name: Annotated[str, doc("Name the job would have.", "digits")]
    warnings: Annotated[list[str], doc("What is legal but surprising.", [])] = []


class Rendered(View):
    """A document that leaves nothing open."""

    document: Annotated[Document, doc("As JSON, with every default filled in.", {"kind": "Job"})]
    text: Annotated[str, doc("As YAML, without what is only a default.", "kind: Job\n")]
