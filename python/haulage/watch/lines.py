"""Follows a file of the lines of ``haul cp --json``, or those that come by standard input.

Only the first line of a job says which job and node it is; the others are taken to be of the same. The
lines of an event log, which say it themselves, may be in the file as well.
"""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from haulage.errors import CredentialError, LocalIOError, NotFoundError, UsageError
from haulage.watch.line import (
    LONGEST_BYTES,
    Batch,
    Line,
    as_text,
    as_time,
    event_of_others,
    objects,
    of_log,
    whole_lines,
)

#: In place of a file: standard input.
INPUT = "-"
_SLAB_BYTES = 1 << 20
#: What tells when an event happened, since its job began.
_TIMES = {"attempt": "ended_ns", "object": "ended_ns", "progress": "elapsed_ns", "summary": "elapsed_ns"}


class Lines:
    """A file of JSON lines that is read as it grows; ``-`` is standard input.

    Args:
        path: The file.
        now: Returns nanoseconds since 1970.
    """

    def __init__(self, path: str, now: Callable[[], int]) -> None:
        self.name = "standard input" if path == INPUT else path
        self._path, self._now = path, now
        self._offset, self._rest = 0, b""
        self._numbered = 0
        self._job, self._node, self._stream = "", "", "lines"
        self._started_unix_ns, self._last_unix_ns = 0, 0
        self._caught_up = path == INPUT
        self._any = False
        self.ended = False  #: standard input has come to its end

    def close(self) -> None:
        """Nothing is held open."""

    def read(self) -> Iterator[Batch]:
        """Yield what is new, in pieces.

        Raises:
            HaulageError: The file may not be read, or holds no events.
        """
        if self._path == INPUT:
            yield from self._of_input()
        else:
            yield from self._of_file()
            self._caught_up = True

    def _of_file(self) -> Iterator[Batch]:
        try:
            with Path(self._path).open("rb") as file:
                if file.seek(0, io.SEEK_END) < self._offset:
                    # Written anew: another job.
                    self._offset, self._rest = 0, b""
                file.seek(self._offset)
                while data := file.read(_SLAB_BYTES):
                    self._offset += len(data)
                    yield self._batch(data)
        except FileNotFoundError:
            hint = "check the name of the file"
            raise NotFoundError("watch", self._path, "no such file", hint) from None
        except PermissionError:
            hint = "make it readable: chmod u+r FILE"
            raise CredentialError("watch", self._path, "permission denied", hint) from None
        except OSError as error:
            raise LocalIOError("watch", self._path, error.strerror or str(error)) from None

    def _of_input(self) -> Iterator[Batch]:
        while not self.ended and select.select([sys.stdin], [], [], 0)[0]:
            data = os.read(sys.stdin.fileno(), _SLAB_BYTES)
            self.ended = not data
            yield self._batch(data or b"\n")

    def _batch(self, data: bytes) -> Batch:
        text, self._rest = whole_lines(self._rest, data)
        if len(self._rest) > LONGEST_BYTES:
            self._rest = b""
        lines: list[Line] = []
        unread = 0
        for found in objects(text):
            if found is None:
                unread += 1
            else:
                lines.append(of_log(found) or self._line(found))
        self._any = self._any or bool(lines)
        if unread and not self._any:
            hint = "name a log, or a file of haul cp --json"
            raise UsageError("watch", self.name, "its lines are not events", hint)
        return Batch(lines, self._caught_up, unread)

    def _line(self, found: dict[str, Any]) -> Line:
        event = event_of_others(found["event"])
        if event == "job_started":
            self._job, self._node = (as_text(found.get(name)) for name in ("job", "node"))
            self._started_unix_ns = as_time(found.get("started_unix_ns")) or self._now()
            self._last_unix_ns = self._started_unix_ns
            self._numbered = 0
        since = as_time(found.get(_TIMES.get(event, "")))
        if since is not None:
            self._last_unix_ns = max(self._last_unix_ns, self._started_unix_ns + since)
        self._numbered += 1
        time = self._last_unix_ns or self._now()
        return Line(self._job, self._node, self._stream, self._numbered - 1, time, event, found)
