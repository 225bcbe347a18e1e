"""What is said to be done is on the disk, and what a power failure may have emptied is copied again."""

from __future__ import annotations

import os
from pathlib import Path

import trees
from command import Haul
from endpoints import Container


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
        flushed = [at for at, call in enumerate(seen) if call.startswith("syncfs") and call.endswith("= 0")]
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
    assert "removed 0 leftovers" in haul("clean", "back").stderr


def test_the_mark_is_no_content(haul: Haul, container: Container, tmp_path: Path) -> None:
    trees.make(tmp_path / "tree", files=2)
    (tmp_path / "tree" / trees.MARK).write_text("another-boot 1\n")
    haul("cp", "tree", container.az("tree/"))
    assert not any(name.endswith(trees.MARK) for name in container.contents())
