"""Local sources that are no plain files: named, and within a tree."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import trees
from command import Haul
from endpoints import Container, Endpoint
from hostile.trees_ground import NODES, fifo, listening_socket, zero_device
from hostile.trees_runs import MIB, Watched, feeding, in_shell, run

#: Lists every file of /proc or /sys in reach of a test that says another size than it has.
KERNEL_FILES = (
    "/proc/self/status",
    "/proc/self/maps",
    "/proc/cpuinfo",
    "/proc/sys/kernel/ostype",
    "/sys/kernel/mm/transparent_hugepage/enabled",
)


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    return emulator.container()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with one file, for others to stand beside."""
    folder = tmp_path / "tree"
    (folder / "folder").mkdir(parents=True)
    (folder / "folder" / "file").write_bytes(b"content")
    return folder


@pytest.mark.parametrize(
    "script",
    [
        "haul cp <(echo hi) {url}",
        "mkfifo pipe; echo hi > pipe & haul cp pipe {url}",
        "mkfifo pipe; echo hi > pipe & haul cp - {url} < pipe",
        "echo hi | haul cp /dev/stdin {url}",
        "echo hi | haul cp /dev/fd/0 {url}",
        "echo hi | haul cp /proc/self/fd/0 {url}",
        "echo hi > file; haul cp /dev/fd/7 {url} 7< file",
        "mkfifo pipe; ln -s pipe link; echo hi > pipe & haul cp link {url}",
    ],
)
def test_a_pipe_that_is_named_is_read_to_its_end(script: str, haul: Haul, container: Container) -> None:
    """A FIFO, `<(echo hi)`, `/dev/stdin`, `/dev/fd/N` as source: read as a stream, to the last byte."""
    in_shell(haul, script.format(url=container.az("x")))
    assert container.contents() == {"x": b"hi\n"}


def test_a_pipe_of_megabytes_is_read_to_its_end(haul: Haul, container: Container) -> None:
    """A process that writes 20 MB into a FIFO: all of it arrives."""
    in_shell(haul, f"haul cp <(head -c 20000000 /dev/zero | tr '\\0' x) {container.az('x')}")
    assert container.contents() == {"x": b"x" * 20_000_000}


