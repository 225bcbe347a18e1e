"""Runs the command thousands of times in a root folder of its own: a process that forks, for a run each.

What Python and the engine take to start is spent once. The child changes its root to the folder it is given,
so that `/` is a folder of a few files, and there is nothing else that it could reach. With HAUL in the
environment the child becomes that binary instead: the command without Python, whose libraries `furnish` puts
into the root.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostile.limited import waits

#: The command as a binary, instead of the engine within Python.
BINARY = os.environ.get("HAUL", "")


@dataclass(frozen=True)
class Went:
    """How a run went. A code below 0 is the signal that ended it; `None`, that it did not end in time."""

    code: int | None
    said: str
    took_s: float


class Forks:
    """A process that runs the command, once for each line that it is given."""

    def __init__(self, root: Path, folder: str, env: dict[str, str]) -> None:
        self._out = tempfile.NamedTemporaryFile()  # noqa: SIM115 (closed with this)
        line = [sys.executable, "-m", "hostile.trees_forks", str(root), folder, self._out.name]
        self._process = subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
            cwd=Path(__file__).parent.parent,
        )

    def run(self, words: list[bytes], timeout: float, interrupt: float | None = None) -> Went:
        """Run the command; Ctrl-C it after so many seconds, if it shall be interrupted at all."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {
            "words": [word.decode("latin-1") for word in words],
            "timeout": timeout,
            "interrupt": interrupt,
        }
        print(json.dumps(order), file=self._process.stdin, flush=True)
        report = self._process.stdout.readline()
        assert report, "the process that forks has died"
        said = Path(self._out.name).read_bytes()[: 1 << 20].decode(errors="replace")
        return Went(said=said, **json.loads(report))

    def close(self) -> None:
        self._process.communicate()
        self._out.close()


def furnish(root: Path) -> None:
    """Put the libraries of the binary where it will look for them."""
    if not BINARY:
        return
    listed = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+) \(0x", listed):
        place = root / library.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, place)


def _become(words: list[bytes], root: str, folder: str, out: str) -> None:
    """Turn this child into the command; never returns."""
    code = 99
    try:
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        said = os.open(out, os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
        os.dup2(said, 1)
        os.dup2(said, 2)
        binary = os.open(BINARY, os.O_RDONLY) if BINARY else -1
        os.chroot(root)
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        if BINARY:
            os.execve(binary, [b"haul", *words], os.environ)
        sys.argv = ["haul", *map(os.fsdecode, words)]
        from haulage.__main__ import main as haul

        code = haul()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException as error:
        os.write(2, f"Traceback: {error!r}".encode(errors="replace"))
    finally:
        os._exit(code)


def _wait(child: int, timeout: float, interrupt: float | None) -> int | None:
    began = time.monotonic()
    pause = 0.0005
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        took = time.monotonic() - began
        if took > (timeout if interrupt is None else interrupt):
            # What it waited for a processor is not its own.
            took -= max(waits(child).values(), default=0) / 1e9
        if interrupt is not None and took > interrupt:
            os.kill(child, signal.SIGINT)
            interrupt = None
        if took > timeout:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(pause)
        pause = min(pause * 1.3, 0.02)
    return os.waitstatus_to_exitcode(ended[1])


def main() -> None:
    root, folder, out = sys.argv[1:]
    if not BINARY:
        import haulage.__main__
        import haulage._engine  # noqa: F401 (loaded before the root changes)
    # Not ignored: one that comes before the child is ready for it must wait for that.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            _become([word.encode("latin-1") for word in order["words"]], root, folder, out)
        code = _wait(child, order["timeout"], order["interrupt"])
        print(json.dumps({"code": code, "took_s": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main()
