"""Azure's own client of append blobs on the emulator and on Azurite: both must answer alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobClient, BlobType

from endpoints import Endpoint


@pytest.fixture(params=["emulator", "azurite"])
def blob(request: pytest.FixtureRequest) -> BlobClient:
    endpoint: Endpoint = request.getfixturevalue(request.param)
    container = endpoint.container()
    return endpoint.service.get_blob_client(container.name, "runs/log.jsonl")


def refused(call: Callable[[], object]) -> tuple[int | None, str | None]:
    """Return the status and the code with which a call is refused."""
    with pytest.raises(HttpResponseError) as raised:
        call()
    return raised.value.status_code, getattr(raised.value, "error_code", None)


def test_a_blob_grows_by_blocks(blob: BlobClient) -> None:
    blob.create_append_blob(metadata={"kind": "log"})
    at, lines = 0, [b"first\n", b"second\n", b"x" * 300_000, b"\n"]
    for number, line in enumerate(lines):
        added = blob.append_block(line, appendpos_condition=at)
        offset = str(added["blob_append_offset"])
        assert (offset, added["blob_committed_block_count"]) == (str(at), number + 1)
        at += len(line)
    seen = blob.get_blob_properties()
    assert (seen.blob_type, seen.size, seen.metadata) == (BlobType.APPENDBLOB, at, {"kind": "log"})
    assert seen.append_blob_committed_block_count == 4
    assert blob.download_blob().readall() == b"".join(lines)
    assert blob.download_blob(offset=3, length=6).readall() == b"st\nsec"


def test_what_does_not_fit_is_refused(blob: BlobClient) -> None:
    assert refused(lambda: blob.append_block(b"x")) == (404, "BlobNotFound")
    blob.create_append_blob()
    blob.append_block(b"first")
    etag = blob.get_blob_properties().etag
    calls: dict[str, Callable[[], object]] = {
        "position": lambda: blob.append_block(b"x", appendpos_condition=4),
        "size": lambda: blob.append_block(b"more", maxsize_condition=8),
        "etag": lambda: blob.append_block(b"x", etag="0x1", match_condition=MatchConditions.IfNotModified),
        "exists": lambda: blob.create_append_blob(match_condition=MatchConditions.IfMissing),
        "block": lambda: blob.stage_block("QUFB", b"x"),
        "list": lambda: blob.get_block_list(),
    }
    assert {name: refused(call) for name, call in calls.items()} == {
        "position": (412, "AppendPositionConditionNotMet"),
        "size": (412, "MaxBlobSizeConditionNotMet"),
        "etag": (412, "ConditionNotMet"),
        "exists": (409, "BlobAlreadyExists"),
        "block": (409, "InvalidBlobType"),
        "list": (409, "InvalidBlobType"),
    }
    assert blob.get_blob_properties().etag == etag
    blob.upload_blob(b"plain", overwrite=True)
    assert refused(lambda: blob.append_block(b"x")) == (409, "InvalidBlobType")


def test_the_client_appends_to_what_is_there(blob: BlobClient) -> None:
    for text in (b"one ", b"two ", b"three"):
        blob.upload_blob(text, blob_type=BlobType.APPENDBLOB)
    assert blob.download_blob().readall() == b"one two three"


def test_a_sealed_blob_takes_no_more(emulator: Endpoint) -> None:
    """Azurite cannot seal."""
    blob = emulator.service.get_blob_client(emulator.container().name, "log")
    blob.create_append_blob()
    blob.append_block(b"all")
    assert refused(lambda: blob.seal_append_blob(appendpos_condition=2))[0] == 412
    assert blob.seal_append_blob()["blob_sealed"]
    assert refused(lambda: blob.append_block(b"x")) == (409, "BlobIsSealed")
