"""A Dask scheduler and workers as processes of their own, to be killed one by one."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from distributed import Client

from command import Haul, clean_environment

DASK = Path(sys.executable).parent / "dask"


class Cluster:
    """What runs, and where it writes what it says."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.environment = clean_environment(folder) | dict(environment)
        self.file = folder / "scheduler.json"
        self.log = folder / "dask.log"
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.scheduler = self.start_scheduler()

    @property
    def address(self) -> str:
        return str(json.loads(self.file.read_text())["address"])

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        self.file.unlink(missing_ok=True)
        words = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self.file)]
        process = self._start(*words, "--no-dashboard")
        _until(self._is_written, "the scheduler has no file")
        _until(lambda: _answers(self.address), "the scheduler does not answer")
        return process

    def _is_written(self) -> bool:
        # Another process may look at it before it is whole.
        return self.file.exists() and self.file.read_bytes().rstrip().endswith(b"}")

    def start_worker(self, name: str, inside: Sequence[str] = ()) -> None:
        """Start one; ``inside``: the words of a command that runs another."""
        words = ["worker", "--scheduler-file", str(self.file), "--name", name, "--nthreads", "2"]
        words += [
            "--no-nanny",
            "--no-dashboard",
            "--memory-limit",
            "0",
            "--local-directory",
            str(self.folder),
        ]
        self.workers[name] = self._start(*words, inside=inside)

    def kill_worker(self, name: str) -> None:
        worker = self.workers.pop(name)
        worker.kill()
        worker.wait()

    def kill_scheduler(self) -> None:
        self.scheduler.kill()
        self.scheduler.wait()

    def wait(self) -> None:
        """Wait until all workers are there."""
        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=30)

    def close(self) -> None:
        processes = [*self.workers.values(), self.scheduler]
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for process in processes:
            process.wait()

    def _start(self, *words: str, inside: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        command = [*inside, str(DASK), *words]
        with self.log.open("ab") as log:
            return subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, cwd=self.folder)


@contextmanager
def cluster(folder: Path, workers: int, environment: Mapping[str, str] = {}) -> Iterator[Cluster]:
    """A scheduler with so many workers, `node-0` and on."""
    own = Cluster(folder, environment)
    try:
        for number in range(workers):
            own.start_worker(f"node-{number}")
        own.wait()
        yield own
    finally:
        own.close()


def new_container(haul: Haul) -> str:
    """Return the URL of a new container, of a name that no other test has."""
    url = f"az://c{random.SystemRandom().getrandbits(64):x}"
    haul("mb", url)
    return url


def inside(folder: Path) -> set[int]:
    """Processes that work in this folder."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            # What ends meanwhile, or is not ours, has no folder to tell.
            with contextlib.suppress(OSError):
                if (entry / "cwd").readlink() == folder:
                    found.add(int(entry.name))
    return found


def _answers(address: str) -> bool:
    host, _, port = address.partition("://")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True


def _until(there: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 30
    while not there():
        assert time.monotonic() < end, what
        time.sleep(0.02)
