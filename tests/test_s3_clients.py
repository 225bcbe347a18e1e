"""boto3, s5cmd, rclone and obstore read what `haul` wrote, and the reverse, at two servers.

Names that files can have move as a tree. What only objects can be called is written and read one by one, by
`haul` and boto3, which alone takes them all.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import endpoints
import s3_clients
import trees
from command import Haul
from endpoints import Endpoint, S3Endpoint
from s3_clients import CLIENTS, PART, Client

#: Names that files can have, besides those of `trees`.
FILES = (
    "\N{LATIN SMALL LETTER E WITH ACUTE} is two characters",  # As one of them here, and as two in `trees`.
    "dots.../..hidden/...",
    " leading space/trailing space ",
    "back\\slash",
    "less<more>|*^`=",
    "tab\there",
    "+plus+ and %20 and %2B and &amp;",
    f"long/{'l' * 255}",
    "/".join(["d" * 99] * 9),
)
#: Names that are none of a file. Those that `versitygw` cannot keep, for it keeps files, come last.
OBJECTS = ("~-._!*()", "a//b", "//two", "/leading", "a/../b", "..", "./a", "é" * 512)
FOR_FILES = 1


@pytest.fixture
def bucket(s3: Haul, service: S3Endpoint) -> str:
    """The name of a new, empty bucket."""
    name = service.new_name()
    s3("mb", f"s3://{name}")
    return name


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, service: S3Endpoint, tmp_path: Path) -> Client:
    return s3_clients.make(request.param, service, tmp_path / "client")


@pytest.fixture
def files(client: Client, tmp_path: Path) -> Path:
    """A tree of all names that the client takes, some objects of no bytes and one that goes in parts."""
    folder = trees.make(tmp_path / "tree", size=300)
    for number, name in enumerate(filter(client.holds, FILES)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(random.Random(number).randbytes(number * 100))
    trees.random_file(folder / "in parts.bin", 2 * PART + 1234)
    return folder


def test_others_read_what_haul_wrote(s3: Haul, bucket: str, client: Client, files: Path) -> None:
    went = s3("cp", files, f"s3://{bucket}/run/", "--block-size", "5MiB", "--json")
    assert went.summary["proofs"]["crc64"] == len(trees.contents(files))
    (large,) = (done for done in went.of("object") if done["name"].endswith("parts.bin"))
    assert large["method"] == "blocks"
    into = s3.folder / "theirs"
    into.mkdir()
    client.down(bucket, "run/", into)
    trees.assert_same(trees.contents(into), trees.contents(files))


def test_haul_reads_what_others_wrote(s3: Haul, bucket: str, client: Client, files: Path) -> None:
    client.up(files, bucket, "run/")
    there = s3_clients.connect(client.service).head_object(Bucket=bucket, Key="run/in parts.bin")
    assert there["ETag"].endswith('-3"'), "it was to go in parts"
    s3("verify", files, f"s3://{bucket}/run/")
    s3("cp", f"s3://{bucket}/run/", "back")
    trees.assert_same(trees.contents(s3.folder / "back"), trees.contents(files))
    (files / "plain.txt").write_bytes(b"x" * 300)
    s3("verify", files, f"s3://{bucket}/run/", code=5)


def names(service: S3Endpoint) -> tuple[str, ...]:
    return OBJECTS[:FOR_FILES] if service.name == "versitygw" else OBJECTS


def test_names_of_objects_only_are_read_and_written(s3: Haul, bucket: str, service: S3Endpoint) -> None:
    other, source = s3_clients.connect(service), s3.folder / "source"
    for name in names(service):
        other.put_object(Bucket=bucket, Key=name, Body=name.encode())
        assert s3("cat", f"s3://{bucket}/{name}").stdout == name.encode()
        source.write_bytes(f"ours: {name}".encode())
        s3("cp", source, f"s3://{bucket}/{name}", "--overwrite", "always")
        assert other.get_object(Bucket=bucket, Key=name)["Body"].read() == source.read_bytes()
    listed = [entry["Key"] for entry in other.list_objects_v2(Bucket=bucket)["Contents"]]
    assert listed == sorted(names(service), key=str.encode)
    assert [line["key"] for line in s3("ls", "-r", "--json", f"s3://{bucket}").events] == listed


def test_folder_markers_are_left_out(s3: Haul, bucket: str, service: S3Endpoint) -> None:
    other: Any = s3_clients.connect(service)
    for name in ("folder/", "folder/empty/"):
        other.put_object(Bucket=bucket, Key=name, Body=b"")
    other.put_object(Bucket=bucket, Key="folder/file", Body=b"content")
    went = s3("cp", f"s3://{bucket}/", "back", "--json")
    assert [done["name"] for done in went.of("object")] == ["folder/file"]
    assert trees.contents(s3.folder / "back") == {"folder/file": b"content"}
    s3("rm", "-r", f"s3://{bucket}/folder/")
    assert "Contents" not in other.list_objects_v2(Bucket=bucket), "those that are removed are markers too"


def test_an_object_that_no_file_can_be_fails_alone(emulator: Endpoint, tmp_path: Path) -> None:
    service = endpoints.by_s3(emulator)
    s3, bucket, other = Haul(tmp_path, service.env), service.new_name(), s3_clients.connect(service)
    other.create_bucket(Bucket=bucket)
    for name in ("folder/file", "folder/slash/", "folder//two"):
        other.put_object(Bucket=bucket, Key=name, Body=b"content")
    went = s3("cp", f"s3://{bucket}/", "back", "--json", code=1)
    failed = {done["name"] for done in went.of("object") if done["outcome"] == "failed"}
    assert failed == {"folder/slash/", "folder//two"}
    assert trees.contents(s3.folder / "back") == {"folder/file": b"content"}
