"""A pipe: `haul cp - URL` up, `haul cp URL -` down, one process a file, file after file.

Up, the time is the engine's own, from its first look at the pipe; down, the engine cannot say it, for
its output is the file: the time is taken from outside, the start of the process with it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, Any

from haulage import children
from haulage.lab.arms import Item, Moved, Watch, Work, differing
from haulage.lab.target import haul, plain_environment
from haulage.lab.units import spell_size

_PIECE_BYTES = 1 << 20


def move(work: Work, watch: Watch) -> Moved:
    """Pipe each file through a process of its own."""
    offset, began_ns = time.time_ns(), time.monotonic_ns()
    transfers: list[dict[str, Any]] = []
    wire = requests = done = shift = 0
    cause: str | None = None
    chosen = None
    for item in work.items:
        from_outside = time.monotonic_ns()
        said, error = _up(work, item) if work.direction == "up" else _down(work, item)
        took = said.get("elapsed_ns") or time.monotonic_ns() - from_outside
        done += 0 if error else item.size_bytes
        cause, chosen = cause or error, said.get("chosen") or chosen
        wire += said.get("bytes_wire") or item.size_bytes
        requests += said.get("requests") or 0
        transfers.append(
            {
                "object": item.name,
                "size_bytes": item.size_bytes,
                "began_ns": shift,
                "ended_ns": shift + took,
                "duration_ns": took,
                "outcome": "service" if error else "ok",
                "method": "stream",
                "attempts": 1,
            }
        )
        # One after another as if processes began at once: what starting them takes is not the link's.
        shift += took
        watch(done, done * 8e9 / max(1, time.monotonic_ns() - began_ns))
    wrong = differing(work.items) if work.direction == "down" else None
    return Moved(
        wall_ns=shift,
        bytes=done,
        transfers=transfers,
        monotonic_offset_ns=offset,
        outcome="service" if cause else "integrity" if wrong else "ok",
        cause=cause or (f"{wrong} differs" if wrong else None),
        wire_bytes=wire,
        requests=requests or None,
        chosen=chosen,
    )


def _options(work: Work) -> list[str]:
    arm = work.arm
    words = ["--progress", "none", "--overwrite", "always", *work.endpoint.reach_words]
    if arm.concurrency:
        words += ["--concurrency", str(arm.concurrency)]
    if arm.block_size_bytes:
        words += ["--block-size", spell_size(arm.block_size_bytes)]
    return words


def _up(work: Work, item: Item) -> tuple[dict[str, Any], str | None]:
    command = [*haul(), "cp", "-", work.endpoint.url(item.name), "--json", *_options(work)]
    with _process(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines: list[bytes] = []
        reader = threading.Thread(target=lambda out: lines.extend(out), args=(process.stdout,))
        reader.start()
        try:
            with Path(item.local).open("rb") as file:
                shutil.copyfileobj(file, process.stdin, _PIECE_BYTES)
            process.stdin.close()
        except BrokenPipeError:
            pass  # It says itself why it went away.
        reader.join()
        error = _error(process)
    events = [json.loads(line) for line in lines]
    return next((event for event in events if event["event"] == "summary"), {}), error


def _down(work: Work, item: Item) -> tuple[dict[str, Any], str | None]:
    command = [*haul(), "cp", work.endpoint.url(item.name), "-", *_options(work)]
    with _process(command, stdin=subprocess.DEVNULL) as process, Path(item.local).open("wb") as file:
        assert process.stdout is not None
        shutil.copyfileobj(process.stdout, file, _PIECE_BYTES)
        return {}, _error(process)


class _process:  # noqa: N801  # used as a verb
    """A process that is killed if its caller is interrupted."""

    def __init__(self, command: list[str], *, stdin: int) -> None:
        self._process: subprocess.Popen[bytes] = children.start(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=plain_environment(),
            start_new_session=True,
        )

    def __enter__(self) -> subprocess.Popen[bytes]:
        return self._process

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            _close(pipe)


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(BrokenPipeError):
            pipe.close()


def _error(process: subprocess.Popen[bytes]) -> str | None:
    assert process.stderr is not None
    said = process.stderr.read().decode(errors="replace").strip()
    code = process.wait()
    return None if code == 0 else said or f"exit code {code}"
