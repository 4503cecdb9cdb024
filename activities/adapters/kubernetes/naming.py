"""Names and labels of everything that an attempt has in a cluster. The same attempt always gets the same ones.

A name is for people (a part of the job's name) and for the machine (a digest of the job's identity): two jobs of one
name never meet, and whoever starts anew finds what an earlier process made.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from activities.ports import PortError
from definitions.attempt import AttemptRef

MANAGED_BY, MANAGER = "app.kubernetes.io/managed-by", "perdure"
TENANT, PROJECT, JOB = "perdure.dev/tenant", "perdure.dev/project", "perdure.dev/job"
ATTEMPT, TOKEN, ROLE = "perdure.dev/attempt", "perdure.dev/token", "perdure.dev/role"
INSTALLATION = "perdure.dev/installation"  # the control plane that made it; none on what was made before there were ids
REF = "perdure.dev/ref"  # annotation: the whole ref, since labels may hold digests of long names
PLACES = (
    "perdure.dev/places"  # annotation of a Job: the node of each of its pods, by index; also the name of their gate
)
RANKS, KEEPER = "rank", "keeper"  # values of ROLE
INDEX = "batch.kubernetes.io/job-completion-index"
OURS = f"{MANAGED_BY}={MANAGER}"  # selects all that is ours

SLUG = 18
DIGEST = 12
LONGEST = 40  # of an object's name: a pod appends "-<index>-<5 letters>", and a host name has 63 at the most
LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
TOKENS = re.compile(r"[0-9a-f]{32}")


def object_name(ref: AttemptRef, name: str) -> str:
    """The name of an attempt's objects: a DNS label that begins with a letter, of at most 40 characters."""
    made = f"{_slug(name)}-{job_digest(ref.tenant, ref.project, ref.job)}-{ref.number}"
    if len(made) > LONGEST or ref.number < 1:
        raise PortError(f"attempt {ref.number} cannot be named", permanent=True, code="PD-3150")
    return made


def claim_name(ref: AttemptRef, name: str) -> str:
    """The name of the volume claim with the job's run folder, the same for all its attempts."""
    return f"{_slug(name)}-{job_digest(ref.tenant, ref.project, ref.job)}-data"


def keeper_name(base: str, key: str) -> str:
    return f"{base}-keep-{key}"


def pod_host(base: str, index: int, namespace: str) -> str:
    """Where the pod of a node can be reached from the others."""
    return f"{base}-{index}.{base}.{namespace}.svc"


def job_digest(tenant: str, project: str, job: str) -> str:
    return hashlib.sha256(f"{tenant}/{project}/{job}".encode()).hexdigest()[:DIGEST]


def job_labels(tenant: str, project: str, job: str) -> dict[str, str]:
    """What every object of a job carries; the volume claim has these alone."""
    return {
        MANAGED_BY: MANAGER,
        TENANT: label_value(tenant),
        PROJECT: label_value(project),
        JOB: label_value(job),
    }


def labels(ref: AttemptRef) -> dict[str, str]:
    """What every object of an attempt carries. Refuses a token that is none."""
    if not TOKENS.fullmatch(ref.token):
        raise PortError(f"{ref.token[:80]!r} cannot be a token", permanent=True, code="PD-3150")
    of_job = job_labels(ref.tenant, ref.project, ref.job)
    return of_job | {ATTEMPT: str(ref.number), TOKEN: ref.token}


def label_value(text: str) -> str:
    """The text itself where it can be a label's value, else what can be of it and a digest of the whole."""
    if LABEL.fullmatch(text):
        return text
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:40].strip("-._")
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:DIGEST]
    return f"{plain}-{digest}" if plain else digest


def selector(values: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in values.items())


def label(thing: Mapping[str, Any], key: str) -> str:
    """A label's value; empty when the object has none of that name."""
    return str((thing["metadata"].get("labels") or {}).get(key, ""))


def ref_of(thing: Mapping[str, Any]) -> AttemptRef | None:
    """Whose an object is, as its annotation says; None when it says nothing that can be understood."""
    text = (thing["metadata"].get("annotations") or {}).get(REF, "")
    try:
        return AttemptRef.model_validate_json(text)
    except ValueError:
        return None


def _slug(name: str) -> str:
    """A beginning of the name as a DNS label has it: small letters, digits, dashes; a letter first."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    plain = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if not plain[:1].isalpha():
        plain = f"j-{plain}".rstrip("-")
    return plain[:SLUG].rstrip("-")
