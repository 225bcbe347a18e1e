"""Local destinations that are no plain files or folders: named, and below a folder."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import trees
from command import Haul
from endpoints import Container, Endpoint
from hostile.trees_ground import NODES, block_device, everything, fifo, listening_socket, snapshot
from hostile.trees_runs import Watched, in_shell, outcomes, reader_of, run

CONTENT = b"what was sent\n"


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    """A container with one blob, `x`."""
    container = emulator.container()
    container.client.upload_blob("x", CONTENT)
    return container


def kind_of(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return stat.S_IFMT(found.st_mode), found.st_rdev


@pytest.mark.parametrize("overwrite", ["if-different", "always"])
@pytest.mark.parametrize("node", ["null", "zero"])
def test_a_device_as_destination_is_written_and_stays_a_device(
    node: str, overwrite: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A character device like `/dev/null` as destination: written as a stream; it is a device afterwards."""
    NODES[node](tmp_path / "device")
    before = kind_of(tmp_path / "device")
    run(haul, "cp", container.az("x"), "device", "--overwrite", overwrite)
    assert kind_of(tmp_path / "device") == before
    assert not list(tmp_path.glob(".haul*"))


def test_dev_null_takes_what_it_is_given(haul: Haul, container: Container) -> None:
    """`/dev/null` itself as destination: success, also for megabytes."""
    container.client.upload_blob("large", bytes(20_000_000))
    run(haul, "cp", container.az("x"), "/dev/null")
    run(haul, "cp", container.az("large"), "/dev/null")


@pytest.mark.parametrize("place", ["/dev/full", "here"])
def test_a_full_device_is_a_failure(place: str, haul: Haul, container: Container, tmp_path: Path) -> None:
    """`/dev/full` as destination: an error (1), and still a device."""
    if place == "here":
        NODES["full"](tmp_path / "full")
    file = Path(place) if place != "here" else tmp_path / "full"
    before = kind_of(file)
    run(haul, "cp", container.az("x"), file, codes=(1,)).says("full")
    assert kind_of(file) == before


