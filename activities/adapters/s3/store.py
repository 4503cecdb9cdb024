"""The object store as a bucket. What it asks of the store, and what it costs, is in ../README.md."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, BinaryIO, cast

from botocore.exceptions import ClientError

from activities.adapters.s3.connection import S3Place, connect
from activities.adapters.s3.errors import ABSENT, DENIED, TAKEN, code_of, port_errors
from activities.adapters.s3.reading import open_object
from activities.adapters.s3.writing import DIGEST, hashed, send
from activities.object_keys import AMBIGUOUS, LONGEST_KEY, check_key, key_problem
from activities.ports import ObjectInfo, PortError, UploadGrant

if TYPE_CHECKING:
    from types_boto3_s3.type_defs import HeadObjectOutputTypeDef

HEX = re.compile(r"[0-9a-f]{64}")
# How often a denied write is tried again: a store on one disk removes the folder of an object that goes, and denies the
# write beside it that had just found the folder there.
DENIALS = 2
RACES = 5  # how often a name may be taken and free again before a writer gives up
PAGE = 1000
LOOKS = 8  # objects looked at side by side while listing
MOST_KEPT = 10_000  # digests of objects that carry none
LONGEST_GRANT = timedelta(days=7)  # the protocol's own limit
LARGEST_FORM = 5 * 1024**3  # bytes; the protocol's own limit


class S3Objects:
    """ObjectStore below `place`. Any number of processes may share it."""

    def __init__(self, place: S3Place) -> None:
        self._place = place
        self._client = connect(place)
        self._for_pods = connect(place, place.pod_endpoint) if place.pod_endpoint else self._client
        self._digests: dict[tuple[str, str, datetime], str] = {}

    def put(self, key: str, data: BinaryIO, *, if_absent: bool = False) -> ObjectInfo:
        name = self._name(key)
        if if_absent and (known := self.stat(key)):
            return known
        with hashed(data) as source:
            for turn in range(RACES):
                with port_errors(f"write {key}"):
                    try:
                        send(self._client, self._place.bucket, name, source, if_absent=if_absent)
                    except ClientError as error:
                        if code_of(error) == DENIED and turn < DENIALS:
                            continue
                        if not if_absent or code_of(error) not in TAKEN:
                            raise
                    else:
                        return ObjectInfo(key=key, bytes=source.bytes, sha256=source.sha256)
                if known := self.stat(key):
                    return known
        raise PortError(f"{key} was written and deleted by others all the while", code="PD-3409")

    def get(self, key: str) -> BinaryIO:
        name = self._name(key)
        with port_errors(f"read {key}"):
            try:
                return cast(BinaryIO, open_object(self._client, self._place.bucket, name, key))
            except ClientError as error:
                if code_of(error) not in ABSENT:
                    raise
                raise PortError(f"there is no object {key}", permanent=True, code="PD-3404") from None

    def stat(self, key: str) -> ObjectInfo | None:
        while found := self._look(key):
            told = found["Metadata"].get(DIGEST, "")
            sha256 = told if HEX.fullmatch(told) else self._digest(key, found)
            if sha256 is not None:
                return ObjectInfo(key=key, bytes=found["ContentLength"], sha256=sha256)
        return None

    def list(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> list[ObjectInfo]:
        found: list[ObjectInfo] = []
        with ThreadPoolExecutor(LOOKS, "s3-list") as pool:
            for keys in self._pages(prefix, after, limit):
                # One that was deleted since it was listed is not there.
                found += [info for info in pool.map(self.stat, keys) if info]
                if len(found) >= limit:
                    break
        return found[:limit]

    def delete(self, key: str) -> bool:
        if self._look(key) is None:
            return False
        with port_errors(f"delete {key}"):
            self._client.delete_object(Bucket=self._place.bucket, Key=self._name(key))
        return True

    def grant_read(self, key: str, lasting: timedelta) -> str | None:
        name = self._name(key)
        with port_errors(f"grant reading {key}"):
            return self._for_pods.generate_presigned_url(
                "get_object", Params={"Bucket": self._place.bucket, "Key": name}, ExpiresIn=_seconds(lasting)
            )

    def grant_write(self, prefix: str, lasting: timedelta) -> UploadGrant | None:
        if not prefix.endswith("/"):
            raise PortError(f"{prefix!r} would also name other objects' keys", permanent=True, code="PD-3406")
        below = self._name(prefix[:-1]) + "/"
        with port_errors(f"grant writing below {prefix}"):
            post = self._for_pods.generate_presigned_post(
                self._place.bucket,
                below + "${filename}",
                # Of a condition the field must be sent, if only empty; then the object is hashed when it is looked at.
                Fields={f"x-amz-meta-{DIGEST}": ""},
                Conditions=[
                    ["starts-with", f"$x-amz-meta-{DIGEST}", ""],
                    ["content-length-range", 0, LARGEST_FORM],
                ],
                ExpiresIn=_seconds(lasting),
            )
        fields = {name: value for name, value in post["fields"].items() if name != "key"}
        return UploadGrant(url=post["url"], prefix=below, fields=fields)

    def _name(self, key: str) -> str:
        check_key(key)
        name = self._place.prefix + key
        if len(name.encode()) > LONGEST_KEY:
            raise PortError(f"object key {key[:80]!r} is too long below {self._place}", permanent=True, code="PD-3406")
        return name

    def _look(self, key: str) -> "HeadObjectOutputTypeDef | None":
        with port_errors(f"look at {key}"):
            try:
                return self._client.head_object(Bucket=self._place.bucket, Key=self._name(key))
            except ClientError as error:
                if code_of(error) not in ABSENT:
                    raise
                return None

    def _digest(self, key: str, found: "HeadObjectOutputTypeDef") -> str | None:
        """The digest of an object that carries none, by reading it; None when it is not this one any more."""
        version = (key, found["ETag"], found["LastModified"])
        if version not in self._digests:
            with port_errors(f"read {key}"):
                try:
                    with open_object(self._client, self._place.bucket, self._name(key), key, found["ETag"]) as blob:
                        sha256 = hashlib.file_digest(blob, "sha256").hexdigest()
                except ClientError as error:
                    if code_of(error) not in (*ABSENT, *TAKEN):
                        raise
                    return None
            while len(self._digests) >= MOST_KEPT:
                self._digests.pop(next(iter(self._digests)), None)
            self._digests[version] = sha256
        return self._digests[version]

    def _pages(self, prefix: str, after: str | None, limit: int) -> Iterator[Sequence[str]]:
        """Keys in order, at most `limit` at a time. What others put there under names that are no keys is left out."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._place.bucket,
            Prefix=self._place.prefix + _asked(prefix),
            StartAfter=self._place.prefix + (after or ""),
            PaginationConfig={"PageSize": max(1, min(limit, PAGE))},
        )
        with port_errors(f"list {prefix}"):
            for page in pages:
                keys = [entry["Key"].removeprefix(self._place.prefix) for entry in page.get("Contents", [])]
                yield [key for key in keys if key.startswith(prefix) and key_problem(key) is None]


def _asked(prefix: str) -> str:
    """The prefix to list by: one that ends in what could mean a folder is refused by some stores, so its folder's."""
    folder, slash, rest = prefix.rpartition("/")
    return folder + slash if rest.strip() in AMBIGUOUS else prefix


def _seconds(lasting: timedelta) -> int:
    return int(min(lasting, LONGEST_GRANT).total_seconds())
