"""`haul cp FILE az://container/name` and back: sizes, methods, properties."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from azure.storage.blob import ContentSettings

import trees
from command import Haul
from crc64 import crc64
from endpoints import Container

MIB = 1 << 20


@pytest.mark.parametrize("size", [0, 1, 4095, MIB, MIB + 1, 5 * MIB + 17])
def test_cp_file_of_any_size(haul: Haul, container: Container, tmp_path: Path, size: int) -> None:
    file = trees.random_file(tmp_path / "file.bin", size)
    haul("cp", file, container.az("file.bin"), "--block-size", "1MiB", "--single-put-max", "1MiB")
    assert container.client.download_blob("file.bin").readall() == file.read_bytes()
    haul("cp", container.az("file.bin"), "back.bin", "--block-size", "1MiB")
    assert (tmp_path / "back.bin").read_bytes() == file.read_bytes()


def test_cp_file_of_64_mib(haul: Haul, container: Container, tmp_path: Path) -> None:
    file = trees.random_file(tmp_path / "file.bin", 64 * MIB)
    up = haul("cp", file, container.az("file.bin"), "--json")
    assert up.summary["bytes_done"] == 64 * MIB
    (ended,) = up.of("object")
    # Azurite checks a block, and does not say what it took.
    proof = "sent" if container.endpoint.name == "azurite" else "crc64"
    assert (ended["outcome"], ended["method"], ended["proof"]) == ("copied", "blocks", proof)
    assert up.summary["proofs"][proof] == 1
    haul("cp", container.az("file.bin"), "back.bin")
    assert (tmp_path / "back.bin").read_bytes() == file.read_bytes()


@pytest.mark.parametrize("method", ["auto", "whole", "ranges"])
@pytest.mark.parametrize("checksum", ["crc64", "md5", "none"])
def test_cp_file_by_every_method_and_checksum(
    haul: Haul, container: Container, tmp_path: Path, method: str, checksum: str
) -> None:
    file = trees.random_file(tmp_path / "file.bin", 3 * MIB)
    how = ("--method", method, "--checksum", checksum, "--block-size", "1MiB")
    haul("cp", file, container.az("file.bin"), *how)
    haul("cp", container.az("file.bin"), "back.bin", *how)
    assert (tmp_path / "back.bin").read_bytes() == file.read_bytes()


def test_cp_file_stores_the_properties_that_others_read(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    (tmp_path / "page.html").write_bytes(b"<p>hello</p>")
    haul("cp", "page.html", container.az("page.html"), "--checksum", "md5")
    properties = container.client.get_blob_client("page.html").get_blob_properties()
    assert properties.content_settings.content_type == "text/html"
    assert bytes(properties.content_settings.content_md5 or b"") == hashlib.md5(b"<p>hello</p>").digest()
    assert properties.metadata


@pytest.mark.parametrize("checksum", ["crc64", "md5", "none"])
def test_cp_file_in_blocks_has_a_content_md5_where_asked_for(
    haul: Haul, container: Container, tmp_path: Path, checksum: str
) -> None:
    file = trees.random_file(tmp_path / "file.bin", 3 * MIB + 1)
    how = ("--checksum", checksum, "--block-size", "256KiB", "--json")
    for name, more in (("plain", ()), ("asked", ("--content-md5",))):
        (ended,) = haul("cp", file, container.az(name), *how, *more).of("object")
        stored = container.client.get_blob_client(name).get_blob_properties().content_settings.content_md5
        wanted = hashlib.md5(file.read_bytes()).digest() if more else b""
        assert bytes(stored or b"") == wanted
        assert ended["md5"] == (wanted.hex() or None)


@pytest.mark.parametrize("checksum", ["crc64", "md5", "none"])
def test_cp_file_in_one_request_has_a_content_md5_where_asked_for(
    haul: Haul, container: Container, tmp_path: Path, checksum: str
) -> None:
    file = trees.random_file(tmp_path / "file.bin", MIB // 4)
    (ended,) = haul("cp", file, container.az("a"), "--checksum", checksum, "--content-md5", "--json").of(
        "object"
    )
    stored = container.client.get_blob_client("a").get_blob_properties().content_settings.content_md5
    assert bytes(stored or b"") == hashlib.md5(file.read_bytes()).digest()
    assert ended["md5"] == hashlib.md5(file.read_bytes()).hexdigest()


def test_cp_file_stores_the_right_crc64(haul: Haul, container: Container, tmp_path: Path) -> None:
    file = trees.random_file(tmp_path / "file.bin", MIB // 2 + 3)
    haul("cp", file, container.az("file.bin"), "--block-size", "128KiB", "--single-put-max", "128KiB")
    (line,) = haul("stat", "--json", container.az("file.bin")).events
    assert int(line["crc64"], 16) == crc64(file.read_bytes())


def test_cp_file_that_azures_own_client_wrote(haul: Haul, container: Container, tmp_path: Path) -> None:
    data = trees.random_file(tmp_path / "source", 3 * MIB).read_bytes()
    settings = ContentSettings(
        content_type="application/x-netcdf", content_md5=bytearray(hashlib.md5(data).digest())
    )
    container.client.upload_blob("a.nc", data, content_settings=settings, metadata={"station": "De Bilt"})
    haul("cp", container.az("a.nc"), "a.nc")
    assert (tmp_path / "a.nc").read_bytes() == data
    (line,) = haul("stat", "--json", container.az("a.nc")).events
    assert line["content_type"] == "application/x-netcdf"


def test_cp_file_into_a_folder(haul: Haul, container: Container, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a")
    (tmp_path / "b.txt").write_bytes(b"b")
    haul("cp", "a.txt", container.az("into/"))
    haul("cp", "a.txt", "b.txt", container.az("both"))
    assert sorted(container.contents()) == ["both/a.txt", "both/b.txt", "into/a.txt"]


def test_cp_file_keeps_or_replaces_as_told(haul: Haul, container: Container, tmp_path: Path) -> None:
    (tmp_path / "new").write_bytes(b"new")
    container.client.upload_blob("name", b"old")
    haul("cp", "new", container.az("name"), "--overwrite", "never")
    assert container.contents() == {"name": b"old"}
    haul("cp", "new", container.az("name"), "--overwrite", "always")
    assert container.contents() == {"name": b"new"}


def test_cp_file_from_local_to_local(haul: Haul, tmp_path: Path) -> None:
    file = trees.random_file(tmp_path / "file.bin", 5 * MIB)
    haul("cp", "file.bin", "copy.bin")
    assert (tmp_path / "copy.bin").read_bytes() == file.read_bytes()