@pytest.mark.parametrize("file", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_any_name(file: str, haul: Haul, container: Container) -> None:
    """`/dev/stdout` and `/dev/fd/1` as destination: the bytes, and nothing else, on standard output."""
    script = f"haul cp {container.az('x')} {file} | cat"
    assert in_shell(haul, script).stdout == CONTENT
    if not file.startswith("/proc"):
        assert in_shell(haul, f"haul cp {container.az('x')} {file} > out; cat out").stdout == CONTENT
    assert in_shell(haul, f"haul cp {container.az('x')} /dev/fd/7 7> out; cat out").stdout == CONTENT


def test_a_process_as_destination(haul: Haul, container: Container) -> None:
    """`>(wc -c)` as destination: every byte reaches the process."""
    container.client.upload_blob("large", bytes(20_000_000))
    waiting = "until [ -s count ]; do sleep 0.02; done; cat count"
    script = f"haul cp {container.az('large')} >(wc -c > count) || exit; {waiting}"
    assert in_shell(haul, script).stdout.split() == [b"20000000"]


def test_a_fifo_as_destination_is_written_and_stays_a_fifo(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A FIFO as destination: whoever reads it gets the bytes; it is a FIFO afterwards."""
    fifo(tmp_path / "pipe")
    with reader_of(tmp_path / "pipe") as read:
        run(haul, "cp", container.az("x"), "pipe")
        assert read() == CONTENT
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)
    assert everything(tmp_path) == ["pipe"]


def test_a_fifo_that_nobody_reads_waits_for_ctrl_c(haul: Haul, container: Container, tmp_path: Path) -> None:
    """A FIFO as destination that nobody reads: it waits, and Ctrl-C ends it."""
    fifo(tmp_path / "pipe")
    watched = Watched(haul, "cp", container.az("x"), "pipe")
    assert not watched.ends_within(0.7), f"it did not wait: {watched.finish(codes=range(256)).said}"
    watched.interrupt()
    watched.finish(timeout=5, codes=(130,))
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)


def test_a_reader_that_goes_away_ends_it(haul: Haul, container: Container) -> None:
    """A reader that closes the pipe early: it ends at once, without a traceback."""
    container.client.upload_blob("large", bytes(20_000_000))
    in_shell(haul, f"haul cp {container.az('large')} >(head -c 10 > /dev/null)", codes=(0, 1))
    in_shell(haul, f"haul cp {container.az('large')} /dev/stdout | head -c 10 > /dev/null")


@pytest.mark.parametrize("make", [listening_socket, block_device])
@pytest.mark.parametrize("overwrite", ["if-different", "always"])
def test_sockets_and_disks_are_never_replaced(
    make: Callable[[Path], None], overwrite: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A socket or a block device as destination: refused, and still there."""
    make(tmp_path / "node")
    before = kind_of(tmp_path / "node")
    # In a user namespace it is `/dev/null` that stands for a disk.
    codes = (0, 1, 2) if before[0] == stat.S_IFCHR else (1, 2)
    run(haul, "cp", container.az("x"), "node", "--overwrite", overwrite, codes=codes)
    assert kind_of(tmp_path / "node") == before


@pytest.mark.parametrize("overwrite", ["if-different", "always"])
def test_nodes_below_the_destination_are_never_replaced(
    overwrite: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """Blobs named like sockets, FIFOs and devices below the destination: those fail, the others come."""
    back = tmp_path / "back"
    (back / "folder").mkdir(parents=True)
    for name, make in NODES.items():
        make(back / "folder" / name)
        container.client.upload_blob(f"folder/{name}", CONTENT)
    before = {name: kind_of(back / "folder" / name) for name in NODES}
    ran = run(haul, "cp", container.az(""), "back", "--overwrite", overwrite, codes=(1,))
    ran.says(*NODES)
    assert {name: kind_of(back / "folder" / name) for name in NODES} == before
    assert (back / "x").read_bytes() == CONTENT
    assert everything(back) == sorted(["x", "folder", *(f"folder/{name}" for name in NODES)])


@pytest.mark.parametrize("name", ["null", "fifo", "socket"])
def test_a_tree_does_not_go_into_a_node(name: str, haul: Haul, container: Container, tmp_path: Path) -> None:
    """A whole prefix onto a device, FIFO or socket: refused, for a folder is needed; the node stays."""
    NODES[name](tmp_path / "node")
    container.client.upload_blob("p/a", CONTENT)
    before = kind_of(tmp_path / "node")
    run(haul, "cp", container.az("p/"), "node", codes=(1, 2, 4))
    assert kind_of(tmp_path / "node") == before
    assert not list(tmp_path.glob(".haul*"))


@pytest.mark.parametrize("overwrite", ["if-different", "always", "never"])
@pytest.mark.parametrize("target", ["outside/victim", "outside/not-there", "here", "/dev/null"])
def test_a_link_as_destination_is_refused(
    target: str, overwrite: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A symbolic link as destination file: refused with a hint; neither it nor what it names changes."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "victim").write_bytes(b"victim")
    (tmp_path / "here").write_bytes(b"here")
    (tmp_path / "link").symlink_to(target)
    before = snapshot(tmp_path)
    ran = run(haul, "cp", container.az("x"), "link", "--overwrite", overwrite, codes=(0, 1, 2))
    # Following a link to a device replaces nothing, and `never` keeps whatever is there.
    if target != "/dev/null" and overwrite != "never":
        assert ran.code != 0, ran.said
        assert ran.has_hint
    assert snapshot(tmp_path) == before


def test_links_below_the_destination_are_refused(haul: Haul, container: Container, tmp_path: Path) -> None:
    """Links below the destination folder, for files and folders, in and out: refused one by one; the others
    come.
    """
    back, outside = tmp_path / "back", tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_bytes(b"victim")
    back.mkdir()
    links = {"file": "../outside/victim", "new": "../outside/new", "folder": "../outside", "round": "round"}
    for name, target in links.items():
        (back / name).symlink_to(target)
    for name in ("file", "new", "folder/victim", "folder/deep/er", "round/x", "good"):
        container.client.upload_blob(f"p/{name}", CONTENT)
    before = snapshot(outside)
    ran = run(haul, "cp", container.az("p/"), "back", "--overwrite", "always", "--json", codes=(1,))
    assert sorted(outcomes(ran)) == ["copied", *["failed"] * 5]
    assert snapshot(outside) == before
    assert {name: str((back / name).readlink()) for name in links} == links
    assert (back / "good").read_bytes() == CONTENT


@pytest.mark.parametrize("name", ["link", "link/", "link/deep/er/", "link/x"])
def test_a_link_to_a_folder_that_is_named_is_followed(
    name: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A link to a folder, named as the destination or before its last part: followed, for it was meant."""
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("folder")
    run(haul, "cp", container.az("x"), name)
    place = {"link/deep/er/": "deep/er/x"}.get(name, "x")
    assert trees.contents(tmp_path / "folder") == {place: CONTENT}
    assert (tmp_path / "link").is_symlink()


def test_a_folder_where_a_file_should_come_stays(haul: Haul, container: Container, tmp_path: Path) -> None:
    """A folder where a file should come, and the reverse: those fail by name, what is there stays, the others
    come.
    """
    back = tmp_path / "back"
    (back / "folder" / "kept").mkdir(parents=True)
    (back / "folder" / "kept" / "file").write_bytes(b"kept")
    (back / "file").write_bytes(b"kept")
    for name in ("folder", "folder/kept", "file/below", "good"):
        container.client.upload_blob(f"p/{name}", CONTENT)
    ran = run(haul, "cp", container.az("p/"), "back", "--overwrite", "always", codes=(1,))
    ran.says("back/folder", "back/folder/kept", "back/file")
    assert trees.contents(back) == {"folder/kept/file": b"kept", "file": b"kept", "good": CONTENT}
    assert not list(back.rglob(".haul*"))


def test_the_other_names_of_a_destination_keep_their_content(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A destination file with a second name (hard link) elsewhere: that keeps its content."""
    (tmp_path / "victim").write_bytes(b"victim")
    (tmp_path / "file").hardlink_to(tmp_path / "victim")
    run(haul, "cp", container.az("x"), "file", "--overwrite", "always")
    assert (tmp_path / "victim").read_bytes() == b"victim"
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("onto", ["tree/file", "tree/", "same", "linked/file", "./tree/../tree/file"])
@pytest.mark.parametrize("overwrite", ["if-different", "always"])
def test_a_file_copied_onto_itself_keeps_its_content(
    onto: str, overwrite: str, haul: Haul, tmp_path: Path
) -> None:
    """A local file copied onto itself, by the same or another of its names: its content stays."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"content" * 100_000)
    (tmp_path / "same").hardlink_to(tmp_path / "tree" / "file")
    (tmp_path / "linked").symlink_to("tree")
    run(haul, "cp", "tree/file", onto, "--overwrite", overwrite, codes=(0, 1, 2))
    assert (tmp_path / "tree" / "file").read_bytes() == b"content" * 100_000
    assert (tmp_path / "same").read_bytes() == b"content" * 100_000
    assert not list(tmp_path.rglob(".haul*"))


@pytest.mark.parametrize("into", ["tree/copy/", "tree", "tree/folder/", "linked/copy/"])
def test_a_tree_copied_into_itself_ends(into: str, haul: Haul, tmp_path: Path) -> None:
    """A local tree copied into itself: it ends, and what was there keeps its content."""
    expected = trees.contents(trees.make(tmp_path / "tree", files=20, awkward=False))
    (tmp_path / "tree" / "folder").mkdir()
    (tmp_path / "linked").symlink_to("tree")
    run(haul, "cp", "tree", into, codes=(0, 1, 2))
    found = trees.contents(tmp_path / "tree")
    assert {name: found[name] for name in expected} == expected
    assert len(found) <= 2 * len(expected)
