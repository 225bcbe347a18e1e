"""Follows a file of the lines of ``haul cp --json``, or those that come by standard input.

Only the first line of a job says which job and node it is; the others are taken to be of the same. The
lines of an event log, which say it themselves, may be in the file as well.

The next job may write to a file of the same name, so a file is known by what was read of it, and each line
by its job and number: what comes a second time is not counted again.
"""

from __future__ import annotations

import io
import os
import select
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from haulage.errors import CredentialError, LocalIOError, NotFoundError, UsageError
from haulage.watch.line import (
    LONGEST_BYTES,
    Batch,
    Line,
    Seen,
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
#: So much of what was read is remembered, from the beginning and before the place where reading goes on. The
#: first line of a job has its random name, and the last ones have times in nanoseconds.
_KNOWN_BYTES = 4096
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
        self._file: io.FileIO | None = None  #: of the last look, though its name may be another's by now
        self._offset, self._rest = 0, b""
        self._first, self._last = b"", b""  #: of what was read
        self._seen: dict[tuple[str, str, str], Seen] = {}
        #: The numbers at which the lines of each job begin, by its node and start.
        self._begins: dict[tuple[str, str, int], int] = {}
        self._caught_up = path == INPUT
        self._any = False
        self.ended = False  #: standard input has come to its end
        self._forget_job()

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

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
            if self._file is not None:
                # First: after a rename it still grows, or has what was written between two looks.
                yield from self._new_in(self._file)
            # Without a buffer, which would still hold what was there before.
            file = Path(self._path).open("rb", buffering=0)  # noqa: SIM115  # held until the next look
            if self._file is not None:
                known, found = os.fstat(self._file.fileno()), os.fstat(file.fileno())
                if (known.st_dev, known.st_ino) == (found.st_dev, found.st_ino):
                    file.close()
                    return
                self._file.close()
                if not self._continues(file):
                    self._forget_job()
            self._file = file
            yield from self._new_in(file)
        except FileNotFoundError:
            hint = "check the name of the file"
            raise NotFoundError("watch", self._path, "no such file", hint) from None
        except PermissionError:
            hint = f"make it readable: chmod u+r {shlex.quote(self._path)}"
            raise CredentialError("watch", self._path, "permission denied", hint) from None
        except OSError as error:
            raise LocalIOError("watch", self._path, error.strerror or str(error)) from None

    def _new_in(self, file: io.FileIO) -> Iterator[Batch]:
        """Read what follows what was read; all of it where the file does not begin with that."""
        modified_ns = os.fstat(file.fileno()).st_mtime_ns
        if not self._continues(file):
            self._offset, self._rest, self._first, self._last = 0, b"", b"", b""
            # What it holds may be of any age.
            self._caught_up = False
        file.seek(self._offset)
        while data := file.read(_SLAB_BYTES):
            self._offset += len(data)
            self._last = (self._last + data)[-_KNOWN_BYTES:]
            self._first += data[: _KNOWN_BYTES - len(self._first)]
            yield self._batch(data, modified_ns)

    def _continues(self, file: io.FileIO) -> bool:
        """Whether a file begins with what was read, as far as that is remembered.

        Its size alone does not tell: another file may be longer. Nor does its number in the file system: a
        copy that is made again and again has another one each time.
        """
        file.seek(0)
        if file.read(len(self._first)) != self._first:
            return False
        file.seek(self._offset - len(self._last))
        return file.read(len(self._last)) == self._last

    def _of_input(self) -> Iterator[Batch]:
        while not self.ended and select.select([sys.stdin], [], [], 0)[0]:
            data = os.read(sys.stdin.fileno(), _SLAB_BYTES)
            self.ended = not data
            yield self._batch(data or b"\n", 0)

    def _batch(self, data: bytes, modified_ns: int) -> Batch:
        text, self._rest = whole_lines(self._rest, data)
        if len(self._rest) > LONGEST_BYTES:
            self._rest = b""
        lines: list[Line] = []
        unread = 0
        for found in objects(text):
            if found is None:
                unread += 1
            else:
                self._any = True
                line = of_log(found) or self._line(found)
                if line.seq is None or self._seen_of(line).new(line.seq):
                    lines.append(line)
        if unread and not self._any:
            hint = "name a log, or a file of haul cp --json"
            raise UsageError("watch", self.name, "its lines are not events", hint)
        return Batch(lines, self._caught_up, unread, modified_ns=modified_ns)

    def _seen_of(self, line: Line) -> Seen:
        return self._seen.setdefault((line.job, line.node, line.stream), Seen())

    def _forget_job(self) -> None:
        """Take what comes for lines of an unknown job, until one says that it begins.

        Not where a file is emptied after it was copied: its job goes on writing to it.
        """
        self._job, self._node, self._stream = "", "", "lines"
        self._started_unix_ns, self._last_unix_ns = 0, 0
        self._number = self._seen.setdefault(("", "", self._stream), Seen()).next

    def _line(self, found: dict[str, Any]) -> Line:
        event = event_of_others(found["event"])
        if event == "job_started":
            self._begin(found)
        since = as_time(found.get(_TIMES.get(event, "")))
        if since is not None:
            self._last_unix_ns = max(self._last_unix_ns, self._started_unix_ns + since)
        self._number += 1
        time = self._last_unix_ns or self._now()
        return Line(self._job, self._node, self._stream, self._number - 1, time, event, found)

    def _begin(self, found: dict[str, Any]) -> None:
        """Take in that a job begins: its lines have the numbers that they had, if they come again."""
        self._job, self._node = (as_text(found.get(name)) for name in ("job", "node"))
        started = as_time(found.get("started_unix_ns"))
        self._started_unix_ns = self._last_unix_ns = started or self._now()
        self._number = self._seen.setdefault((self._job, self._node, self._stream), Seen()).next
        if started:
            key = (self._job, self._node, started)
            self._number = self._begins.setdefault(key, self._number)
