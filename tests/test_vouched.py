"""Azure vouches for 4 MiB at once, S3 wants parts of 5 MiB: each is read in pieces that Azure vouches for."""

from __future__ import annotations

from pathlib import Path

import pytest
from azure.storage.blob import BlobBlock

import endpoints
from command import Haul
from conftest import StartEmulator
from endpoints import Endpoint

MIB = 1 << 20


@pytest.mark.parametrize(
    "how", [("--single-put-max", "1MiB"), ("--single-put-max", "64MiB")], ids=["parts", "whole"]
)
def test_azure_vouches_for_all_that_goes_to_s3(
    emulator: Endpoint, tmp_path: Path, how: tuple[str, str]
) -> None:
    haul = Haul(tmp_path, emulator.env | endpoints.by_s3(emulator).env, [endpoints.KEY])
    source, destination = emulator.container(), emulator.container()
    content = bytes(range(251)) * (11 * MIB // 251 + 1)
    blob = source.client.get_blob_client("a")
    blob.stage_block("AAAA", content)
    blob.commit_block_list([BlobBlock("AAAA")])
    properties = blob.get_blob_properties()
    assert not properties.content_settings.content_md5, "it states no checksum of the whole"
    assert not properties.metadata
    went = haul("cp", source.az("a"), f"s3://{destination.name}/a", "--block-size", "5MiB", *how, "--json")
    (ended,) = went.of("object")
    assert (ended["outcome"], ended["proof"]) == ("copied", "crc64")
    assert destination.contents() == {"a": content}


def test_a_flipped_bit_is_found_in_the_part_in_which_it_is(
    start_emulator: StartEmulator, tmp_path: Path
) -> None:
    faulty, sound = start_emulator(faults="flip=15%,seed=5"), start_emulator()
    haul = Haul(tmp_path, faulty.env | endpoints.by_s3(sound).env, [endpoints.KEY])
    source, destination = faulty.container(), sound.container()
    content = bytes(range(251)) * (60 * MIB // 251 + 1)
    blob = source.client.get_blob_client("a")
    blob.stage_block("AAAA", content)
    blob.commit_block_list([BlobBlock("AAAA")])
    went = haul("cp", source.az("a"), f"s3://{destination.name}/a", "--block-size", "5MiB", "--json")
    assert went.summary["integrity_retries"] > 0
    assert destination.contents() == {"a": content}
