"""What stands in a hostile folder: nodes of every kind, odd links and names, and a look at what changed."""

from __future__ import annotations

import ctypes
import hashlib
import os
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: Names that a terminal obeys, that hide something, or that no XML or UTF-8 holds.
ODD_NAMES = (
    "new\nline",
    "escape\x1b[31mred",
    "bell\x07",
    "tab\there",
    "delete\x7f",
    "control\x9b31m",
    "right-to-left\u202egnp.exe",
    "isolate\u2066x\u2069",
    "mark\u200e\u061cx",
    "zero\u200bwidth\u200d",
    "\ufeffmark of byte order",
    "line\u2028paragraph\u2029",
    "soft\u00adhyphen",
)
NOT_UTF8 = os.fsdecode(b"not \xff\xfe utf-8")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listening_socket(path: Path) -> None:
    """Make a socket; its path may be longer than an address holds."""
    with socket.socket(socket.AF_UNIX) as server:
        folder = os.open(path.parent, os.O_PATH)
        try:
            server.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)


def null_device(path: Path) -> None:
    _device(path, "null", stat.S_IFCHR, os.makedev(1, 3))


def zero_device(path: Path) -> None:
    _device(path, "zero", stat.S_IFCHR, os.makedev(1, 5))


def full_device(path: Path) -> None:
    _device(path, "full", stat.S_IFCHR, os.makedev(1, 7))


def block_device(path: Path) -> None:
    """Make a block device behind which there is no disk: a loop device of a number that nobody uses."""
    _device(path, "null", stat.S_IFBLK, os.makedev(7, 250))


def _device(path: Path, same: str, kind: int, number: int) -> None:
    try:
        os.mknod(path, kind | 0o666, number)
    except PermissionError:
        # Not even root may make one in a user namespace; the one of the sandbox may stand elsewhere, too.
        path.touch()
        subprocess.run(["mount", "--bind", f"/dev/{same}", path], check=True)


#: All that can lie in a folder and is neither a file nor a folder nor a link.
NODES: dict[str, Callable[[Path], None]] = {
    "fifo": fifo,
    "socket": listening_socket,
    "null": null_device,
    "zero": zero_device,
    "full": full_device,
    "block": block_device,
}

Entry = tuple[object, ...]


def entry_of(path: Path) -> Entry:
    """Return all of a name that should stay as it is: kind, mode, links, size, time, content."""
    found = path.lstat()
    content = ""
    if stat.S_ISREG(found.st_mode):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    elif stat.S_ISLNK(found.st_mode):
        content = str(path.readlink())
    if stat.S_ISDIR(found.st_mode):
        return (oct(found.st_mode),)
    return (oct(found.st_mode), found.st_nlink, found.st_rdev, found.st_size, found.st_mtime_ns, content)


def snapshot(folder: Path) -> dict[str, Entry]:
    """Return everything below a folder, links not followed."""
    return {str(path.relative_to(folder)): entry_of(path) for path in _walk(folder)}


def _walk(folder: Path) -> Iterator[Path]:
    for entry in os.scandir(folder):
        yield Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))


def everything(folder: Path) -> list[str]:
    """Return the names of all that lies below a folder."""
    return sorted(snapshot(folder))


@contextmanager
def closed(*paths: Path, mode: int = 0) -> Iterator[None]:
    """Take the permissions away from files or folders for a while."""
    kept = [(path, path.stat().st_mode) for path in paths]
    for path in paths:
        path.chmod(mode)
    try:
        yield
    finally:
        for path, before in kept:
            path.chmod(before)


#: RENAME_EXCHANGE: both names are there at every moment.
_EXCHANGE = 2
_libc = ctypes.CDLL(None, use_errno=True)


def exchange(one: Path, other: Path) -> None:
    """Swap what two names stand for, in one step."""
    if _libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), _EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(one))
