"""What a person sees while nodes of this machine start: seconds, or half a minute on a busy machine."""

from __future__ import annotations

import time
from typing import TextIO

from haulage.words.numbers import counted


class Starting:
    """Says that nodes of this machine start, and when they have: until then, a bar is at 0 %."""

    def __init__(self, nodes: int, out: TextIO) -> None:
        self._nodes = counted(nodes, "node")
        self._out = out
        self._began = time.monotonic()
        self._say(f"starting {self._nodes} on this machine (this takes some seconds)")

    def started(self) -> None:
        """Say that they are there."""
        self._say(f"{self._nodes} started in {time.monotonic() - self._began:.1f} s")

    def _say(self, line: str) -> None:
        # A bar is a line without an end: it is wiped, and drawn again below this one.
        self._out.write(f"\r\x1b[2K{line}\n" if self._out.isatty() else f"{line}\n")
        self._out.flush()
