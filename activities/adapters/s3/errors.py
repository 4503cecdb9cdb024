"""What the store answered, as `PortError`s. Whether trying again can help is judged by what would have to change."""

import contextlib
from collections.abc import Iterator

from boto3.exceptions import Boto3Error
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
)

from activities.ports import PortError

ABSENT = ("404", "NoSuchKey", "NotFound")
TAKEN = ("412", "PreconditionFailed", "409", "ConditionalRequestConflict")
NO_BUCKET = ("NoSuchBucket",)
DENIED = "AccessDenied"
REFUSED = (
    "403", DENIED, "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken",
    "InvalidToken", "RequestTimeTooSkewed", "AccountProblem",
)  # fmt: skip
TOO_LARGE = ("EntityTooLarge", "XMinioMaxSizeExceeded")
BUSY = ("SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "OperationAborted", "Throttling")
NO_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError)


@contextlib.contextmanager
def port_errors(doing: str) -> Iterator[None]:
    """Raise what the SDK raises inside the block as PortError, saying what was tried."""
    try:
        yield
    except ClientError as error:
        raise _refusal(doing, error) from error
    except NO_CREDENTIALS as error:
        raise PortError(f"cannot {doing}: {error}", code="PD-3410") from error
    except (BotoCoreError, Boto3Error, OSError) as error:
        raise PortError(f"cannot {doing}: {error}", code="PD-3409") from error


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _refusal(doing: str, error: ClientError) -> PortError:
    code = code_of(error)
    said = error.response.get("Error", {}).get("Message") or code
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    text = f"cannot {doing}: {said} ({code})"
    if code in NO_BUCKET:
        return PortError(text, code="PD-3411")
    if code in REFUSED:
        return PortError(text, code="PD-3410")
    if code in TOO_LARGE:
        return PortError(text, permanent=True, code="PD-3413")
    if code in BUSY or status >= 500 or status == 429:
        return PortError(text, code="PD-3409")
    return PortError(text, permanent=True, code="PD-3415")
