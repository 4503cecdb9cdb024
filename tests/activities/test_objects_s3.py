"""The bucket store on a real S3 server: the contract, and what is its own."""

import hashlib
import io
import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from activities.adapters.s3 import S3Objects, S3Place
from activities.adapters.s3.writing import send
from activities.ports import ObjectInfo, PortError
from tests.activities.object_store_contract import ObjectStoreContract, info, read
from tests.support.minio import Minio
from tests.support.polling import eventually
from tests.support.ports import free_port
from tests.support.relay import cutting

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]  # what is not built yet is built first

STREAM = """
import resource, sys
from activities.adapters.s3 import S3Objects, S3Place
class Stream:
    left = 400
    def read(self, size=-1):
        if not self.left: return b""
        self.left -= 1
        return bytes([self.left % 256]) * 1024**2
objects = S3Objects(S3Place(sys.argv[1], "", sys.argv[2]))
objects.list("")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
stored = objects.put("long", Stream())
assert stored.bytes == 400 * 1024**2 and objects.stat("long") == stored
with objects.get("long") as blob:
    assert sum(len(chunk) for chunk in iter(lambda: blob.read(1024**2), b"")) == stored.bytes
print(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


class Changing(io.BytesIO):
    """A source that holds something else when it is read again."""

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self.getbuffer()[-1] ^= 1
        return super().seek(offset, whence)


@pytest.fixture
def place(minio: Minio, monkeypatch: pytest.MonkeyPatch) -> S3Place:
    """A part of an empty bucket of this test alone; the SDK finds the credentials as it does in production."""
    for name, value in minio.environment.items():
        monkeypatch.setenv(name, value)
    return S3Place(minio.bucket(), "some/where/", minio.endpoint)


@pytest.fixture
def objects(place: S3Place) -> S3Objects:
    return S3Objects(place)


class TestS3Objects(ObjectStoreContract):
    pass


@pytest.mark.parametrize("size", [100, 17 * 1024**2], ids=["one request", "several requests"])
def test_of_twenty_racing_stores_one_wins_and_all_are_told_which(place: S3Place, size: int) -> None:
    start = threading.Barrier(20)

    def write(number: int) -> ObjectInfo:
        own = S3Objects(place)
        start.wait()
        return own.put("raced", io.BytesIO(bytes([number]) * size), if_absent=True)

    with ThreadPoolExecutor(20) as pool:
        answers = set(pool.map(write, range(20)))
    content = read(S3Objects(place), "raced")
    assert (len(content), len(set(content))) == (size, 1)
    assert answers == {info("raced", content)}


def test_a_conflict_that_left_nothing_behind_is_tried_again(
    objects: S3Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def conflicting(*given: Any, **more: Any) -> None:
        tries.append(given)
        if len(tries) == 1:
            raise ClientError({"Error": {"Code": "ConditionalRequestConflict"}}, "PutObject")
        send(*given, **more)

    monkeypatch.setattr("activities.adapters.s3.store.send", conflicting)
    assert objects.put("key", io.BytesIO(b"bytes"), if_absent=True) == info("key", b"bytes")
    assert len(tries) == 2


@pytest.mark.parametrize(("denials", "stored"), [(1, True), (2, True), (3, False)])
def test_a_denied_write_is_tried_again_and_soon_given_up(
    objects: S3Objects, monkeypatch: pytest.MonkeyPatch, denials: int, stored: bool
) -> None:
    objects.put("key", io.BytesIO(b"earlier"))
    tries = []

    def denying(*given: Any, **more: Any) -> None:
        tries.append(given)
        if len(tries) <= denials:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "PutObject")
        send(*given, **more)

    monkeypatch.setattr("activities.adapters.s3.store.send", denying)
    if stored:
        assert objects.put("key", io.BytesIO(b"bytes")) == info("key", b"bytes")
    else:
        with pytest.raises(PortError) as denied:
            objects.put("key", io.BytesIO(b"bytes"))
        assert (denied.value.code, denied.value.permanent) == ("PD-3410", False)
    assert (len(tries), read(objects, "key")) == (min(denials + 1, 3), b"bytes" if stored else b"earlier")


def test_a_long_stream_of_unknown_length_goes_through_little_memory(place: S3Place) -> None:
    command = [sys.executable, "-c", STREAM, place.bucket, str(place.endpoint)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stdout.split())
    assert after - before < 150 * 1024, (before, after)


def test_a_large_source_that_changes_while_it_is_sent_leaves_nothing(
    objects: S3Objects, place: S3Place, minio: Minio
) -> None:
    with pytest.raises(PortError, match="changed while it was read") as failure:
        objects.put("key", Changing(bytes(40 * 1024**2)))
    assert (failure.value.code, failure.value.permanent) == ("PD-3412", False)
    assert objects.list("") == []
    assert "Uploads" not in minio.client().list_multipart_uploads(Bucket=place.bucket, Prefix=place.prefix + "key")


def test_a_blob_is_read_to_its_end_over_connections_that_break(
    minio: Minio, place: S3Place, objects: S3Objects
) -> None:
    content = random.Random(1).randbytes(5 * 1024**2)
    objects.put("key", io.BytesIO(content))
    with cutting(minio.endpoint, 1024**2) as endpoint:
        assert read(S3Objects(replace(place, endpoint=endpoint)), "key") == content


def test_a_blob_that_was_replaced_is_not_continued_with_the_new_content(
    minio: Minio, place: S3Place, objects: S3Objects
) -> None:
    objects.put("key", io.BytesIO(bytes(5 * 1024**2)))
    with cutting(minio.endpoint, 1024**2) as endpoint, S3Objects(replace(place, endpoint=endpoint)).get("key") as blob:
        blob.read(10)
        objects.put("key", io.BytesIO(bytes(6 * 1024**2)))
        with pytest.raises(PortError) as failure:
            blob.read()
    assert failure.value.code == "PD-3412"


def test_a_blob_can_be_sought(objects: S3Objects) -> None:
    objects.put("key", io.BytesIO(b"0123456789"))
    with objects.get("key") as blob:
        assert (blob.seek(5), blob.read(2), blob.seek(-1, os.SEEK_END), blob.read()) == (5, b"56", 9, b"9")
        assert (blob.seek(0), blob.read(), blob.seek(100), blob.read()) == (0, b"0123456789", 100, b"")


def test_what_others_put_beside_ours_is_hashed_or_passed_over(minio: Minio, place: S3Place, objects: S3Objects) -> None:
    client = minio.client()
    client.put_object(Bucket=place.bucket, Key=place.prefix + "theirs", Body=b"bytes")
    client.put_object(Bucket=place.bucket, Key=place.prefix + "lying", Body=b"bytes", Metadata={"sha256": "no digest"})
    client.put_object(Bucket=place.bucket, Key=place.prefix + "folder/", Body=b"")
    client.put_object(Bucket=place.bucket, Key="elsewhere", Body=b"bytes")
    expected = [info("lying", b"bytes"), info("theirs", b"bytes")]
    assert objects.list("") == expected
    client.put_object(Bucket=place.bucket, Key=place.prefix + "theirs", Body=b"others")
    assert objects.stat("theirs") == info("theirs", b"others")


def test_a_form_stores_below_the_granted_prefix_and_nowhere_else(objects: S3Objects, place: S3Place) -> None:
    grant = objects.grant_write("t/p/jobs/j/", timedelta(minutes=5))
    assert grant is not None
    digest = {"x-amz-meta-sha256": hashlib.sha256(b"the log").hexdigest()}
    table = [
        (grant.prefix + "logs/1/0/000001.log", digest, 204),
        (grant.prefix + "artifacts/1/model", {}, 204),
        (place.prefix + "t/p/jobs/other/artifacts/1/model", {}, 403),
        ("t/p/jobs/j/model", {}, 403),
        (grant.prefix + "model", {"x-amz-meta-owner": "me"}, 403),
    ]
    for key, more, status in table:
        assert form(grant.url, {**grant.fields, **more, "key": key}) == status, key
    expected = [info(key, b"the log") for key in ("t/p/jobs/j/artifacts/1/model", "t/p/jobs/j/logs/1/0/000001.log")]
    assert objects.list("") == expected


def test_a_prefix_that_would_name_others_too_is_not_granted(objects: S3Objects) -> None:
    for prefix in ("", "/", "t/p/jobs/j", "t/../", "t//"):
        with pytest.raises(PortError) as refusal:
            objects.grant_write(prefix, timedelta(minutes=5))
        assert (refusal.value.code, refusal.value.permanent) == ("PD-3406", True)


def test_grants_end(objects: S3Objects) -> None:
    objects.put("t/key", io.BytesIO(b"bytes"))
    reading = objects.grant_read("t/key", timedelta(seconds=1))
    writing = objects.grant_write("t/", timedelta(seconds=1))
    assert reading is not None
    assert writing is not None
    eventually(lambda: httpx.get(reading, trust_env=False).status_code == 403, 10, "an address that has expired")
    fields = {**writing.fields, "key": writing.prefix + "late"}
    eventually(lambda: form(writing.url, fields) == 403, 10, "a form that has expired")


def test_an_address_reads_one_blob_without_credentials(objects: S3Objects) -> None:
    objects.put("t/a keyé", io.BytesIO(b"bytes"))
    objects.put("t/other", io.BytesIO(b"secret"))
    address = objects.grant_read("t/a keyé", timedelta(minutes=5))
    assert address is not None
    assert httpx.get(address, trust_env=False).content == b"bytes"
    assert httpx.get(address.replace("a%20key%C3%A9", "other"), trust_env=False).status_code == 403


def test_pods_are_given_the_address_under_which_they_reach_the_store(place: S3Place) -> None:
    objects = S3Objects(replace(place, pod_endpoint="http://store.inside:9000"))
    objects.put("t/key", io.BytesIO(b"bytes"))
    address, grant = objects.grant_read("t/key", timedelta(days=30)), objects.grant_write("t/", timedelta(minutes=1))
    assert address is not None
    assert address.startswith("http://store.inside:9000/")
    assert "X-Amz-Expires=604800" in address, "longer than the protocol allows is cut to what it allows"
    assert grant is not None
    assert grant.url.startswith("http://store.inside:9000/")


def test_what_the_store_refuses_says_what_an_operator_has_to_mend(
    place: S3Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = S3Objects(replace(place, bucket="no-such-bucket"))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    refused = S3Objects(place)
    away = S3Objects(replace(place, endpoint=f"http://127.0.0.1:{free_port()}"))
    for store, code in ((absent, "PD-3411"), (refused, "PD-3410"), (away, "PD-3409")):
        for call in (lambda: store.put("key", io.BytesIO(b"x")), lambda: store.list("")):  # noqa: B023
            with pytest.raises(PortError) as failure:
                call()
            assert (failure.value.code, failure.value.permanent) == (code, False)


@pytest.mark.parametrize("address", ["bucket", "s3://", "s3:///prefix", "http://bucket", "s3://b?x=1", "s3://u:p@b/x"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(PortError) as refusal:
        S3Place.parse(address, endpoint=None, region=None)
    assert (refusal.value.code, refusal.value.permanent) == ("PD-3414", True)


def test_an_address_names_bucket_and_prefix() -> None:
    for address, expected in (("s3://b", ("b", "")), ("s3://b/", ("b", "")), ("s3://b/a/c/", ("b", "a/c/"))):
        place = S3Place.parse(address, endpoint=None, region="eu-west-1")
        assert (place.bucket, place.prefix) == expected


def form(url: str, fields: dict[str, str]) -> int:
    return httpx.post(url, data=fields, files={"file": b"the log"}, trust_env=False).status_code
