"""A receipt tells what lies at the destination, and `haul verify` whether it still does."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import haulage
import trees
from command import Haul
from endpoints import Container
from sentences import Sentence

MIB = 1 << 20
#: One after the other: a small object that lags is sent twice otherwise, and may become a version after the
#: one that was told.
ALONE = ("--concurrency", "1")


def lines(receipt: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in receipt.read_text().splitlines()]


def objects(receipt: Path) -> dict[str, dict[str, Any]]:
    return {line["name"]: line for line in lines(receipt) if line["line"] == "object"}


def make_tree(folder: Path) -> dict[str, bytes]:
    trees.make(folder, files=5)
    trees.random_file(folder / "large.bin", 9 * MIB)
    return trees.contents(folder)


def test_a_receipt_tells_of_every_object(haul: Haul, container: Container) -> None:
    expected = make_tree(haul.folder / "tree")
    receipt = haul.folder / "receipt.jsonl"
    haul("cp", "tree", container.az("below/"), "--receipt", receipt, "--content-md5", *ALONE)
    head, *_, end = lines(receipt)
    assert head["line"] == "receipt"
    assert head["destination"] == container.az("below/")
    assert end == {
        "line": "end",
        "objects": len(expected),
        "bytes": sum(map(len, expected.values())),
        "failed": 0,
    }
    told = objects(receipt)
    assert told.keys() == expected.keys()
    for name, line in told.items():
        assert line["size_bytes"] == len(expected[name])
        assert line["md5"] == hashlib.md5(expected[name]).hexdigest()
        blob = container.client.get_blob_client(f"below/{name}").get_blob_properties()
        assert line["etag"] == blob.etag.strip('"')
        assert blob.metadata is not None
        assert line["crc64"] in blob.metadata.values()

    # What is there already is in the next one too.
    (haul.folder / "tree" / "new").write_bytes(b"new")
    haul("cp", "tree", container.az("below/"), "--receipt", receipt)
    outcomes = {line["outcome"] for line in objects(receipt).values()}
    assert outcomes == {"copied", "skipped"}
    assert {name: line["crc64"] for name, line in objects(receipt).items() if name in told} == {
        name: line["crc64"] for name, line in told.items()
    }


def test_verify_finds_what_a_receipt_no_longer_tells(haul: Haul, container: Container) -> None:
    make_tree(haul.folder / "tree")
    haul("cp", "tree", container.az("below/"), "--receipt", "receipt.jsonl", *ALONE)
    for how in ((), ("--deep",)):
        went = haul("verify", "receipt.jsonl", container.az("below/"), "--json", *how)
        proofs = {record["proof"] for record in went.of("object")}
        assert proofs == ({"crc64"} if how else {"etag"})
        fetched = [a for a in went.of("attempt") if a["api"] == "Compare"]
        assert bool(fetched) == bool(how)

    # Written anew with the same content: the stored CRC64 says so.
    haul("cp", "tree", container.az("below/"), "--overwrite", "always", "--include", "large.bin")
    haul("verify", "receipt.jsonl", container.az("below/"))

    client = container.client
    client.upload_blob("below/large.bin", bytes(9 * MIB), overwrite=True)
    client.delete_blob("below/plain.txt")
    client.upload_blob("below/extra", b"")
    for how in ((), ("--deep",)):
        went = haul("verify", "receipt.jsonl", container.az("below/"), *how, code=5)
        assert sorted(line.split(":")[0] for line in went.text.splitlines()) == [
            "differs",
            "extra",
            "missing",
        ]


def test_what_is_not_read_has_no_rate(haul: Haul, container: Container) -> None:
    trees.make(haul.folder / "tree", files=5, awkward=False)
    haul("cp", "tree", container.az("below/"), "--receipt", "receipt.jsonl")
    line = ("verify", "receipt.jsonl", container.az("below/"))
    said = haul(*line).stderr
    assert "without reading" in said
    assert "bit/s" not in said
    assert haul(*line, "--json").summary["goodput_bits_per_second"] == 0
    said = haul(*line, "--deep").stderr
    assert "without reading" not in said
    assert "bit/s" in said


def test_a_receipt_of_one_object_and_of_a_download(haul: Haul, container: Container) -> None:
    (haul.folder / "one").write_bytes(b"one")
    haul("cp", "one", container.az("renamed"), "--receipt", "up.jsonl")
    haul("verify", "up.jsonl", container.az("renamed"), "--deep")
    haul("verify", "up.jsonl", container.az(""))
    haul("cp", container.az("renamed"), "back/", "--receipt", "down.jsonl")
    haul("verify", "down.jsonl", "back/")
    haul("verify", "down.jsonl", "back/", "--deep")
    (haul.folder / "back" / "renamed").write_bytes(b"two")
    haul("verify", "down.jsonl", "back/", code=5)
    haul("verify", "down.jsonl", "back/", "--deep", code=5)


def test_a_receipt_of_a_job_that_failed_in_part_vouches_for_no_more(
    haul: Haul, container: Container, sentence: Sentence
) -> None:
    """Who trusted it deleted the source with what was not in it."""
    for name in ("a", "b"):
        container.client.upload_blob(name, name.encode())
    (haul.folder / "back" / "a" / "in-the-way").mkdir(parents=True)
    haul("cp", container.az(), "back/", "--receipt", "part.jsonl", code=1)
    shutil.rmtree(haul.folder / "back" / "a")
    for words in ([], ["--deep"]):
        went = haul("verify", "part.jsonl", "back/", *words, "--json", code=1)
        (failure,) = went.summary["failures"]
        sentence(failure["cause"])
        sentence(went.hints)
        assert went.summary["objects_done"] == 1


def test_a_receipt_of_a_stream_has_its_name(haul: Haul, container: Container) -> None:
    haul("cp", "-", container.az("below/stream"), "--receipt", "receipt.jsonl", stdin=b"in order")
    assert objects(haul.folder / "receipt.jsonl")["stream"]["size_bytes"] == len(b"in order")
    haul("verify", "receipt.jsonl", container.az("below/stream"), "--deep")


def test_a_spoiled_receipt_is_refused(haul: Haul, container: Container) -> None:
    (haul.folder / "one").write_bytes(b"one")
    haul("cp", "one", container.az(""), "--receipt", "receipt.jsonl")
    receipt = haul.folder / "receipt.jsonl"
    receipt.write_text("".join(receipt.read_text().splitlines(keepends=True)[:-1]))
    said = haul("verify", "receipt.jsonl", container.az(""), code=5)
    assert "its end is missing" in said.stderr


def test_a_receipt_that_cannot_be_written_stops_the_job_before_it_moves(
    haul: Haul, container: Container
) -> None:
    (haul.folder / "one").write_bytes(b"one")
    said = haul("cp", "one", container.az(""), "--receipt", "no/such/folder/receipt", code=4)
    assert "receipt" in said.stderr
    assert container.contents() == {}


def test_python_writes_and_verifies_receipts(tmp_path: Path) -> None:
    make_tree(tmp_path / "tree")
    receipt = tmp_path / "receipt.jsonl"
    haulage.copy(tmp_path / "tree", tmp_path / "copy", receipt=receipt)
    assert haulage.verify(receipt, tmp_path / "copy").exit_code == 0
    assert haulage.verify(receipt, tmp_path / "copy", deep=True).exit_code == 0
