"""Room and rate of the disks that a copy reads or writes."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

from haulage.doctor.finding import Finding, by_error
from haulage.doctor.network import Ask
from haulage.words.numbers import format_size

#: Less than this is as good as nothing.
ROOM_WANTED = 64 << 20
INODES_WANTED = 1000
#: Slower than a plain network.
SLOW_BYTES_PER_SECOND = 20e6
#: File systems whose files cannot be larger.
LARGEST_FILE = {"vfat": (4 << 30) - 1, "msdos": (4 << 30) - 1}


def examine_disk(ask: Ask, path: str, writes: bool) -> tuple[list[Finding], dict[str, Any] | None]:
    """Return what is wrong or right with the disk of a path, and what is known of it.

    Args:
        ask: What asks.
        path: A file or folder, which need not be there yet.
        writes: Whether the copy will write there; where not, only its readability counts.
    """
    answer = ask("disk", path=path, measure=writes)
    if answer.hung:
        hint = "a network file system may not respond: check mount, and: df " + path
        assert answer.error is not None
        cause = answer.error.cause
        return [Finding("disk.room", "fault", f"{path}: {cause}", hint, "io")], None
    if answer.error is not None:
        return [by_error("disk.room", answer.error)], None
    return list(_judge(answer.value, writes)), answer.value


def _judge(found: dict[str, Any], writes: bool) -> Iterator[Finding]:
    folder, kind = found["folder"], found["kind"]
    if not writes:
        if not found["exists"]:
            hint = "check the name; it is relative to the current folder"
            yield Finding("disk.read", "fault", f"{found['path']} does not exist", hint, "not_found")
        elif not found["readable"]:
            hint = "run it as a user who can read it"
            yield Finding("disk.read", "fault", f"{found['path']} cannot be read", hint, "permission")
        else:
            yield Finding("disk.read", "ok", f"{found['path']} can be read ({kind})")
        return
    yield from _room(found)
    why, number = found["why_not"], found.get("errno")
    if found["read_only"] or number == errno.EROFS:
        hint = "choose another folder, or mount it for writing"
        yield Finding(
            "disk.write", "fault", f"{folder} is on a read-only file system ({kind})", hint, "permission"
        )
    elif number in (errno.EACCES, errno.EPERM):
        hint = "choose another folder, or run it as a user who can write there"
        yield Finding("disk.write", "fault", f"{folder}: this user cannot write there", hint, "permission")
    elif number in (errno.ENOSPC, errno.EDQUOT):
        if found["free_bytes"] and found["free_inodes"] != 0:
            hint = "a quota may be used up: check quota -s"
            yield Finding("disk.write", "fault", f"{folder}: {why}", hint, "no_space")
    elif why is not None:
        yield Finding("disk.write", "fault", f"{folder}: {why}", "choose another folder", "io")
    elif (rate := found["write_bytes_per_second"]) is not None:
        text = f"{folder} takes {format_size(rate)}/s, to the disk"
        slow = rate < SLOW_BYTES_PER_SECOND
        hint = "a download may wait for this disk: choose a faster one"
        values = {"write_bytes_per_second": rate}
        yield Finding("disk.write", "warning" if slow else "ok", text, hint if slow else None, values=values)


def _room(found: dict[str, Any]) -> Iterator[Finding]:
    free, inodes, folder = found["free_bytes"], found["free_inodes"], found["folder"]
    names = ("folder", "kind", "free_bytes", "size_bytes", "free_inodes", "inodes")
    values = {name: found[name] for name in names}
    text = f"{format_size(free)} free of {format_size(found['size_bytes'])} in {folder} ({found['kind']})"
    hint = "remove something, or choose a folder on another disk"
    if free < 1 << 20:
        yield Finding("disk.room", "fault", f"the disk is full: {text}", hint, "no_space", values)
    elif free < ROOM_WANTED:
        yield Finding("disk.room", "warning", text, hint, values=values)
    else:
        yield Finding("disk.room", "ok", text, values=values)
    if inodes is not None and inodes < INODES_WANTED:
        hint = "remove small files, or choose a folder on another disk; df -i shows how many may be made"
        text = f"room for {inodes} more files in {folder}"
        if inodes == 0:
            text = f"no inodes left: no more files can be made in {folder}"
            yield Finding("disk.inodes", "fault", text, hint, "no_space", values)
        else:
            yield Finding("disk.inodes", "warning", text, hint, values=values)
