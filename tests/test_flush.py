"""What is said to be done is on the disk, and what a power failure may have emptied is copied again."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Container, Endpoint
from sentences import Sentence


def test_files_are_on_the_disk_before_the_summary(haul: Haul, tmp_path: Path) -> None:
    trees.make(tmp_path / "tree", files=5, awkward=False)
    log = tmp_path / "calls"
    line = ["strace", "-f", "-qq", "-e", "trace=renameat,renameat2,syncfs,unlinkat,write", "-o", str(log)]
    for flush in (True, False):
        back = f"back-{flush}"
        haul("cp", "tree", back, *([] if flush else ["--no-flush"]), wrap=line)
        seen = [call.split(None, 1)[1] for call in log.read_text().splitlines()]
        named = max(at for at, call in enumerate(seen) if call.startswith("rename"))
        told = min(at for at, call in enumerate(seen) if "copied 6" in call)
        # In two lines where another thread has called something meanwhile.
        done = re.compile(r"(syncfs\(|<\.\.\. syncfs resumed>).*= 0")
        flushed = [at for at, call in enumerate(seen) if done.fullmatch(call)]
        assert named < told
        assert [named < at < told for at in flushed] == ([True] if flush else [])
        assert not (tmp_path / back / trees.MARK).exists()


def test_what_another_boot_has_left_is_copied_again(haul: Haul, container: Container, tmp_path: Path) -> None:
    """As after a power failure: a file has its name, its size and its time, and zeroes for its bytes."""
    trees.make(tmp_path / "tree", files=5, awkward=False)
    haul("cp", "tree", container.az("tree/"))
    haul("cp", container.az("tree/"), "back")
    victim = next(
        path for path in sorted((tmp_path / "back").rglob("*")) if path.is_file() and path.stat().st_size
    )
    content, times = victim.read_bytes(), victim.stat()
    victim.write_bytes(bytes(len(content)))
    os.utime(victim, ns=(times.st_atime_ns, times.st_mtime_ns))
    # Nothing tells.
    haul("cp", container.az("tree/"), "back")
    assert victim.read_bytes() != content
    # The mark of that boot does.
    (tmp_path / "back" / trees.MARK).write_text(f"another-boot {times.st_mtime_ns - 10**12}\n")
    went = haul("cp", container.az("tree/"), "back", "--json")
    assert went.summary["objects_done"] == 6
    assert victim.read_bytes() == content
    assert not (tmp_path / "back" / trees.MARK).exists()
    assert haul("cp", container.az("tree/"), "back", "--json").summary["objects_done"] == 0


def test_a_mover_that_was_killed_leaves_no_doubt(haul: Haul, container: Container, tmp_path: Path) -> None:
    """The system still has what it wrote: nothing is copied twice."""
    trees.make(tmp_path / "tree", files=6)
    haul("cp", "tree", container.az("tree/"))
    haul("cp", container.az("tree/"), "back")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (tmp_path / "back" / trees.MARK).write_text(f"{boot} 1\n")
    assert haul("cp", container.az("tree/"), "back", "--json").summary["objects_done"] == 0
    assert not (tmp_path / "back" / trees.MARK).exists()


def test_the_mark_goes_with_the_run_that_finishes(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    """Also if the folder was not there at first, so that another run names it in another way."""
    endpoint = start_emulator(link="rtt=5ms,total=40mbit")
    container, haul = endpoint.container(), haul_at(endpoint)
    (tmp_path / "tree").mkdir()
    for name in ("one", "two"):
        trees.random_file(tmp_path / "tree" / name, 4 << 20)
    haul("cp", "tree/", container.az("tree/"))
    for back in ("back", "deep/er/back", "slash/"):
        line = ("cp", container.az("tree/"), back, "--json", "--block-size", "256KiB")
        haul.kill_after_blocks(4, *line, api="GetBlob")
        assert list(tmp_path.rglob(trees.MARK)) == [tmp_path / back / trees.MARK]
        haul(*line)
        assert not list(tmp_path.rglob(trees.MARK))


@pytest.mark.parametrize(
    ("marked", "first"), [("back", "tree/below/1"), ("back/below", "tree/"), (".", "tree/below/")]
)
def test_a_copy_of_a_part_leaves_the_doubt_about_the_rest(
    haul: Haul, container: Container, tmp_path: Path, marked: str, first: str
) -> None:
    """Wherever the mark lies: what was emptied is copied by the run that reaches it, and once."""
    part = first.removeprefix("tree/")
    names = ["1", "2"] if marked == "back/below" else ["../above", "1", "2"]
    for name in names:
        container.client.upload_blob(os.path.normpath(f"tree/below/{name}"), b"content")
    container.client.upload_blob("other/file", b"other")
    haul("cp", container.az("tree/"), "back")
    files = [tmp_path / "back" / "below" / name for name in names]
    for file in files:
        times = file.stat()
        file.write_bytes(bytes(7))
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    (tmp_path / marked / trees.MARK).write_text("another-boot 1\n")
    haul("cp", container.az("other/"), "back")
    haul("cp", container.az("other/file"), "back/file-too")
    assert all(file.read_bytes() == bytes(7) for file in files)
    wanted = [file for file in files if os.path.relpath(file, tmp_path / "back").startswith(part)]
    for once in (len(wanted), 0):
        went = haul("cp", container.az(first), f"back/{part}", "--json")
        assert went.summary["objects_done"] == once
    assert [file for file in files if file.read_bytes() == b"content"] == wanted
    for once in (len(files) - len(wanted), 0):
        assert haul("cp", container.az("tree/"), "back", "--json").summary["objects_done"] == once
    haul("clean", ".")
    assert not list(tmp_path.rglob(trees.MARK))


def test_clean_removes_a_mark_that_casts_no_doubt(haul: Haul, tmp_path: Path, sentence: Sentence) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    mark = tmp_path / "back" / trees.MARK
    mark.parent.mkdir()
    mark.write_text(f"{boot} 1\n")
    assert haul("clean", "back", "--dry-run").text.split() == [f"back/{trees.MARK}"]
    assert "removed 1 leftover" in haul("clean", "back").stderr
    assert not mark.exists()
    mark.write_text("another-boot 1\n")
    (mark.parent / "file").write_text("perhaps emptied")
    said = haul("clean", "back", code=1)
    sentence(said.stderr)
    assert said.hints
    assert mark.exists()


def test_the_mark_is_no_content(haul: Haul, container: Container, tmp_path: Path) -> None:
    trees.make(tmp_path / "tree", files=2)
    (tmp_path / "tree" / trees.MARK).write_text("another-boot 1\n")
    haul("cp", "tree", container.az("tree/"))
    assert not any(name.endswith(trees.MARK) for name in container.contents())
