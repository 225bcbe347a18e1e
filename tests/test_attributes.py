"""Tags and tiers go along between stores, and what files have besides their bytes is kept on request."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from azure.storage.blob import BlobClient, StandardBlobTier

import endpoints
import haulage
from command import Haul
from endpoints import Container, Endpoint
from sentences import Sentence
from test_clients import azcopy, rclone

TAGS = {"project": "alpha beta", "a+b": "x/y:z=1_2-3.4", "empty": ""}
COOL = StandardBlobTier.COOL
SIZES = pytest.mark.parametrize("size", [0, 100, 7_000_000])
HOW = ("--block-size", "5MiB", "--single-put-max", "1MiB")


def both(emulator: Endpoint, folder: Path) -> Haul:
    """The command, with the keys of both interfaces of an emulator."""
    return Haul(folder, emulator.env | endpoints.by_s3(emulator).env, [endpoints.KEY])


def found(blob: BlobClient) -> tuple[dict[str, str], str, bool]:
    """Tags and tier of a blob, and whether somebody has chosen the tier."""
    properties = blob.get_blob_properties()
    return blob.get_blob_tags(), str(properties.blob_tier), not properties.blob_tier_inferred


@SIZES
@pytest.mark.parametrize("how", [(), ("--server-side", "never")], ids=["by the service", "through here"])
def test_tags_and_tiers_go_along_between_containers(
    haul: Haul, container: Container, size: int, how: tuple[str, ...]
) -> None:
    container.client.upload_blob("from/a", b"x" * size, tags=TAGS, standard_blob_tier=COOL)
    container.client.upload_blob("from/b", b"x" * size)
    haul("cp", container.az("from/"), container.az("to/"), *HOW, *how)
    there = {name: container.client.get_blob_client(f"to/{name}") for name in "ab"}
    assert found(there["a"]) == (TAGS, "Cool", True)
    assert found(there["b"]) == ({}, "Hot", False)

    haul("cp", container.az("from/"), container.az("without/"), *HOW, *how, "--no-tags", "--tier", "default")
    assert found(container.client.get_blob_client("without/a")) == ({}, "Hot", False)


@SIZES
def test_tags_and_tiers_go_along_to_s3_from_there_to_s3_and_back(
    emulator: Endpoint, tmp_path: Path, size: int
) -> None:
    haul = both(emulator, tmp_path)
    first, second, third, last = (emulator.container() for _ in range(4))
    first.client.upload_blob("at/a", b"x" * size, tags=TAGS, standard_blob_tier=COOL)
    urls = [first.az("at/"), f"s3://{second.name}/at/", f"s3://{third.name}/at/", last.az("at/")]
    for step in pairwise(urls):
        haul("cp", *step, *HOW)
    # To Azure's interface a class that was chosen by S3's is the account's own tier.
    for container, tier in ((second, "Hot"), (third, "Hot"), (last, "Cool")):
        blob = container.client.get_blob_client("at/a")
        assert found(blob)[:2] == (TAGS, tier)
    haul("cp", urls[1], f"s3://{third.name}/without/", *HOW, "--no-tags")
    assert third.client.get_blob_client("without/a").get_blob_tags() == {}


def test_what_is_archived_is_not_archived_again(emulator: Endpoint, tmp_path: Path) -> None:
    """S3's objects of these classes could be read once they were restored; the emulator's can be at once."""
    haul = both(emulator, tmp_path)
    first, second = emulator.container(), emulator.container()
    (tmp_path / "a").write_bytes(b"x")
    haul("cp", "a", f"s3://{first.name}/a", "--tier", "GLACIER")
    haul("cp", f"s3://{first.name}/a", second.az("a"))
    assert found(second.client.get_blob_client("a")) == ({}, "Hot", False)


@pytest.mark.parametrize("size", [100, 7_000_000])
def test_a_tier_is_chosen(haul: Haul, container: Container, tmp_path: Path, size: int) -> None:
    (tmp_path / "a").write_bytes(b"x" * size)
    for name, tier in (("cool", "Cool"), ("STANDARD_IA", "Cool"), ("hot", "Hot")):
        haul("cp", "a", container.az(name), "--tier", name, *HOW)
        assert found(container.client.get_blob_client(name)) == ({}, tier, True)
    haul("cp", "-", container.az("stream"), "--storage-class", "cool", stdin=b"x" * size)
    assert found(container.client.get_blob_client("stream"))[1:] == ("Cool", True)


def test_a_tier_that_is_none_is_refused_before_anything_moves(haul: Haul, container: Container) -> None:
    to = container.az("a")
    words = "write mode, owner, times or special, separated by commas; or posix, or all"
    for line, hint in (
        ((to, "--tier", "lukewarm"), "write hot, cool, cold or archive"),
        (("back/", "--tier", "cool"), "leave out --tier"),
        ((to, "--tier", "two words"), "write auto, default, or a name such as cool or STANDARD_IA"),
        ((to, "--preserve", "xattr"), words),
    ):
        refused = haul("cp", container.az("none/"), *line, code=2)
        assert hint in refused.hints, refused.stderr
    assert haul("cp", container.az("none/"), to, "--preserve", "special", code=2).hints


def test_tags_that_may_not_be_read_are_no_secret_loss(
    emulator: Endpoint, haul: Haul, tmp_path: Path, sentence: Sentence
) -> None:
    container = emulator.container()
    container.client.upload_blob("a", b"x", tags=TAGS)
    source = container.url("a", emulator.sas("rl"))
    refused = haul("cp", source, container.az("b"), "--server-side", "never", code=3)
    sentence(refused.hints)
    haul("cp", source, container.az("b"), "--server-side", "never", "--no-tags")
    assert container.client.get_blob_client("b").get_blob_tags() == {}
    # Files have no place for them, so nobody asks.
    haul("cp", source, "back")
    assert (tmp_path / "back").read_bytes() == b"x"


MODE, ATIME, MTIME = 0o741, 1_000_000_000_123_456_789, 1_100_000_000_987_654_321
RCLONES = {"mode": "100741", "atime": "2001-09-09T01:46:40.123456789Z"}
AZCOPYS = {"permissions": str(0o100741), "posix_atime": str(ATIME)}


def make_file(path: Path, size: int = 100, mode: int = MODE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    path.chmod(mode)
    os.utime(path, ns=(ATIME, MTIME))
    return path


def looks(path: Path) -> tuple[int, int, int]:
    """Mode, and the times as they are before anybody reads the file."""
    seen = path.stat()
    return stat.S_IMODE(seen.st_mode), seen.st_atime_ns, seen.st_mtime_ns


@SIZES
@pytest.mark.parametrize("cloud", ["azure", "s3"])
def test_what_files_have_is_kept_and_restored(
    emulator: Endpoint, tmp_path: Path, cloud: str, size: int
) -> None:
    haul, container = both(emulator, tmp_path), emulator.container()
    url = container.az("t/") if cloud == "azure" else f"s3://{container.name}/t/"
    make_file(tmp_path / "from/a", size)
    haul("cp", "from/", url, *HOW, "--preserve", "posix")
    told = container.client.get_blob_client("t/a").get_blob_properties().metadata
    mine = {"uid": str(os.getuid()), "gid": str(os.getgid())}
    assert (told | RCLONES | mine) == told
    if cloud == "azure":
        assert (told | AZCOPYS | {"posix_owner": mine["uid"], "posix_group": mine["gid"]}) == told
    haul("cp", url, "back/", *HOW, "--preserve", "mode,owner,times")
    assert looks(tmp_path / "back/a") == (MODE, ATIME, MTIME)
    haul("cp", url, "plain/", *HOW)
    mode, _, modified = looks(tmp_path / "plain/a")
    assert (mode & 0o111, modified) == (0, MTIME)


def test_what_files_have_goes_along_between_clouds_and_to_files(emulator: Endpoint, tmp_path: Path) -> None:
    haul = both(emulator, tmp_path)
    first, second, third = (emulator.container() for _ in range(3))
    make_file(tmp_path / "from/a")
    haul("cp", "from/", first.az(), "--preserve", "all")
    haul("cp", first.az(), f"s3://{second.name}/")
    haul("cp", f"s3://{second.name}/", third.az())
    haul("cp", third.az(), "back/", "--preserve", "all")
    assert looks(tmp_path / "back/a") == (MODE, ATIME, MTIME)
    os.utime(tmp_path / "from/a", ns=(ATIME, MTIME))
    haul("cp", "from/", "near/", "--preserve", "all")
    assert looks(tmp_path / "near/a") == (MODE, ATIME, MTIME)


def test_special_bits_are_restored_only_where_asked(haul: Haul, container: Container, tmp_path: Path) -> None:
    make_file(tmp_path / "from/a", mode=0o4755)
    haul("cp", "from/", container.az(), "--preserve", "all")
    for what, mode in (("mode", 0o755), ("posix", 0o755), ("mode,special", 0o4755), ("all", 0o4755)):
        haul("cp", container.az("a"), f"back-{what}", "--preserve", what)
        assert looks(tmp_path / f"back-{what}")[0] == mode, what
    haul("cp", "from/", container.az("without/"), "--preserve", "mode")
    assert container.client.get_blob_client("without/a").get_blob_properties().metadata["mode"] == "100755"


@pytest.mark.parametrize(
    "metadata",
    [
        {"mode": "fast"},
        {"mode": "0120777"},
        {"mode": "-1"},
        {"uid": "../../etc/passwd", "gid": "0; id"},
        {"uid": "4294967295", "gid": "-1"},
        {"permissions": "41471"},
        {"atime": "now", "mtime": "then"},
    ],
    ids=str,
)
def test_metadata_that_cannot_be_meant_is_ignored_and_said(
    haul: Haul, container: Container, tmp_path: Path, metadata: dict[str, str]
) -> None:
    for number in range(3):
        container.client.upload_blob(f"{number}", b"x", metadata=metadata)
    went = haul("cp", container.az(), "back", "--preserve", "all")
    warnings = [line for line in went.stderr.splitlines() if line.startswith("warning: ")]
    assert len(warnings) == 1, went.stderr
    assert all(name in warnings[0] for name in metadata if name != "mtime")
    seen = (tmp_path / "back/1").stat()
    assert (seen.st_uid, seen.st_gid, seen.st_mode & 0o7111) == (os.getuid(), os.getgid(), 0)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name == "back") == ["back"]
    assert not haul("cp", container.az(), "quiet").stderr.count("warning")
    # A stream has no place for what files have, so that nothing of it is missed.
    out = haul("cp", container.az("1"), "-", "--preserve", "all")
    assert (out.stdout, out.stderr.count("warning")) == (b"x", 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_root_gives_files_to_their_owners_and_others_do_not(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    owned = {"uid": "12345", "gid": "54321", "mode": "0104755"}
    container.client.upload_blob("a", b"x", metadata=owned)
    haul("cp", container.az("a"), "root", "--preserve", "all")
    seen = (tmp_path / "root").stat()
    assert (seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)) == (12345, 54321, 0o4755)
    haul("cp", container.az("a"), "mode", "--preserve", "mode")
    assert (tmp_path / "mode").stat().st_uid == 0


@pytest.mark.parametrize("cloud", ["azure", "s3"])
def test_rclone_reads_what_haul_keeps_and_haul_what_rclone_does(
    emulator: Endpoint, tmp_path: Path, cloud: str
) -> None:
    haul, container = both(emulator, tmp_path), emulator.container()
    url: Callable[[str], str] = (
        container.az if cloud == "azure" else lambda path: f"s3://{container.name}/{path}"
    )
    make_file(tmp_path / "from/a")
    haul("cp", "from/", url("by-haul/"), "--preserve", "all")
    rclone(tmp_path, emulator, "copy", f"test:{container.name}/by-haul", "rclone", "-M", cloud=cloud)
    assert looks(tmp_path / "rclone/a") == (MODE, ATIME, MTIME)
    os.utime(tmp_path / "from/a", ns=(ATIME, MTIME))
    rclone(tmp_path, emulator, "copy", "from", f"test:{container.name}/by-rclone", "-M", cloud=cloud)
    haul("cp", url("by-rclone/"), "haul/", "--preserve", "all")
    assert looks(tmp_path / "haul/a") == (MODE, ATIME, MTIME)


@pytest.mark.long
def test_azcopy_reads_what_haul_keeps_and_haul_what_azcopy_does(
    emulator: Endpoint, haul: Haul, tmp_path: Path
) -> None:
    container, sas = emulator.container(), emulator.sas()
    make_file(tmp_path / "from/a")
    haul("cp", "from/", container.az("by-haul/"), "--preserve", "all")
    down = ("--recursive", "--from-to=BlobLocal", "--preserve-posix-properties")
    azcopy(tmp_path, "copy", container.url("by-haul/*", sas), "azcopy", *down)
    mode, _, modified = looks(tmp_path / "azcopy/a")
    assert (mode, modified) == (MODE, MTIME)
    os.utime(tmp_path / "from/a", ns=(ATIME, MTIME))
    up = ("--recursive", "--from-to=LocalBlob", "--preserve-posix-properties")
    azcopy(tmp_path, "copy", tmp_path / "from/*", container.url("by-azcopy", sas), *up)
    haul("cp", container.az("by-azcopy/"), "haul/", "--preserve", "all")
    mode, _, modified = looks(tmp_path / "haul/a")
    assert (mode, modified) == (MODE, MTIME)


def test_python_takes_the_same_options(
    emulator: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in emulator.env.items():
        monkeypatch.setenv(name, value)
    container = emulator.container()
    file = make_file(tmp_path / "a")
    haulage.copy(file, container.az("a"), tier="cool", preserve=["mode", "times"])
    assert found(container.client.get_blob_client("a"))[1:] == ("Cool", True)
    haulage.copy(container.az("a"), tmp_path / "back", preserve="mode,times")
    assert looks(tmp_path / "back") == (MODE, ATIME, MTIME)
    container.client.get_blob_client("a").set_blob_tags(TAGS)
    haulage.copy(container.az("a"), container.az("b"), tags=False, tier="default")
    assert found(container.client.get_blob_client("b")) == ({}, "Hot", False)
    for wrong in ({"tier": "two words"}, {"preserve": "acl"}):
        with pytest.raises(haulage.UsageError):
            haulage.copy(file, container.az("c"), **wrong)  # type: ignore[arg-type]
