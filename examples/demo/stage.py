"""The endpoint and the command: real processes, shown as a person would type them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape

#: The command beside this interpreter, as `make build` leaves it, unless HAUL names another.
HAUL = Path(os.environ.get("HAUL") or Path(sys.executable).parent / "haul")


class DemoError(Exception):
    """What stops the demo; its text says what and what to do."""


@dataclass(frozen=True)
class Endpoint:
    """An Azure Blob endpoint on this machine."""

    connection_string: str
    terms: str  #: store, link and faults, as the endpoint states them


@contextmanager
def emulator(link: str, console: Console) -> Iterator[Endpoint]:
    """Serve an endpoint over ``link`` for as long as the context is open.

    It runs in a session of its own: Ctrl-C must reach the transfer first, or its last words would be
    about an endpoint that has gone.
    """
    if not HAUL.exists():
        raise DemoError(f"{HAUL} is not there: run `make build`, or let HAUL name the command")
    args = ["emulate", "--listen", "127.0.0.1:0", "--link", link, "--json"]
    console.print(f"[bold]$ haul {escape(shlex.join(args))} &[/]")
    process = subprocess.Popen([HAUL, *args], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise DemoError(f"the endpoint did not start; `haul emulate` ended with {process.wait()}")
        said = json.loads(line)
        yield Endpoint(said["connection_string"], said["terms"])
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Haul:
    """Runs the command against one endpoint, its progress on the person's own terminal."""

    endpoint: Endpoint
    console: Console

    def __call__(self, *args: str | Path) -> float:
        """Run it and return its wall time in seconds, from start to exit of the process.

        Raises:
            DemoError: It ended with another code than 0.
        """
        self.console.print(f"[bold]$ haul {escape(shlex.join(map(str, args)))}[/]")
        return self._run(args)

    def silently(self, *args: str | Path) -> float:
        """Run it without showing it, once more."""
        return self._run([*args, "--quiet"])

    def environment(self) -> dict[str, str]:
        """Return an environment that leads to the endpoint, whatever the person has set for real accounts."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AZURE_", "HAUL_"))}
        return kept | {"AZURE_STORAGE_CONNECTION_STRING": self.endpoint.connection_string}

    def _run(self, args: Sequence[str | Path]) -> float:
        line = [str(arg) for arg in args]
        began = time.perf_counter()
        code = subprocess.run([HAUL, *line], env=self.environment(), check=False).returncode
        wall = time.perf_counter() - began
        if code == 130:
            raise KeyboardInterrupt
        if code != 0:
            raise DemoError(f"`haul {shlex.join(line)}` ended with code {code}; see `haul {line[0]} --help`")
        return wall
