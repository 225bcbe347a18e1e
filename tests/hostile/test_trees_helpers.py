"""The tools of these tests see what they are there to see: a test that cannot fail shows nothing."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostile.trees_arena import BLOBS, HERE, LEFTOVER, Judge
from hostile.trees_arguments import shrunk
from hostile.trees_faults import Call, between
from hostile.trees_ground import NODES, Entry, closed, entry_of, snapshot
from hostile.trees_runs import AS_A_USER, each_with_one, only, peak_of, unseen
from hostile.trees_swap import swapping

FILES: dict[str, Entry] = {
    name: (name,)
    for name in ("etc/passwd", f"{HERE[1:]}/file-1", f"{HERE[1:]}/tree/{LEFTOVER}", f"data/{LEFTOVER}")
}
STORED = {container: dict.fromkeys(blobs, "etag") for container, blobs in BLOBS.items()}


@pytest.mark.parametrize(
    ("line", "change", "allowed"),
    [
        ("cp az://mine/x-1 new", "+outer/here/new", True),
        ("cp az://mine/ new", "+outer/here/new/x-1", True),
        ("cp az://mine/ ../../new/er", "+new/er/x-1", True),
        ("cp az://mine/x-1 file-1", "~outer/here/file-1", True),
        ("cp az://mine/x-1 new --record=run", "+outer/here/run", True),
        ("cp az://mine/x-1 new", "+outer/here/other", False),
        ("cp az://mine/ .", "~outer/here/file-1", False),
        ("cp az://mine/ .", "-outer/here/file-1", False),
        ("cp az://mine/ az:demo/x", "+outer/here/az:demo/x", False),
        ("cp az://mine/ ..", "+etc/new", False),
        ("ls .", "+outer/here/new", False),
        ("mb new", "+outer/here/new", False),
        ("rm file-1", "-outer/here/file-1", False),
        ("clean tree", f"-outer/here/tree/{LEFTOVER}", True),
        ("clean ..", f"-outer/here/tree/{LEFTOVER}", True),
        ("clean tree", f"-data/{LEFTOVER}", False),
        ("clean .", "-outer/here/file-1", False),
        ("rm -r az://mine/p/", "-mine:p/x", True),
        ("rm -r az://mine/p", "-mine:p/x", True),
        ("rm -r AZ://mine", "-mine:p/x", True),
        ("rm -r az://mine/p", "-mine:p2", False),
        ("rm -r az://mine/p/", "-theirs:secret", False),
        ("rm -r az://mine/../theirs", "-theirs:secret", False),
        ("rm -r az://", "-mine:p/x", False),
        ("rm -r http://127.0.0.1:80/devstoreaccount1/mine/p%2Fx", "-mine:p/x", True),
        ("rm -r http://127.0.0.1:80/devstoreaccount1/mine/%2e%2e/theirs/", "-theirs:secret", False),
        ("ls az://mine", "-mine:p/x", False),
        ("cp file-1 az://mine/new", "+mine:new", True),
        ("cp file-1 az://mine/new", "~mine:p/x", False),
        ("rb --force az://mine", "-mine", True),
        ("rb --force az://mine/p", "-mine", False),
        ("rm -r az://mine", "-mine", False),
        ("rb --force az://mine", "-theirs", False),
        ("mb az://new-one", "+new-one", True),
    ],
)
def test_the_judge_knows_what_a_line_may_change(line: str, change: str, allowed: bool) -> None:
    files, blobs = dict(FILES), {container: dict(stored) for container, stored in STORED.items()}
    how, what = change[0], change[1:]
    container, colon, key = what.partition(":") if "/az:" not in what else (what, "", "")
    here: dict[str, object] = files if "/" in container else blobs.get(container, {}) if colon else blobs  # type: ignore[assignment]
    name = key or what
    if how == "-":
        del here[name]
    else:
        here[name] = {} if here is blobs else ("changed",) if here is files else "changed"
    found = list(Judge([word.encode() for word in line.split()]).changes((FILES, STORED), (files, blobs)))
    assert (found == []) == allowed, found


def test_a_line_is_shrunk_to_what_matters() -> None:
    words = [b"cp", b"--json", b"bad", b"x", b"--cap", b"worse"]
    assert shrunk(words, lambda fewer: b"bad" in fewer and b"worse" in fewer) == [b"bad", b"worse"]
    assert each_with_one(["a", "b"], ["1", "2"]) == [("a", "1"), ("a", "2"), ("b", "1")]


def test_calls_fail_where_a_test_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    seen: list[Call] = []

    def decide(call: Call) -> int | None:
        if call.path == str(tmp_path / "file"):
            seen.append(call)
            return errno.EIO
        return None

    with between(["read", "openat"], decide) as faulty:
        ran = subprocess.run(
            [*faulty, "/bin/cat", tmp_path / "file"], capture_output=True, text=True, check=False
        )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert os.strerror(errno.EIO) in ran.stderr
    assert [call.name for call in seen] == ["openat"]


def test_only_one_folder_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    for place, code in ((tmp_path / "here", 0), (tmp_path, 1), (Path("/etc"), 1)):
        touched = subprocess.run(
            [*only(tmp_path / "here"), "touch", place / "x"], capture_output=True, check=False
        )
        assert touched.returncode == code, touched.stderr


def test_a_user_does_not_see_what_is_closed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with closed(tmp_path / "file"):
        ran = subprocess.run([*AS_A_USER, "cat", tmp_path / "file"], capture_output=True, check=False)
    assert ran.returncode == 1


def test_nodes_are_what_they_are_called_and_changes_are_seen(tmp_path: Path) -> None:
    for name, make in NODES.items():
        make(tmp_path / name)
    first = snapshot(tmp_path)
    assert len({entry_of(tmp_path / name) for name in NODES}) >= 4
    (tmp_path / "fifo").chmod(0o600)
    assert {name for name, entry in snapshot(tmp_path).items() if entry != first[name]} == {"fifo"}


def test_the_swapper_swaps_and_puts_back(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    seen: set[bool] = set()
    with swapping(tmp_path / "folder", tmp_path / "link") as swapper:
        while len(seen) < 2:
            seen.add((tmp_path / "folder").is_symlink())
        assert swapper.stop() > 0
    assert (tmp_path / "link").is_symlink()


def test_memory_is_measured() -> None:
    script = "x = bytearray(50_000_000); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert 50_000_000 < peak_of(process.pid) < 150_000_000


def test_what_a_terminal_obeys_or_hides_is_seen() -> None:
    assert unseen("a\tb\n\x1b\u202e\u200b\x9b\u2028é中") == [
        "U+0009",
        "U+001B",
        "U+202E",
        "U+200B",
        "U+009B",
        "U+2028",
    ]
