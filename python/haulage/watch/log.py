"""Follows an event log: lists it, reads what lies beyond what is known, and yields each line once.

A file only grows, and those of one stream follow each other by number. So of each stream a file, a place in
it and the next number of a line are all that is kept, however long the log is. Where somebody has put another
file in the place of one, it is read from its beginning; lines that have come are known by their numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from haulage.errors import HaulageError
from haulage.transfer import StoreOptions
from haulage.watch.line import LONGEST_BYTES, Batch, Line, Seen, lines_of_log, noticed, whole_lines
from haulage.watch.places import File, Folder, Place, Prefix

#: What is read by one request, and how many are under way at once: 8 MiB in memory.
SLAB_BYTES = 1 << 20
AT_ONCE = 8
#: What was read last is read again with what follows: it tells whether the file is still the same.
AGAIN_BYTES = 256
#: Where each piece is a file, a list of more is not asked for at each look: only their next numbers are, and
#: all of it so seldom. A stream of which nothing came for so long is left to that.
MANY = 1000
WHOLE_NS = 60 * 10**9
ASLEEP_NS = 120 * 10**9
#: Without the name of a job, those are read that have written so shortly before the reading began.
RECENT_NS = 600 * 10**9


@dataclass(slots=True)
class _Read:
    """A part of a file that is to be read."""

    name: str
    start: int
    length: int
    modified_ns: int


@dataclass(slots=True)
class Tail:
    """How far a stream has been read."""

    number: int = -1  #: of the file that is read
    name: str = ""
    offset: int = 0
    rest: bytes = b""  #: the beginning of a line whose end has not come
    last: bytes = b""  #: what is before the offset
    before: tuple[str, int, bytes] | None = None  #: the file before, with its offset and rest
    seen: Seen = field(default_factory=Seen)
    missing: int = 0  #: as it was last said
    waiting: deque[File] = field(default_factory=deque)  #: from `number` on, in order
    found_ns: int = 0  #: when something new was listed last
    whose: tuple[str, str, str] | None = None  #: what the line read last is of
    again: bool = False  #: the file is another by now, and no line of it has been read

    def begin_again(self) -> None:
        """Take in that the file is not the one that was read."""
        self.offset, self.rest, self.last, self.again = 0, b"", b"", True

    def listed(self, file: File) -> None:
        """Take in a file of this listing; files that are done are left out."""
        if file.number == self.number and file.size_bytes < self.offset:
            self.begin_again()
        if file.number > self.number or (file.number == self.number and file.size_bytes > self.offset):
            self.waiting.append(file)

    def wanted(self) -> _Read | None:
        """Return what is to be read next of what was listed."""
        while self.waiting:
            file = self.waiting[0]
            if file.number != self.number:
                self.before = (self.name, self.offset, self.rest) if self.number >= 0 else None
                self.number, self.name = file.number, file.name
                self.offset, self.rest, self.last = 0, b"", b""
            if file.size_bytes > self.offset:
                known = len(self.last)
                length = min(SLAB_BYTES, file.size_bytes - self.offset)
                return _Read(file.name, self.offset - known, known + length, file.modified_ns)
            self.waiting.popleft()
        return None


class Log:
    """An event log that is read as it grows.

    Args:
        place: Where it lies.
        now: Returns nanoseconds since 1970.
        job: The only job to read; default: those that have written in the last ten minutes, else the newest,
            and every one that writes later on.
        everything: Read all jobs there are.
    """

    ended = False  # another job may begin at any time

    def __init__(
        self, place: Place, now: Callable[[], int], *, job: str | None = None, everything: bool = False
    ) -> None:
        self._place, self._now, self._job = place, now, job
        self._tails: dict[tuple[str, str], Tail] = {}
        #: Jobs that are not read, with what was known of them when that was decided.
        self._ignored: dict[str, tuple[int, int]] = {}
        self._decided = everything or job is not None
        self._caught_up = False
        self._files, self._whole_ns = 0, 0  #: of the last list of all: how many, and when
        #: Of the last look: what could not be read, and how many reads could.
        self._failed: list[HaulageError] = []
        self._came = 0
        self._readers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="haul-watch")

    @property
    def name(self) -> str:
        """Where it lies, for people."""
        return self._place.name

    def close(self) -> None:
        """Let go of the threads that read."""
        self._readers.shutdown(wait=False, cancel_futures=True)

    def read(self) -> Iterator[Batch]:
        """Yield what is new, in pieces.

        Raises:
            HaulageError: The store is away, or there is no log. Calling it again continues where it stopped.
        """
        self._failed, self._came = [], 0
        self._list()
        tails = list(self._tails.values())
        while True:
            reads = [(tail, wanted) for tail in tails if (wanted := tail.wanted())]
            if not reads:
                break
            for start in range(0, len(reads), AT_ONCE):
                yield from self._slabs(reads[start : start + AT_ONCE])
            tails = [tail for tail, _ in reads]
        if self._failed and not self._came:
            raise self._failed[0]
        self._caught_up = True

    def _slabs(self, reads: list[tuple[Tail, _Read]]) -> Iterator[Batch]:
        bodies = [
            self._readers.submit(self._place.read, read.name, read.start, read.length) for _, read in reads
        ]
        for (tail, read), body in zip(reads, bodies, strict=True):
            try:
                data = body.result()
            except HaulageError as error:
                # One that is not to be read hides no other.
                self._failed.append(error)
                tail.waiting.clear()
                continue
            self._came += 1
            known = len(tail.last)
            if len(data) <= known:
                # Shorter than it was listed: whatever it is, it is not read again before it is listed anew.
                tail.waiting.clear()
            elif data[:known] != tail.last:
                # At the next look, so that this one ends whatever somebody does to the file.
                tail.begin_again()
                tail.waiting.clear()
            else:
                yield self._batch(tail, data[known:], read.modified_ns)

    def _list(self) -> None:
        for tail in self._tails.values():
            tail.waiting.clear()
        now = self._now()
        if self._caught_up and self._files > MANY and now - self._whole_ns < WHOLE_NS:
            self._look_ahead(now)
            return
        jobs: dict[str, list[File]] = {}
        for file in self._place.files(self._job):
            jobs.setdefault(file.job, []).append(file)
        self._files = sum(map(len, jobs.values())) if self._place.pieces else 0
        self._whole_ns = now
        for job in self._chosen(jobs):
            self._listed(jobs[job], now)

    def _listed(self, files: Iterable[File], now: int) -> None:
        for file in sorted(files, key=lambda file: file.number):
            tail = self._tails.setdefault((file.job, file.folder), Tail())
            tail.listed(file)
            if tail.waiting:
                tail.found_ns = now

    def _look_ahead(self, now: int) -> None:
        """Find what is new without a list of all there is: streams that have begun, and the next pieces."""
        known = {job for job, _ in self._tails}
        jobs = [self._job] if self._job is not None else [*self._place.jobs()]
        for job in jobs:
            if job not in known and job not in self._ignored:
                self._listed(self._place.files(job), now)
        new = [
            (job, folder, 0)
            for job in known.intersection(jobs)
            for folder in self._place.streams(job)
            if (job, folder) not in self._tails
        ]
        # From the one that was read last on: reading it may have failed.
        awake = [
            (job, folder, max(0, tail.number))
            for (job, folder), tail in self._tails.items()
            if now - tail.found_ns < ASLEEP_NS
        ]
        for files, error in self._readers.map(self._following, new + awake):
            self._listed(files, now)
            if error is not None:
                self._failed.append(error)

    def _following(self, one: tuple[str, str, int]) -> tuple[list[File], HaulageError | None]:
        """Return the files from this one on, and what ended that too early."""
        files: list[File] = []
        try:
            files.extend(self._place.following(*one))
        except HaulageError as error:
            return files, error
        return files, None

    def _chosen(self, jobs: dict[str, list[File]]) -> list[str]:
        """Return the jobs to read; decide at the first listing in which there are any."""
        known = {
            job: (max(file.modified_ns for file in files), sum(file.size_bytes for file in files))
            for job, files in jobs.items()
        }
        if not self._decided and known:
            self._decided = True
            newest = max(modified for modified, _ in known.values())
            since = min(newest, self._now() - RECENT_NS)
            self._ignored = {job: of for job, of in known.items() if of[0] < since}
        for job in [job for job, before in self._ignored.items() if known.get(job, before) != before]:
            del self._ignored[job]
        return [job for job in jobs if job not in self._ignored]

    def _batch(self, tail: Tail, data: bytes, modified_ns: int) -> Batch:
        text, rest = whole_lines(tail.rest, data)
        lines: list[Line] = []
        unread = 0
        for line in lines_of_log(text):
            if line is None:
                unread += 1
                continue
            if tail.before and line.seq is not None:
                if line.seq > tail.seen.next:
                    unread += self._look_again(tail, lines)
                tail.before = None
            self._take(tail, line, lines)
        # Only now: where the second look failed, all of this is read again.
        tail.offset += len(data)
        tail.last = (tail.last + data)[-AGAIN_BYTES:]
        tail.rest = rest if len(rest) <= LONGEST_BYTES else b""
        return Batch(lines, self._caught_up, unread, modified_ns=modified_ns)

    def _look_again(self, tail: Tail, lines: list[Line]) -> int:
        """Read what came late to the file before, so that nothing is wrongly said to be missing."""
        assert tail.before is not None
        name, offset, rest = tail.before
        unread = 0
        while data := self._place.read(name, offset, SLAB_BYTES):
            offset += len(data)
            text, rest = whole_lines(rest, data)
            for line in lines_of_log(text):
                if line is None:
                    unread += 1
                else:
                    self._take(tail, line, lines)
        return unread

    def _take(self, tail: Tail, line: Line, lines: list[Line]) -> None:
        """Let a line through unless it has come already; say what is missing before it."""
        if tail.again and tail.whose != line[:3]:
            # Another process has another count.
            tail.seen, tail.missing = Seen(), 0
        tail.again, tail.whose = False, line[:3]
        if line.seq is not None:
            if not tail.seen.new(line.seq):
                return
            missing = tail.seen.missing()
            if missing != tail.missing:
                tail.missing = missing
                lines.append(noticed(line, "gap", {"lost": missing}))
        lines.append(line)


def log_at(
    source: str,
    now: Callable[[], int],
    *,
    job: str | None = None,
    everything: bool = False,
    options: StoreOptions | None = None,
) -> Log:
    """Return the log in a store or a folder."""
    place = Prefix(source, options or {}) if "://" in source else Folder(Path(source))
    return Log(place, now, job=job, everything=everything)
