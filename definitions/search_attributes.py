"""Search attributes of workflows. They are never encrypted: ids and enums only, no names, mail addresses or commands.

A SQL-backed visibility store has room for ten keyword attributes; this list leaves some free.
"""

from temporalio.common import SearchAttributeKey

TENANT = SearchAttributeKey.for_keyword("TenantId")
PROJECT = SearchAttributeKey.for_keyword("ProjectId")
JOB_PHASE = SearchAttributeKey.for_keyword("JobPhase")
FAILURE_CLASS = SearchAttributeKey.for_keyword("FailureClass")
CLUSTER = SearchAttributeKey.for_keyword("ClusterId")

ALL = (TENANT, PROJECT, JOB_PHASE, FAILURE_CLASS, CLUSTER)
