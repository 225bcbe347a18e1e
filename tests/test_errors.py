"""What goes wrong is said in one line, with the right exit code, no traceback and no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Haul, Result, in_own_mounts
from endpoints import Container, connection_string

WRONG_KEY = "d3JvbmcgYnV0IHdlbGwgZm9ybWVkIGtleSBmb3IgdGVzdHM="


def assert_one_line(result: Result, *words: str) -> None:
    assert len(result.error_lines) == 1, result.stderr
    for word in words:
        assert word in result.error_lines[0], result.stderr


def test_cp_missing_file(haul: Haul, container: Container) -> None:
    said = haul("cp", "no-such-file", container.az("a"), "--quiet", code=4)
    assert_one_line(said, "no-such-file", "hint:")


def test_cp_missing_blob(haul: Haul, container: Container) -> None:
    said = haul("cp", container.az("no-such-blob"), "back", "--quiet", code=4)
    assert_one_line(said, "no-such-blob", "hint:")
    assert not (haul.folder / "back").exists()


def test_cp_to_an_unknown_container(haul: Haul, container: Container) -> None:  # noqa: ARG001
    (haul.folder / "a").write_bytes(b"a")
    said = haul("cp", "a", "az://no-such-container/a", "--quiet", code=4)
    assert_one_line(said, "no-such-container", "hint:", "haul mb")


def test_cp_with_a_wrong_key(container: Container, tmp_path: Path) -> None:
    env = {"AZURE_STORAGE_CONNECTION_STRING": connection_string(container.endpoint.url, WRONG_KEY)}
    haul = Haul(tmp_path, env, [WRONG_KEY])
    (tmp_path / "a").write_bytes(b"a")
    assert_one_line(haul("cp", "a", container.az("a"), "--quiet", code=3), "hint:")


def test_cp_without_credentials(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    # Nothing says which account: what to type is wrong, not who one is.
    said = Haul(tmp_path)("cp", "a", "az://data/a", "--quiet", code=2)
    assert_one_line(said, "hint:", "AZURE_STORAGE")


def test_cp_where_nobody_listens(tmp_path: Path) -> None:
    env = {"AZURE_STORAGE_CONNECTION_STRING": connection_string("http://127.0.0.1:9/devstoreaccount1")}
    (tmp_path / "a").write_bytes(b"a")
    said = Haul(tmp_path, env)("cp", "a", "az://data/a", "--quiet", code=1)
    assert_one_line(said, "127.0.0.1:9", "hint:")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--block-size", "8"], ["--block-size", "8MiB"]),
        (["--stall-timeout", "30"], ["--stall-timeout", "30s"]),
        (["--concurrency", "0"], ["--concurrency"]),
        (["--checksum", "sha1"], ["crc64"]),
        (["--no-such-flag"], ["--no-such-flag"]),
    ],
)
def test_cp_with_a_wrong_option(tmp_path: Path, args: list[str], words: list[str]) -> None:
    said = Haul(tmp_path)("cp", "a", "b", *args, code=2)
    assert_one_line(said, "hint:", *words)


def test_cp_with_json_says_the_error_in_json_too(tmp_path: Path) -> None:
    said = Haul(tmp_path)("cp", "a", "ftp://host/a", "--json", code=2)
    assert said.events[-1]["kind"] == "usage"
    assert said.events[-1]["exit_code"] == 2


def test_cp_some_missing_names_them_and_copies_the_rest(haul: Haul, container: Container) -> None:
    (haul.folder / "a").write_bytes(b"a")
    said = haul("cp", "a", "no-such-file", container.az("into/"), code=1)
    assert "no-such-file" in said.stderr


def test_cp_to_a_full_disk(haul: Haul, container: Container) -> None:
    container.client.upload_blob("large", bytes(4 << 20))
    (haul.folder / "disk").mkdir()
    small = in_own_mounts("mount -t tmpfs -o size=1m tmpfs disk")
    said = haul("cp", container.az("large"), "disk/large", "--quiet", code=1, wrap=small)
    assert_one_line(said, "large", "space", "hint:")


def test_cp_to_a_read_only_folder(haul: Haul, container: Container) -> None:
    container.client.upload_blob("a", b"a")
    (haul.folder / "locked").mkdir()
    locked = in_own_mounts("mount --bind locked locked && mount -o remount,bind,ro locked")
    said = haul("cp", container.az("a"), "locked/a", "--quiet", code=3, wrap=locked)
    assert_one_line(said, "locked", "hint:")


def test_cp_to_a_folder_that_is_a_file(haul: Haul, container: Container) -> None:
    container.client.upload_blob("a", b"a")
    (haul.folder / "file").write_bytes(b"")
    assert_one_line(haul("cp", container.az("a"), "file/a", "--quiet", code=1), "file")
    assert (haul.folder / "file").read_bytes() == b""
