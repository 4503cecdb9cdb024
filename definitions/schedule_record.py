"""A schedule as its row keeps it: the document, and on whose behalf and from where its jobs are submitted."""

from typing import Any

from definitions.submission import JobSubmission
from definitions.wire import Wire


class StoredSchedule(Wire):
    """`document` is the Schedule with its job settled; `submission` is what each job's row gets."""

    document: dict[str, Any]
    owner: str
    submission: JobSubmission = JobSubmission()
