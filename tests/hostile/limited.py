"""Runs the command within bounds, and says what it took: a process that forks for each run.

What Python and the engine take to start is spent once. Each run has a parent of its own, which waits for it:
what the process that forks holds, all share.

When the time is up, what the command and its service, a thread of the process that asked, have waited for a
processor does not count, up to `MOST` times as long: a busy machine is no command that hangs.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import sandbox

#: Threads reserve much more than they touch. What asks for more memory than this is stopped, for the sake of
#: the machine. A service may claim any size of a blob, and a file of that size would fill the disk: Python
#: ignores the signal of that bound, so the call fails.
BOUNDS = {resource.RLIMIT_AS: 3 << 30, resource.RLIMIT_FSIZE: 1 << 30}
#: A command has ended after so many times its seconds, however busy the machine is.
MOST = 10


@dataclass(frozen=True)
class Took:
    """How a run ended. A code below 0 is the signal that ended it."""

    code: int
    peak_kib: int
    seconds: float
    cpu_seconds: float


class Limited:
    """A process that runs the command; many threads may ask it at once."""

    def __init__(self, *modules: str) -> None:
        """Start it with these modules loaded."""
        self._listening = socket.socket(socket.AF_UNIX)
        # A name that the kernel chooses, in no folder.
        self._listening.bind("")
        self._listening.listen(64)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hostile.limited", *modules],
            stdin=self._listening.fileno(),
            cwd=Path(__file__).parent.parent,
            # Threads of a library would not be there after a fork.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )

    def run(
        self,
        words: Sequence[str],
        seconds: float,
        *,
        folder: Path,
        env: Mapping[str, str],
        streams: Sequence[int],
        bounds: Mapping[int, int] = BOUNDS,
        only: bool = False,
    ) -> Took:
        """Run the command with these arguments in a folder; it has ended when its seconds are over.

        Args:
            words: The arguments, without the command.
            seconds: How long it may take.
            folder: Where it runs.
            env: Its environment.
            streams: Its standard input, output and error.
            bounds: Most that it may ask for, by the number of `resource.RLIMIT_...`.
            only: Whether it can write in its folder alone, not elsewhere in the sandbox.
        """
        order = {
            "words": list(words),
            "seconds": seconds,
            "folder": str(folder),
            "env": dict(env),
            "bounds": list(bounds.items()),
            "only": only,
            "service": os.getpid(),
        }
        with socket.socket(socket.AF_UNIX) as connection, connection.makefile() as told:
            connection.connect(self._listening.getsockname())
            socket.send_fds(connection, [b"x"], streams)
            connection.sendall(json.dumps(order).encode() + b"\n")
            report = told.readline()
        assert report, "the process that runs the command has died"
        return Took(**json.loads(report))

    def close(self) -> None:
        """End it."""
        self._listening.close()
        self._process.kill()
        self._process.wait()


#: Processes that run the command, by the module that is worth being loaded before.
_started: dict[str, Limited] = {}
_starting = threading.Lock()


def limited(module: str = "haulage._engine") -> Limited:
    """Return the process that runs the command with this module loaded."""
    with _starting:
        if module not in _started:
            _started[module] = Limited(module)
            atexit.register(_started[module].close)
        return _started[module]


def waits(process: int) -> dict[str, int]:
    """Return for how long each thread of a process was ready and had no processor, in nanoseconds."""
    found = {}
    try:
        for task in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208 - as below
            with open(f"/proc/{process}/task/{task}/schedstat") as file:  # noqa: PTH123 - a path costs more
                found[task] = int(file.read().split()[1])
    except (OSError, IndexError):
        # It has ended meanwhile, or nobody counts.
        pass
    return found


def main() -> None:
    for module in sys.argv[1:]:
        importlib.import_module(module)
    # Pages that nobody writes to stay shared.
    gc.freeze()
    with socket.socket(fileno=0) as listening:
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                _answer(connection)
            connection.close()
            # What they took counts as taken here only when they are waited for.
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _answer(connection: socket.socket) -> NoReturn:
    """Run the command once, and tell what it took."""
    code = 1
    try:
        _, streams, _, _ = socket.recv_fds(connection, 1, 3)
        with connection.makefile() as told:
            order = json.loads(told.readline())
        report = _run(order, streams)
        connection.sendall(json.dumps(report).encode() + b"\n")
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _run(order: dict[str, Any], streams: list[int]) -> dict[str, Any]:
    seconds, service = order["seconds"], order["service"]
    # A conversation has a thread of its own. To look at all threads each time would cost more than the run.
    began, others, starved = time.monotonic(), set(os.listdir(f"/proc/{service}/task")), 0.0  # noqa: PTH208
    child = os.fork()
    if child == 0:
        _become(order, streams)

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal starved
        here = max(waits(child).values(), default=0)
        there = max((waited for task, waited in waits(service).items() if task not in others), default=0)
        taken = time.monotonic() - began
        starved = min((here + there) / 1e9, taken)
        left = min(seconds - (taken - starved), MOST * seconds - taken)
        if left > 0:
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.01))
        else:
            # It may have ended just now.
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    _, status, used = os.wait4(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "peak_kib": used.ru_maxrss,
        "seconds": time.monotonic() - began - starved,
        "cpu_seconds": used.ru_utime + used.ru_stime,
    }


def _become(order: dict[str, Any], streams: list[int]) -> NoReturn:
    """Turn this child into the command."""
    code = 1
    try:
        os.setsid()
        for number, place in enumerate(streams):
            os.dup2(place, number)
        # Neither the service's connection nor any other file is the command's.
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        for what, most in order["bounds"]:
            resource.setrlimit(what, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ.clear()
        os.environ.update(order["env"])
        if order["only"]:
            sandbox.keep_only(Path(order["folder"]))
        os.chdir(order["folder"])
        sys.argv = ["haul", *order["words"]]
        code = _command()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        code = 1
    finally:
        os._exit(code)


def _command() -> int:
    from haulage.__main__ import main as haul

    try:
        return haul()
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else bool(left.code)


if __name__ == "__main__":
    main()
