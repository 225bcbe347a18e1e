"""Headers and metadata go along from one container to another, and do no harm on the way to files."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from azure.storage.blob import BlobProperties, ContentSettings

import endpoints
from command import Haul
from endpoints import Container, Endpoint

METADATA = {"author": "somebody <some@body>", "run": "7", "owner_group": "a b"}
HEADERS = ContentSettings(
    content_type="application/x-special",
    cache_control="max-age=60, no-transform",
    content_disposition='attachment; filename="a b.nc"',
    content_encoding="gzip",
    content_language="de, en",
)
#: What is kept for the mover itself.
OURS = {"haulage_crc64", "mtime", "modtime"}
OURS_BY_S3 = {"haulage-crc64", "mtime", "md5chksum"}


def told(found: BlobProperties) -> dict[str, object]:
    """What somebody chose for a blob."""
    names = ("content_type", "cache_control", "content_disposition", "content_encoding", "content_language")
    metadata = {name: value for name, value in found.metadata.items() if name not in OURS | OURS_BY_S3}
    return {name: found.content_settings[name] for name in names} | {"metadata": metadata}


@pytest.mark.parametrize("size", [0, 100, 3_000_000])
@pytest.mark.parametrize("whole_tree", [False, True])
def test_what_somebody_chose_for_a_blob_goes_along(
    haul: Haul, container: Container, size: int, whole_tree: bool
) -> None:
    source = container.client.upload_blob("from/a", b"x" * size, metadata=METADATA, content_settings=HEADERS)
    line = ("from/", "to/") if whole_tree else ("from/a", "to/a")
    haul("cp", *map(container.az, line), "--block-size", "1MiB", "--single-put-max", "1MiB")
    copy = container.client.get_blob_client("to/a").get_blob_properties()
    assert told(copy) == told(source.get_blob_properties())
    assert told(copy)["metadata"] == METADATA
    # What the service copies in one request has the checksum that the source has: here an MD5.
    by_service = size == 100 and container.endpoint.name == "emulator"
    ours = OURS - ({"haulage_crc64"} if by_service else set())
    assert set(copy.metadata) == ours | set(METADATA)


@pytest.mark.parametrize("size", [0, 100, 7_000_000])
@pytest.mark.parametrize("whole_tree", [False, True])
def test_it_goes_along_to_s3_from_there_to_s3_and_back(
    emulator: Endpoint, tmp_path: Path, size: int, whole_tree: bool
) -> None:
    """What S3's interface has written is looked at through Azure's."""
    haul = Haul(tmp_path, emulator.env | endpoints.by_s3(emulator).env, [endpoints.KEY])
    first, second, third, last = (emulator.container() for _ in range(4))
    source = first.client.upload_blob("at/a", b"x" * size, metadata=METADATA, content_settings=HEADERS)
    expected = told(source.get_blob_properties())
    place = "at/" if whole_tree else "at/a"
    urls = [first.az(place), f"s3://{second.name}/{place}", f"s3://{third.name}/{place}", last.az(place)]
    for step in pairwise(urls):
        haul("cp", *step, "--block-size", "5MiB", "--single-put-max", "1MiB")
    # Of an upload in parts it is not known when it begins: the service keeps its own.
    by_s3 = OURS_BY_S3 - ({"haulage-crc64"} if size > 1 << 20 else set())
    for container, ours in ((second, by_s3), (third, by_s3), (last, OURS)):
        found = container.client.get_blob_client("at/a").get_blob_properties()
        assert found.size == size
        assert told(found) == expected
        assert set(found.metadata) == ours | set(METADATA)
    assert haul("cat", last.az("at/a")).stdout == b"x" * size


def test_packed_bytes_are_moved_as_they_are(haul: Haul, container: Container, tmp_path: Path) -> None:
    packed = gzip.compress(b"hello")
    container.client.upload_blob("a", packed, content_settings=HEADERS, metadata=METADATA)
    haul("cp", container.az("a"), "down")
    assert (tmp_path / "down").read_bytes() == packed
    haul("cp", "down", container.az("up"))
    up = container.client.get_blob_client("up").get_blob_properties()
    assert set(up.metadata) == OURS
    assert up.content_settings.content_encoding is None


@pytest.mark.parametrize("size", [100, 12_000_000])
@pytest.mark.parametrize("options", [[], ["--server-side", "never"]])
def test_when_an_object_of_s3_expires_goes_along(
    emulator: Endpoint, tmp_path: Path, size: int, options: list[str]
) -> None:
    """A move between buckets lost it."""
    import boto3

    service = endpoints.by_s3(emulator)
    haul = Haul(tmp_path, service.env, [endpoints.KEY])
    keys = dict(zip(("aws_access_key_id", "aws_secret_access_key"), service.keys, strict=True))
    s3 = boto3.client("s3", endpoint_url=service.url, region_name="us-east-1", **keys)
    names = [emulator.container().name for _ in range(2)]
    s3.put_object(Bucket=names[0], Key="a", Body=b"x" * size, Expires="Fri, 01 Jan 2100 00:00:00 GMT")
    haul("cp", f"s3://{names[0]}/a", f"s3://{names[1]}/a", *options)
    found = s3.head_object(Bucket=names[1], Key="a")
    assert found["ExpiresString"] == "Fri, 01 Jan 2100 00:00:00 GMT"
