"""Commands in Python without the half second that their packages take to load.

One process loads the packages and forks for each command: the exit code and the standard streams are those
of a process of its own. What a command imports, and how it starts, is for tests that run `haul` itself.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

#: What the commands are made of.
PACKAGES = (
    "duckdb",
    "haulage.doctor.cli",
    "haulage.lab.analysis.ledger",
    "haulage.lab.cli.generate",
    "haulage.lab.cli.predict",
    "haulage.lab.cli.read",
    "haulage.lab.cli.run",
    "haulage.lab.planfile",
    "haulage.lab.why.answer",
    "haulage.lab.why.cli",
    "haulage.lab.why.drawing",
    "haulage.lab.why.explaining",
    "haulage.lab.why.plain",
    "haulage.lab.why.record",
    "haulage.tables.moving.cli",
    "haulage.tables.plan.cli",
    "haulage.tables.serve.cli",
    "haulage.view.cli",
    "haulage.view.index.writing",
    "haulage.view.serve.app",
    "haulage.watch.cli",
    "pandas",
    "rich.live",
    "ruptures",
    "scipy.stats",
)
#: The commands in Python.
NAMES = ("lab", "why", "watch", "table", "view", "index", "doctor")

_server: tuple[subprocess.Popen[bytes], socket.socket] | None = None


def run(
    arguments: Sequence[str],
    streams: Sequence[int],
    *,
    env: Mapping[str, str],
    cwd: Path,
    timeout: float = 60,
) -> int:
    """Run `haul ARGUMENTS` with these standard streams; return the exit code."""
    socket_ = _started()
    request = {
        "arguments": list(arguments),
        "env": dict(env),
        "cwd": str(cwd),
    }
    socket_.settimeout(timeout)
    try:
        socket.send_fds(socket_, [json.dumps(request).encode()], list(streams))
        return int(socket_.recv(100))
    except BaseException:
        stop()
        raise


def stop() -> None:
    """End the process that forks, and what it is waiting for."""
    global _server
    if _server is not None:
        process, socket_ = _server
        _server = None
        socket_.close()
        os.killpg(process.pid, 9)
        process.wait()


def _started() -> socket.socket:
    global _server
    if _server is None or _server[0].poll() is not None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                process_group=0,
                # No thread may hold a lock while it forks.
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            )
            atexit.register(stop)
        _server = process, ours
    return _server[1]


def _serve(number: int) -> None:
    """Fork for each request, and answer with what the command ended with."""
    import gc
    import importlib

    for package in PACKAGES:
        importlib.import_module(package)
    gc.freeze()
    with socket.socket(fileno=number) as socket_:
        while True:
            said, streams, _, _ = socket.recv_fds(socket_, 1 << 18, 3)
            if not said:
                return
            request = json.loads(said)
            child = os.fork()
            if child == 0:
                socket_.close()
                _command(request, streams)
            for stream in streams:
                os.close(stream)
            _, status = os.waitpid(child, 0)
            socket_.send(str(os.waitstatus_to_exitcode(status)).encode())


def _command(request: dict[str, object], streams: list[int]) -> NoReturn:
    arguments, env = request["arguments"], request["env"]
    assert isinstance(arguments, list)
    assert isinstance(env, dict)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(str(request["cwd"]))
    found: list[Any] = []
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        errors = "backslashreplace" if place == 2 else "strict"
        mode = "r" if place == 0 else "w"
        found.append(os.fdopen(place, mode, encoding="utf-8", errors=errors, closefd=False))
    for stream in streams:
        os.close(stream)
    # As Python itself does at its start.
    sys.stdin, sys.stdout, sys.stderr = found
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = found  # type: ignore[misc]
    sys.argv = ["haul", *arguments]

    code = 1
    try:
        from haulage.__main__ import main

        code = main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        # What Python does at its end, without what takes apart a hundred packages.
        for text in (sys.stdout, sys.stderr):
            try:
                # The command puts away a stream that it cannot write.
                if text is not None:
                    text.flush()
            except OSError:
                code = 120
        os._exit(code)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
