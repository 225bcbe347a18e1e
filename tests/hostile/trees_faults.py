"""Stands between the command and the kernel: system calls on files that a test names fail, or wait.

The kernel asks (seccomp's user notifications) before each call of the kinds that were wanted, whoever makes
it: libc, the engine itself, Python. So a disk that fails in the middle of a folder, or somebody who acts
between two steps, needs neither luck nor a library in between.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

#: The numbers of the calls: on x86-64, and on 64-bit ARM, which has no old ones.
NUMBERS: dict[str, tuple[int, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "open": (2, None),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "rename": (82, None),
    "mkdir": (83, None),
    "link": (86, None),
    "unlink": (87, None),
    "getdents64": (217, 61),
    "openat": (257, 56),
    "mkdirat": (258, 34),
    "unlinkat": (263, 35),
    "renameat": (264, 38),
    "linkat": (265, 37),
    "utimensat": (280, 88),
    "fallocate": (285, 47),
    "syncfs": (306, 267),
    "renameat2": (316, 276),
    "preadv2": (327, 286),
    "pwritev2": (328, 287),
    "openat2": (437, 437),
}
#: Which argument is the path, where there is one, and whether a folder's descriptor stands before it.
OLD = {"open", "rename", "mkdir", "link", "unlink"}
AT = {"openat", "openat2", "mkdirat", "unlinkat", "renameat", "renameat2", "linkat", "utimensat"}

READING = ("read", "pread64", "preadv2")
WRITING = ("write", "pwrite64", "pwritev2")
FLUSHING = ("fsync", "fdatasync", "syncfs")
OPENING = ("open", "openat", "openat2")
RENAMING = ("rename", "renameat", "renameat2", "link", "linkat")

_ARM = platform.machine() == "aarch64"
_ARCH, _SECCOMP = (0xC00000B7, 277) if _ARM else (0xC000003E, 317)
_ALLOW, _ASK = 0x7FFF0000, 0x7FC00000
_RECEIVE, _ANSWER = 0xC0502100, 0xC0182101
_GO_ON = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Call:
    """A system call that is about to be made."""

    name: str
    path: str
    #: How many of the same name on the same path there were before.
    nth: int


#: Returns the number of the error to fail with, or None to let it be made.
Decide = Callable[[Call], int | None]


@contextmanager
def between(calls: Sequence[str], decide: Decide) -> Iterator[Sequence[str]]:
    """Yield what runs a command so that `decide` is asked before each of these calls that it makes."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(b"")  # a name of its own, in no folder
        server.listen()
        thread = threading.Thread(target=_serve, args=(server, decide), daemon=True)
        thread.start()
        name = server.getsockname()[1:].decode()
        yield [sys.executable, str(Path(__file__).resolve()), name, ",".join(calls)]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(timeout=5)


def _serve(server: socket.socket, decide: Decide) -> None:
    try:
        connection, _ = server.accept()
    except OSError:
        return
    with connection:
        _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    (listener,) = descriptors
    seen: dict[tuple[str, str], int] = {}
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while not any(event & select.POLLHUP for _, event in poll.poll()):
        asked = bytearray(80)
        try:
            fcntl.ioctl(listener, _RECEIVE, asked)
            number, pid, _, nr, _, _, *arguments = struct.unpack("QIIiIQ6Q", asked)
            name = _NAMES[nr]
            path = _path(name, pid, arguments)
            seen[name, path] = seen.get((name, path), 0) + 1
            error = decide(Call(name, path, seen[name, path]))
            answer = struct.pack("QqiI", number, 0, -(error or 0), 0 if error else _GO_ON)
            fcntl.ioctl(listener, _ANSWER, bytearray(answer))
        except FileNotFoundError:
            # Whoever asked has been killed meanwhile.
            continue
    os.close(listener)


_NAMES = {number[_ARM]: name for name, number in NUMBERS.items() if number[_ARM] is not None}


def _path(name: str, pid: int, arguments: list[int]) -> str:
    """Return which file a call is about; what is no file has an empty name."""
    process = Path(f"/proc/{pid}")
    try:
        if name in OLD:
            return str((process / "cwd").readlink() / _text(process, arguments[0]))
        if name in AT and arguments[1]:
            # AT_FDCWD is -100, as 32 bits.
            here = arguments[0] & 0xFFFFFFFF == 0xFFFFFF9C
            folder = (process / "cwd" if here else process / "fd" / str(arguments[0])).readlink()
            return str(folder / _text(process, arguments[1]))
        return str((process / "fd" / str(arguments[0])).readlink())
    except OSError:
        return ""


def _text(process: Path, address: int) -> str:
    with (process / "mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        # To the end of the page at most: the next one may not be there.
        return os.fsdecode(memory.read(4096 - address % 4096).split(b"\0")[0])


def _filter(numbers: Sequence[int]) -> bytes:
    """Return the program that asks for these calls and lets all others be made."""
    program = [struct.pack("HBBI", 0x20, 0, 0, 4)]  # the machine's kind
    program += [struct.pack("HBBI", 0x15, 1, 0, _ARCH), struct.pack("HBBI", 0x06, 0, 0, _ALLOW)]
    program += [struct.pack("HBBI", 0x20, 0, 0, 0)]  # the call's number
    for number in numbers:
        program += [struct.pack("HBBI", 0x15, 0, 1, number), struct.pack("HBBI", 0x06, 0, 0, _ASK)]
    return b"".join([*program, struct.pack("HBBI", 0x06, 0, 0, _ALLOW)])


def main() -> None:
    """Ask the test before each call from now on, and become the command."""
    name, calls, *command = sys.argv[1:]
    numbers = [number for call in calls.split(",") if (number := NUMBERS[call][_ARM]) is not None]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(b"\0" + name.encode())
        program = ctypes.create_string_buffer(_filter(numbers))
        count = (len(program) - 1) // 8
        head = struct.pack("HxxxxxxQ", count, ctypes.addressof(program))
        _libc.prctl(38, 1, 0, 0, 0)  # no new privileges, without which not everybody may do this
        listener = _libc.syscall(_SECCOMP, 1, 8, ctypes.create_string_buffer(head))
        if listener < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"seccomp: {os.strerror(number)}")
        socket.send_fds(connection, [b"x"], [listener])
        os.close(listener)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
