"""The cluster's own words: which of them mean what, and how they are repeated in a sentence.

The kubelet's reasons are stable names; its messages are free text, from which only what is said here is read.
"""

import json
import re

from definitions.pod import ContainerFacts, PodFacts

LONGEST = 500  # characters of a cluster's message that are repeated
IMAGE_REASONS = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
NEVER_AN_IMAGE = "InvalidImageName"  # no patience makes a name of it
CONFIG_REASONS = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
START_REASONS = frozenset({"StartError", "ContainerCannotRun"})
MOUNT_REASONS = ("FailedMount", "FailedAttachVolume")
MISSING = ("not found", "references non-existent")  # a secret, a config map, a claim; a key of one
_BACK_OFF = re.compile(r"^Back-off pulling image \"[^\"]*\"(?:: ?(?:ErrImagePull: ?)?)?")
_MISSING_CLAIM = re.compile(r"persistentvolumeclaim \"[^\"]+\" not found")
_OWN_LIMIT = re.compile(r"exceed(?:s|ed) (?:the total limit|the limit|its local ephemeral storage limit)")
_SHORT_OF = re.compile(r"low on resource: ([a-z-]+)|had condition: \[([A-Za-z, ]+)\]")
_RESOURCES = {
    "memory": "memory",
    "MemoryPressure": "memory",
    "ephemeral-storage": "disk",
    "inodes": "disk (inodes)",
    "DiskPressure": "disk",
    "pids": "process ids",
    "PIDPressure": "process ids",
}


def said(message: str, otherwise: str = "nothing more is said") -> str:
    """A message as one line of bearable length."""
    line = " ".join(message.split())
    return (line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}...") or otherwise


def image_words(container: ContainerFacts) -> str:
    """What the registry or the kubelet said. Pulling and backing off take turns and say the same, so the sentence does
    not change each time."""
    return said(_BACK_OFF.sub("", container.message), container.reason)


def over_own_limit(message: str) -> bool:
    """Whether an eviction's message says that the pod used more scratch space than it may."""
    return _OWN_LIMIT.search(message) is not None


def short_of(message: str) -> str:
    """What a node was short of, from an eviction's message; `something` where it does not say."""
    found = _SHORT_OF.search(message)
    if found is None:
        return "something"
    words = [word.strip() for word in (found[1] or found[2]).split(",")]
    return " and ".join(dict.fromkeys(_RESOURCES.get(word, word) for word in words))


def missing_volume(pod: PodFacts) -> str:
    """The words that say that a volume which the pod names is not there; empty when nothing does."""
    claim = _MISSING_CLAIM.search(pod.unschedulable)
    if claim is not None:
        return claim[0]
    if pod.warning.startswith(MOUNT_REASONS) and any(words in pod.warning for words in MISSING):
        return pod.warning
    return ""


def init_report(container: ContainerFacts) -> tuple[str, str]:
    """Code and message of the line that our own preparation leaves; code `""` where it left none."""
    try:
        report = json.loads(container.message)
        return str(report["code"]), str(report["message"])
    except (ValueError, TypeError, KeyError):
        return "", container.message
