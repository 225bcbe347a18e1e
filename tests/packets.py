"""An endpoint behind a link of real packets, and the command before it."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trees
from command import HAUL, clean_environment

MIB = 1 << 20


@dataclass(frozen=True)
class Ran:
    """What a run came to."""

    code: int
    seconds: float
    events: list[dict[str, Any]]

    @property
    def summary(self) -> dict[str, Any]:
        """The last line, where it was allowed to say one."""
        return self.events[-1]

    @property
    def progress(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == "progress"]


@dataclass(frozen=True)
class Link:
    """Both ends of a link, the endpoint at the far one, and the process that holds it up."""

    near: str
    far: str
    environment: dict[str, str]
    process: subprocess.Popen[bytes]
    folder: Path

    def run(
        self, *words: str | Path, far: bool = False, kill_after: tuple[int, float] = (signal.SIGKILL, 600)
    ) -> Ran:
        """Run the command at the near end, or at the far one, where the endpoint is, to its end, or send it a
        signal after so many seconds.
        """
        line = ["nsenter", f"--net={self.far if far else self.near}", str(HAUL), *map(str, words)]
        number, seconds = kill_after
        began = time.monotonic()
        process = subprocess.Popen(
            line, env=self.environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
            said, _ = process.communicate(timeout=20)
        return Ran(process.returncode, time.monotonic() - began, events(said))

    def closed(self) -> dict[str, Any]:
        """Take the link down and return what it has to say."""
        self.process.terminate()
        said, _ = self.process.communicate(timeout=20)
        return events(said)[-1]


def events(said: bytes) -> list[dict[str, Any]]:
    """Return lines of JSON; the last may be torn where the command was killed."""
    lines = said.split(b"\n")[:-1]
    return [json.loads(line) for line in lines if line.startswith(b"{")]


@contextmanager
def link(spec: str, folder: Path) -> Iterator[Link]:
    """Hold up a link of packets with an empty container `con` behind it."""
    line = [str(HAUL), "emulate", "--link", f"packets:{spec}", "--json"]
    environment = clean_environment(folder)
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    try:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], 30)[0], "no link after 30 s"
        said = json.loads(process.stdout.readline())
        environment |= {"AZURE_STORAGE_CONNECTION_STRING": said["connection_string"]}
        made = Link(said["near"], said["far"], environment, process, folder)
        assert made.run("mb", "-q", "az://con", far=True).code == 0
        yield made
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout is not None:
            process.stdout.close()


def files(folder: Path, sizes: Sequence[int]) -> Path:
    """Fill a new folder with random files of these sizes."""
    folder.mkdir()
    for number, size in enumerate(sizes):
        trees.random_file(folder / f"{number:05}.bin", size, seed=number)
    return folder
