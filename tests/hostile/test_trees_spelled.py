"""One place by several names, names that reach further than they say, and what is left beside the files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import endpoints
import haulage
from command import Haul
from endpoints import Container, Endpoint
from hostile.trees_ground import everything, fifo
from hostile.trees_runs import run


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    container = emulator.container()
    container.client.upload_blob("p/x", b"content of x")
    return container


@pytest.mark.parametrize("spelled", ["./same", "new/../same", "linked/same", "{}/same"])
def test_two_sources_never_become_one_file(spelled: str, tmp_path: Path) -> None:
    """Two sources for one destination that is spelled in two ways: the second fails by name; the first is
    there, whole.
    """
    (tmp_path / "linked").symlink_to(".")
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode() * 3)
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        pairs = [("a", "same"), ("b", spelled.format(tmp_path))]
        with pytest.raises(haulage.HaulageError) as caught:
            haulage.copy(pairs)
    finally:
        os.chdir(before)
    assert caught.value.summary is not None
    assert (caught.value.summary.objects_done, caught.value.summary.objects_failed) == (1, 1)
    assert (tmp_path / "same").read_bytes() == b"aaa"


@pytest.mark.parametrize("name", ["new/.", "./new/."])
def test_a_name_that_ends_in_a_dot_is_a_folder(
    name: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A destination that ends in `/.`: the file goes into that folder."""
    run(haul, "cp", container.az("p/x"), name)
    assert everything(tmp_path / "new") == ["x"]


def test_a_file_is_no_folder_by_a_dot(haul: Haul, container: Container, tmp_path: Path) -> None:
    """A destination `FILE/.`: refused; the file stays."""
    (tmp_path / "file").write_bytes(b"kept")
    run(haul, "cp", container.az("p/x"), "file/.", codes=(1, 2))
    assert (tmp_path / "file").read_bytes() == b"kept"


def test_links_are_followed_for_reading_alone(haul: Haul, container: Container, tmp_path: Path) -> None:
    """`--symlinks follow` and a link below the destination: refused; nothing changes where it leads to."""
    container.client.upload_blob("tree/sub/x", b"content of x")
    (tmp_path / "out").mkdir()
    (tmp_path / "back").mkdir()
    (tmp_path / "back" / "sub").symlink_to("../out")
    run(haul, "cp", container.az("tree/"), "back", "--symlinks", "follow", codes=(1, 2))
    assert not everything(tmp_path / "out")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(
    mode: int, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A destination that only some may read: replaced, it may be read by no others."""
    file = tmp_path / "x"
    file.write_bytes(b"former")
    file.chmod(mode)
    run(haul, "cp", container.az("p/x"), "x")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"content of x", mode)


def test_a_profile_that_is_a_pipe_is_refused(haul: Haul, container: Container, tmp_path: Path) -> None:
    """A FIFO as `--profile`: refused at once; it is not waited for."""
    fifo(tmp_path / "pipe")
    assert run(haul, "cp", container.az("p/x"), "x", "--profile", "./pipe", codes=(1, 2)).has_hint


def test_a_plan_that_misses_a_source_is_no_success(haul: Haul, container: Container, tmp_path: Path) -> None:
    """`plan` of several sources of which one is not there: names it, and exit code 1."""
    (tmp_path / "here").write_bytes(b"here")
    run(haul, "plan", "here", "not-here", container.az("p/"), codes=(1,)).says("not-here")


def test_what_tells_of_a_job_is_on_the_disk(haul: Haul, container: Container, tmp_path: Path) -> None:
    """A record and a receipt: flushed before they get their names, and their folder after."""
    log = tmp_path / "calls"
    line = ["strace", "-f", "-qq", "-e", "trace=fsync,rename,renameat,renameat2", "-o", str(log)]
    run(haul, "cp", container.az("p/x"), "x", "--record", "run.parquet", "--receipt", "told.jsonl", wrap=line)
    calls = [call.split(maxsplit=1)[1] for call in log.read_text().splitlines()]
    for name in ("run.parquet", "told.jsonl"):
        (named,) = (at for at, call in enumerate(calls) if f'{name}"' in call)
        assert calls[named - 1].startswith("fsync"), calls
        assert calls[named + 1].startswith("fsync"), calls


@pytest.mark.parametrize("link", [".haul", ".haul/tmp", ".haul/blobs"])
def test_an_emulator_does_not_empty_what_a_link_leads_to(link: str, haul: Haul, tmp_path: Path) -> None:
    """`emulate --store` with a link among its own folders: refused; what it leads to stays."""
    (tmp_path / "other" / "tmp").mkdir(parents=True)
    (tmp_path / "other" / "tmp" / "kept").write_bytes(b"kept")
    (tmp_path / "store" / link).parent.mkdir(parents=True)
    (tmp_path / "store" / link).symlink_to(tmp_path / "other")
    ran = run(haul, "emulate", "--listen", "127.0.0.1:0", "--store", "store", codes=(1, 2))
    ran.says("symbolic link")
    assert everything(tmp_path / "other") == ["tmp", "tmp/kept"]


@pytest.mark.parametrize("store", ["/", "//", "/tmp/..", ""])
def test_an_emulator_does_not_take_the_machine_for_its_blobs(store: str, haul: Haul) -> None:
    """`emulate --store` with nothing or the whole machine: refused."""
    run(haul, "emulate", "--listen", "127.0.0.1:0", "--store", store, codes=(1, 2))


@pytest.mark.parametrize("store", ["", "az://x", "S3:x"])
def test_an_emulator_in_python_takes_only_folders(store: str) -> None:
    """`haulage.Emulator(store=...)` with nothing or a URL: refused; no folder is made."""
    before = set(Path.cwd().iterdir())
    with pytest.raises(haulage.UsageError):
        haulage.Emulator(store=store)
    assert set(Path.cwd().iterdir()) == before


def test_an_emulator_writes_through_no_link(tmp_path: Path) -> None:
    """A link in a container of `emulate --store`: a blob behind it is stored beside, or refused; nothing
    outside changes.
    """
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_bytes(b"kept")
    with endpoints.emulator(tmp_path, store=str(tmp_path / "store")) as endpoint:
        container = endpoint.container()
        folder = tmp_path / "store" / container.client.container_name
        (folder / "link").symlink_to("../../outside")
        container.client.upload_blob("link/x", b"new")
        assert container.client.download_blob("link/x").readall() == b"new"
        container.client.delete_blob("link/x")
    assert (tmp_path / "outside" / "x").read_bytes() == b"kept"
