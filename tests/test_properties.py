"""Headers and metadata go along from one container to another, and do no harm on the way to files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from azure.storage.blob import BlobProperties, ContentSettings

from command import Haul
from endpoints import Container

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


def told(found: BlobProperties) -> dict[str, object]:
    """What somebody chose for a blob."""
    names = ("content_type", "cache_control", "content_disposition", "content_encoding", "content_language")
    metadata = {name: value for name, value in found.metadata.items() if name not in OURS}
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
    assert set(copy.metadata) == OURS | set(METADATA)


def test_packed_bytes_are_moved_as_they_are(haul: Haul, container: Container, tmp_path: Path) -> None:
    packed = gzip.compress(b"hello")
    container.client.upload_blob("a", packed, content_settings=HEADERS, metadata=METADATA)
    haul("cp", container.az("a"), "down")
    assert (tmp_path / "down").read_bytes() == packed
    haul("cp", "down", container.az("up"))
    up = container.client.get_blob_client("up").get_blob_properties()
    assert set(up.metadata) == OURS
    assert up.content_settings.content_encoding is None
