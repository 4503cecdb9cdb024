"""The sandbox in which workflows run: on, with our own packages passed through, and any unlisted import an error."""

from temporalio.worker import WorkflowRunner
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.workflow import SandboxImportNotificationPolicy

PASSED_THROUGH = (
    "definitions",
    "policies",
    "activities",
    "workflows",
    "annotated_types",
    "pydantic",
    "typing_extensions",
)


def workflow_runner() -> WorkflowRunner:
    """The one runner of every worker and of the replay tests. A worker with an import not listed here is not made."""
    restrictions = SandboxRestrictions.default.with_passthrough_modules(
        *PASSED_THROUGH
    ).with_import_notification_policy(SandboxImportNotificationPolicy.RAISE_ON_UNINTENTIONAL_PASSTHROUGH)
    return SandboxedWorkflowRunner(restrictions=restrictions)
