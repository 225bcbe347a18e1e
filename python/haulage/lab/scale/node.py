"""A node: a process of its own that moves the files it is told to, from an agreed moment on.

Started as ``python -m haulage.lab.scale.node HOST PORT NUMBER``, with the word that admits it on standard
input, or by :func:`serve` on a worker of a cluster. It ends with its connection.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from haulage.errors import HaulageError
from haulage.lab.arms import Item, Moved, Work
from haulage.lab.generate import generate
from haulage.lab.plan import Arm
from haulage.lab.scale.wire import Line, wait_until
from haulage.lab.target import Endpoint

_CONNECT_S = 30.0
#: Between two words of how far it is.
_TELL_NS = 200_000_000


def serve(host: str, port: int, number: int, word: str) -> None:
    """Connect to the fleet and do what it says until it closes the connection."""
    line = Line(socket.create_connection((host, port), _CONNECT_S))
    line.connection.settimeout(None)
    line.say(word=word, node=number, pid=os.getpid(), host=socket.gethostname())
    with suppress(EOFError, OSError), tempfile.TemporaryDirectory(prefix="haulage-node-") as scratch:
        while True:
            for message in line.messages():
                _do(line, message, Path(scratch))


def _do(line: Line, message: dict[str, Any], scratch: Path) -> None:
    what = message["do"]
    if what == "clock":
        line.say(now_ns=time.monotonic_ns())
    elif what == "make":
        for name, size, seed in message["files"]:
            generate(name, size, seed)
        line.say(made=len(message["files"]))
    elif what == "cell":
        # All that can be done before the moment is done before it.
        work = _work(message, scratch)
        line.say(ready=True)
        _move(line, work, line.hear()["at_ns"])


def _work(message: dict[str, Any], scratch: Path) -> Work:
    from haulage.lab.arms import engine  # noqa: F401  # imported now, not in the time that is measured

    arm = message["arm"]
    arm["directions"] = tuple(arm["directions"])
    record = Path(message["record"])
    record.parent.mkdir(parents=True, exist_ok=True)
    return Work(
        Arm(**arm),
        message["direction"],
        tuple(Item(*item) for item in message["items"]),
        Endpoint(message["base"], message["query"]),
        record,
        scratch,
    )


def _move(line: Line, work: Work, at_ns: int) -> None:
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
    line.say(moved=vars(moved), cpu_ns=time.process_time_ns() - cpu_ns)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.stdin.readline().strip())
