"""What a job would lack: room for what it moves, inodes for its files, and of a size that the disk takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from haulage.doctor.disks import LARGEST_FILE, examine_disk
from haulage.doctor.finding import Finding, Level, by_error
from haulage.doctor.network import Ask
from haulage.words.numbers import counted as in_words, format_size


def examine_job(
    ask: Ask,
    source: str,
    destination: str,
    ways: tuple[dict[str, Any], dict[str, Any]],
    options: dict[str, Any],
) -> Iterator[Finding]:
    """Yield what there is to move, and whether the destination has room for it.

    Args:
        ask: What asks.
        source: Where from, with its SAS.
        destination: Where to.
        ways: Where the two lead.
        options: How stores are reached.
    """
    from_here, to_here = (way["service"] == "local" for way in ways)
    if from_here:
        yield from examine_disk(ask, source, writes=False)[0]
    counted, whole = None, True
    answer = ask("count_local", path=source) if from_here else ask("count", url=source, options=options)
    if answer.value is not None:
        counted = answer.value
    elif answer.partial:
        counted, whole = answer.partial[-1], False
        if answer.failing and answer.error is not None:
            yield by_error("job.size", answer.error, "warning")
    if counted is None:
        if answer.error is not None and answer.error.code not in ("permission", "not_found"):
            yield by_error("job.size", answer.error, "warning")
    else:
        yield from _size(counted, whole)
    if not to_here:
        return
    findings, disk = examine_disk(ask, destination, writes=True)
    yield from findings
    if counted is not None and disk is not None:
        yield from room(counted, whole, disk)


def _size(counted: dict[str, int], whole: bool) -> Iterator[Finding]:
    least = "" if whole else "at least "
    text = f"{least}{in_words(counted['objects'], 'object')} of {format_size(counted['bytes'])} to move"
    if counted.get("unreadable"):
        hint = "run it as a user who can read them, or leave them out with --exclude"
        yield Finding(
            "job.read",
            "fault",
            f"{in_words(counted['unreadable'], 'file or folder', 'files or folders')} cannot be read",
            hint,
            "permission",
        )
    if not counted["objects"]:
        yield Finding(
            "job.size", "warning", "there is nothing to copy", "check the source", values=dict(counted)
        )
        return
    slow = None if whole else "counting took too long: try again with --timeout 60s"
    level: Level = "ok" if whole else "note"
    yield Finding("job.size", level, text, slow, values={**counted, "whole": whole})


def room(counted: dict[str, int], whole: bool, disk: dict[str, Any]) -> Iterator[Finding]:
    """Yield whether the disk has room for what was counted; what is there already may make less do."""
    needed, free = counted["bytes"], disk["free_bytes"]
    files, inodes = counted["objects"], disk["free_inodes"]
    values = {"needed_bytes": needed, "free_bytes": free, "needed_inodes": files, "free_inodes": inodes}
    folder, least = disk["folder"], "" if whole else "at least "
    faults = False
    if needed > free:
        faults = True
        hint = "choose a larger disk, or copy less with --include; existing files need no space"
        text = (
            f"{least}{format_size(needed)} do not fit into the {format_size(free)} that are free in {folder}"
        )
        yield Finding("job.room", "fault", text, hint, "no_space", values)
    if inodes is not None and files > inodes:
        faults = True
        hint = "choose a folder on another disk; df -i shows how many files may be made"
        text = (
            f"{least}{in_words(files, 'file')} do not fit into the {inodes:,} inodes that are free in "
            f"{folder}"
        )
        yield Finding("job.inodes", "fault", text, hint, "no_space", values)
    largest = LARGEST_FILE.get(disk["kind"] or "")
    if largest is not None and counted["largest_bytes"] > largest:
        faults = True
        hint = "choose a folder on another file system"
        has = format_size(counted["largest_bytes"])
        text = f"one object has {has}, and {disk['kind']} takes at most {format_size(largest)}"
        yield Finding("job.largest", "fault", text, hint, "no_space", values)
    if not faults and whole:
        text = f"it fits: {format_size(needed)} in {in_words(files, 'file')}, {format_size(free)} are free"
        yield Finding("job.room", "ok", text, values=values)
