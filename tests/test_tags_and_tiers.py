"""Azure's own library sets and reads tags and tiers, on the emulator and on Azurite alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
from azure.core.exceptions import HttpResponseError, ResourceModifiedError
from azure.storage.blob import BlobBlock, BlobClient, ContainerClient, RehydratePriority, StandardBlobTier

from endpoints import Container, Endpoint

#: The library's stubs take its members for another type.
HIGH = cast(RehydratePriority, RehydratePriority.high)
TAGS = {"project": "alpha beta", "a+b": "x/y:z=1_2-3.4", "empty": ""}


def tier(blob: BlobClient) -> tuple[str, bool]:
    """Return the tier of a blob, and whether nobody chose it."""
    properties = blob.get_blob_properties()
    return str(properties.blob_tier), bool(properties.blob_tier_inferred)


def test_tags_come_back_whichever_way_they_were_set(container: Container) -> None:
    client = container.client
    whole = client.upload_blob("whole", b"x", tags=TAGS)
    assert whole.get_blob_tags() == TAGS

    blocks = client.get_blob_client("blocks")
    blocks.stage_block("AAAA", b"x")
    blocks.commit_block_list([BlobBlock("AAAA")], tags={"k": "v"})
    assert blocks.get_blob_tags() == {"k": "v"}

    before = whole.get_blob_properties()
    whole.set_blob_tags({"k": "v"})
    assert whole.get_blob_tags() == {"k": "v"}
    after = whole.get_blob_properties()
    assert (before.tag_count, after.tag_count, after.etag) == (3, 1, before.etag)
    whole.set_blob_tags({})
    assert whole.get_blob_tags() == {}


def test_lists_tell_tags_and_tiers(container: Container) -> None:
    client = container.client
    client.upload_blob("tagged", b"x", tags=TAGS)
    client.upload_blob("cool", b"x", standard_blob_tier=StandardBlobTier.COOL)
    found = {blob.name: blob for blob in client.list_blobs(include=["tags", "metadata"])}
    assert (found["tagged"].tags, found["tagged"].tag_count) == (TAGS, len(TAGS))
    assert (found["tagged"].blob_tier, found["tagged"].blob_tier_inferred) == ("Hot", True)
    assert not found["cool"].tags
    assert (found["cool"].blob_tier, not found["cool"].blob_tier_inferred) == ("Cool", True)


def test_a_write_may_depend_on_tags(container: Container) -> None:
    blob = container.client.upload_blob("a", b"x", tags={"status": "done", "rank": "015"})
    blob.upload_blob(
        b"y", overwrite=True, tags={"status": "open"}, if_tags_match_condition="\"status\" = 'done'"
    )
    for condition in ["\"status\" = 'done'", "status <> 'open'", "\"rank\" >= '0' AND \"status\" = 'open'"]:
        with pytest.raises(ResourceModifiedError):
            blob.download_blob(if_tags_match_condition=condition)
    kept = "\"none\" = 'x' OR \"status\" = 'open'"
    assert blob.download_blob(if_tags_match_condition=kept).readall() == b"y"


@pytest.mark.parametrize(
    "tags",
    [{"": "x"}, {"k": "ä"}, {"k": "v" * 257}, {"k" * 129: ""}, {str(n): "" for n in range(11)}],
    ids=str,
)
def test_tags_that_no_service_takes_are_refused(container: Container, tags: dict[str, str]) -> None:
    with pytest.raises(HttpResponseError) as refused:
        container.client.upload_blob("a", b"x", tags=tags)
    assert refused.value.status_code == 400
    assert not container.client.get_blob_client("a").exists()


def test_tiers_are_chosen_and_changed(container: Container) -> None:
    blob = container.client.upload_blob("a", b"x")
    assert tier(blob) == ("Hot", True)
    etag = blob.get_blob_properties().etag
    for chosen in [StandardBlobTier.COOL, StandardBlobTier.COLD, StandardBlobTier.HOT]:
        blob.set_standard_blob_tier(chosen)
        assert tier(blob) == (chosen.value, False)
    assert blob.get_blob_properties().etag == etag


def test_the_archive_is_read_only_after_it_was_left(emulator: Endpoint) -> None:
    client: ContainerClient = emulator.container().client
    blob = client.upload_blob("a", b"x", metadata={"k": "v"})
    blob.set_standard_blob_tier(StandardBlobTier.ARCHIVE)
    assert tier(blob) == ("Archive", False)
    assert blob.get_blob_properties().metadata == {"k": "v"}
    refusals: list[Callable[[], object]] = [
        blob.download_blob,
        lambda: blob.upload_blob(b"y", overwrite=True),
    ]
    for refused in refusals:
        with pytest.raises(HttpResponseError, match="BlobArchived") as error:
            refused()
        assert error.value.status_code == 409
    blob.set_blob_tags({"status": "archived"})
    copy = client.get_blob_client("b")
    copy.start_copy_from_url(blob.url, standard_blob_tier=StandardBlobTier.COOL)
    assert (copy.download_blob().readall(), tier(copy)) == (b"x", ("Cool", False))
    blob.set_standard_blob_tier(StandardBlobTier.HOT, rehydrate_priority=HIGH)
    assert (blob.download_blob().readall(), blob.get_blob_tags()) == (b"x", {"status": "archived"})


def test_copies_take_tags_only_when_told(emulator: Endpoint) -> None:
    client = emulator.container().client
    source = client.upload_blob("a", b"x", tags={"k": "old"})
    copy = client.get_blob_client("b")
    copy.start_copy_from_url(source.url)
    assert copy.get_blob_tags() == {}
    copy.start_copy_from_url(source.url, tags={"k": "new"})
    assert copy.get_blob_tags() == {"k": "new"}
    copy.start_copy_from_url(source.url, tags="COPY", requires_sync=True)
    assert copy.get_blob_tags() == {"k": "old"}


def test_tags_need_a_letter_in_the_signature(emulator: Endpoint) -> None:
    container = emulator.container()
    container.client.upload_blob("a", b"x", tags={"k": "v"})

    def signed(permissions: str) -> BlobClient:
        return BlobClient.from_blob_url(container.url("a", emulator.sas(permissions)))

    assert signed("t").get_blob_tags() == {"k": "v"}
    refusals: list[Callable[[], object]] = [
        lambda: signed("rwdlac").get_blob_tags(),
        lambda: signed("rwdlac").set_blob_tags({}),
        lambda: signed("rwdlac").upload_blob(b"y", overwrite=True, tags={"k": "w"}),
    ]
    for refused in refusals:
        with pytest.raises(HttpResponseError, match="AuthorizationPermissionMismatch"):
            refused()
    signed("rwt").upload_blob(b"y", overwrite=True, tags={"k": "w"})
    assert signed("t").get_blob_tags() == {"k": "w"}
