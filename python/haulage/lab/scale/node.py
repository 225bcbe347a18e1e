"""A node: a process of its own that moves the files it is told to, from an agreed moment on.

Started as ``python -m haulage.lab.scale.node HOST PORT NUMBER``, with the word that admits it on standard
input, or by :func:`serve` on a worker of a cluster. It ends with its connection.
"""

from __future__ import annotations

import base64
import os
import socket
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import haulage
from haulage.errors import HaulageError
from haulage.lab.arms import Item, Moved, Work
from haulage.lab.generate import generate
from haulage.lab.plan import Arm
from haulage.lab.scale.wire import Line, wait_until
from haulage.lab.target import Endpoint

_CONNECT_S = 30.0
#: Between two words of how far it is.
_TELL_NS = 200_000_000
#: Of a record that is sent, in one message.
_PIECE_BYTES = 1 << 20


def serve(host: str, port: int, number: int, word: str, *, stays: bool = False) -> None:
    """Connect to the fleet and do what it says until it closes the connection.

    Args:
        host: Where the fleet is.
        port: Where it listens.
        number: Which node this is.
        word: What admits it.
        stays: Whether this process goes on afterwards, so that it must give back the memory of its files.
    """
    held: set[str] = set()
    line = Line(socket.create_connection((host, port), _CONNECT_S))
    line.connection.settimeout(None)
    line.say(word=word, node=number, pid=os.getpid(), host=socket.gethostname())
    with tempfile.TemporaryDirectory(prefix="haulage-node-") as scratch:
        with suppress(EOFError, OSError):
            while True:
                for message in line.messages():
                    _do(line, message, Path(scratch), held)
        line.close()
        if stays and held:
            empty = Path(scratch) / "empty"
            empty.touch()
            haulage.copy([(empty, name) for name in sorted(held)], overwrite="always")


def _do(line: Line, message: dict[str, Any], scratch: Path, held: set[str]) -> None:
    what = message["do"]
    if what == "clock":
        line.say(now_ns=time.monotonic_ns())
    elif what == "make":
        for name, size, seed in message["files"]:
            held.add(name)
            generate(name, size, seed)
        line.say(made=len(message["files"]))
    elif what == "cell":
        # All that can be done before the moment is done before it.
        work = _work(message, scratch)
        held |= {item.local for item in work.items if item.local.startswith("mem://")}
        line.say(ready=True)
        _move(line, work, line.hear()["at_ns"], sends=message["record"] is None)


def _work(message: dict[str, Any], scratch: Path) -> Work:
    from haulage.lab.arms import engine  # noqa: F401  # imported now, not in the time that is measured

    arm = message["arm"]
    arm["directions"] = tuple(arm["directions"])
    record = Path(message["record"] or scratch / "record.parquet")
    record.parent.mkdir(parents=True, exist_ok=True)
    return Work(
        Arm(**arm),
        message["direction"],
        tuple(Item(*item) for item in message["items"]),
        Endpoint(message["base"], message["query"], insecure_http=message["insecure_http"]),
        record,
        scratch,
    )


def _move(line: Line, work: Work, at_ns: int, *, sends: bool) -> None:
    from haulage.lab.arms.methods import method_of

    told_ns = time.monotonic_ns()

    def watch(bytes_done: int, rate: float) -> None:
        nonlocal told_ns
        now = time.monotonic_ns()
        if now - told_ns >= _TELL_NS:
            told_ns = now
            line.say(bytes_done=bytes_done, rate=rate)

    wait_until(at_ns)
    began_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns()
    unix_less_monotonic = time.time_ns() - time.monotonic_ns()
    try:
        moved = method_of(work.arm)(work, watch)
    except HaulageError as error:
        # What a job that broke off has recorded may be no whole file.
        work.record.unlink(missing_ok=True)
        moved = Moved(
            time.monotonic_ns() - began_ns,
            0,
            [],
            began_ns + unix_less_monotonic,
            outcome=error.code,
            cause=error.cause,
        )
    # The engine tells its beginning in unix time; both clocks were read at once, so it is known on this one.
    moved.monotonic_offset_ns -= unix_less_monotonic
    cpu_ns = time.process_time_ns() - cpu_ns
    if sends and work.record.exists():
        with work.record.open("rb") as record:
            while piece := record.read(_PIECE_BYTES):
                line.say(piece=base64.b64encode(piece).decode())
        work.record.unlink()
    line.say(moved=vars(moved), cpu_ns=cpu_ns)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.stdin.readline().strip())