def test_a_pipe_into_which_nobody_writes_waits_for_ctrl_c(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A FIFO without a writer as source: it waits, as `cat` does, and Ctrl-C ends it; no empty object."""
    fifo(tmp_path / "pipe")
    watched = Watched(haul, "cp", "pipe", container.az("x"))
    assert not watched.ends_within(0.7), f"it did not wait: {watched.finish(codes=range(256)).said}"
    watched.interrupt()
    watched.finish(timeout=5, codes=(130,))
    assert container.contents() == {}


def test_a_writer_that_stops_in_between_does_not_end_the_stream(
    haul: Haul, container: Container, tmp_path: Path
) -> None:
    """A FIFO whose writer pauses: the stream ends when the writer does, not before."""
    fifo(tmp_path / "pipe")
    with feeding(tmp_path / "pipe", "printf 'one '; sleep 0.4; printf 'two '; sleep 0.4; printf three"):
        run(haul, "cp", "pipe", container.az("x"))
    assert container.contents() == {"x": b"one two three"}


@pytest.mark.parametrize("device", ["/dev/zero", "here"])
def test_a_device_without_end_is_a_stream_without_end(
    device: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """`/dev/zero` as source: sent until Ctrl-C, in bounded memory; never "0 B; every byte checked"."""
    if device == "here":
        zero_device(tmp_path / "zero")
        device = "zero"
    watched = Watched(haul, "cp", device, container.az("x"), "--cap", "400mbit", "--block-size", "1MiB")
    assert not watched.ends_within(1.0), f"it ended: {watched.finish(codes=range(256)).said}"
    watched.interrupt()
    watched.finish(timeout=5, codes=(130,))
    assert container.contents() == {}


def test_a_null_device_is_an_empty_stream(haul: Haul, container: Container) -> None:
    """`/dev/null` as source: an empty object."""
    run(haul, "cp", "/dev/null", container.az("x"))
    assert container.contents() == {"x": b""}


@pytest.mark.parametrize("file", KERNEL_FILES)
def test_a_file_of_the_kernel_that_is_named_is_read_to_its_end(
    file: str, haul: Haul, container: Container
) -> None:
    """Files of `/proc` and `/sys`, which say 0 or 4,096 bytes, as source: read as a stream."""
    run(haul, "cp", file, container.az("x"))
    (content,) = container.contents().values()
    first = Path(file).read_bytes().split()[0]
    assert content.split()[:1] == [first] or file == "/proc/self/maps"
    assert len(content) > 0


def test_files_of_the_kernel_in_a_tree_are_not_taken_for_empty_ones(haul: Haul, container: Container) -> None:
    """A folder of `/proc` as source: what says 0 bytes and holds more is named, never stored as empty."""
    folder = Path("/proc/sys/kernel/random")
    there = [path.name for path in folder.iterdir() if path.stat().st_mode & 0o444 and path.read_bytes()]
    assert "boot_id" in there
    ran = run(haul, "cp", folder, container.az(""), codes=(0, 1, 2, 4, 6))
    found = container.contents()
    for name in there:
        assert found.get(name) != b"", f"{name} became an empty object"
        if name not in found:
            ran.says(name)


@pytest.mark.parametrize("file", ["/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled", "pipe"])
@pytest.mark.parametrize("way", ["there", "back"])
def test_verify_does_not_call_a_stream_equal_to_an_empty_object(
    file: str, way: str, haul: Haul, container: Container, tmp_path: Path
) -> None:
    """`verify /proc/self/status` with an empty object: not equal."""
    container.client.upload_blob("empty", b"")
    fifo(tmp_path / "pipe")
    names = [file, container.az("empty")]
    if way == "back":
        names.reverse()
    with feeding(tmp_path / "pipe", "echo hi"):
        run(haul, "verify", *names, codes=(1, 2, 5, 6))


def test_a_socket_that_is_named_is_refused(haul: Haul, container: Container, tmp_path: Path) -> None:
    """A socket as source: refused by its name."""
    listening_socket(tmp_path / "socket")
    run(haul, "cp", "socket", container.az("x"), codes=(1, 2)).says("socket")
    assert container.contents() == {}


@pytest.mark.parametrize("verb", ["cp", "verify", "plan", "ls", "du", "clean"])
@pytest.mark.parametrize("how", ["skip", "follow"])
def test_what_is_no_file_in_a_tree_is_left_out_and_named(
    verb: str, how: str, haul: Haul, container: Container, tree: Path
) -> None:
    """Sockets, FIFOs and devices in a tree: left out and named, never opened; the rest is copied."""
    for name, make in NODES.items():
        make(tree / f"{name}-node")
        if how == "follow":
            (tree / f"{name}-link").symlink_to(f"{name}-node")
    container.client.upload_blob("folder/file", b"content")
    if verb in ("ls", "du", "clean"):
        ran = run(haul, verb, "tree", codes=(0, 1))
    else:
        ran = run(haul, verb, "tree", container.az(""), "--symlinks", how)
    if verb in ("cp", "verify"):
        ran.says(*(f"{name}-node" for name in NODES))
    assert container.contents() == {"folder/file": b"content"}


def test_a_sparse_file_arrives_with_its_holes(haul: Haul, container: Container, tmp_path: Path) -> None:
    """A sparse file: its holes are zeros, up and down again."""
    with (tmp_path / "sparse").open("wb") as file:
        file.seek(7 * MIB + 1)
        file.write(b"an island")
        file.truncate(24 * MIB + 5)
    run(haul, "cp", "sparse", container.az("x"))
    run(haul, "cp", container.az("x"), "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "sparse").read_bytes()
    run(haul, "verify", "sparse", container.az("x"))


def test_names_of_one_file_are_copied_each(haul: Haul, container: Container, tree: Path) -> None:
    """Hard links in a tree: each name is copied with the content."""
    os.link(tree / "folder" / "file", tree / "again")
    run(haul, "cp", "tree", container.az(""))
    assert container.contents() == {"folder/file": b"content", "again": b"content"}


def append(file: Path) -> None:
    with file.open("ab") as out:
        out.write(b"more")


def truncate(file: Path) -> None:
    os.truncate(file, 3)


def make_anew(file: Path) -> None:
    file.with_suffix(".new").write_bytes(b"another")
    file.with_suffix(".new").replace(file)


def make_fifo(file: Path) -> None:
    file.unlink()
    fifo(file)


def make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def make_link(file: Path) -> None:
    file.unlink()
    secret = file.parent.parent / "secret"
    secret.write_bytes(b"secret")
    file.symlink_to(secret)


CHANGES = (append, truncate, make_anew, make_fifo, make_folder, make_link, Path.unlink)


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_becomes_something_else_is_whole_or_named(
    change: Callable[[Path], None],
    tmp_path: Path,
    start_emulator: Callable[..., Endpoint],
    haul_at: Callable[[Endpoint], Haul],
) -> None:
    """A listed file that grows, shrinks, goes, or becomes a FIFO, folder or link before its turn: whole, or
    named.
    """
    endpoint = start_emulator(link="rtt=5ms,total=80mbit")
    haul, container = haul_at(endpoint), endpoint.container()
    last = trees.make(tmp_path / "tree", files=12, size=128 << 10, awkward=False) / "zz-last"
    last.write_bytes(bytes(128 << 10))
    how = ("--json", "--concurrency", "1")
    code, said = haul.after_requests(
        3, "PutBlob", lambda _: change(last), "cp", "tree", container.az(""), *how
    )
    assert code in (0, 1, 6), said[-2000:]
    found = container.contents()
    assert len(found) >= 13
    if "zz-last" in found:
        assert not last.is_symlink()
        assert found["zz-last"] == last.read_bytes()
    else:
        assert '"outcome":"failed"' in said or '"event":"warning"' in said
        assert "zz-last" in said


def test_what_never_ends_growing_ends(haul: Haul, container: Container, tmp_path: Path) -> None:
    """A log that is written without a pause: a named change of the source, or what it held at one moment."""
    log, stop = tmp_path / "log", threading.Event()
    log.write_bytes(b"line\n")

    def write() -> None:
        with log.open("ab", buffering=0) as out:
            while not stop.is_set():
                out.write(b"line\n" * 100)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        run(haul, "cp", "log", container.az("x"), codes=(0, 6))
    finally:
        stop.set()
        writer.join()
    assert log.read_bytes().startswith(container.contents().get("x", b""))
