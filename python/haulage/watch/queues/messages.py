"""Lines of a log in messages of a queue: Base64 of gzip of lines of JSON, at most 64 KiB each.

Of samples between two other lines of a stream the last is kept. The numbers of those left out stand in their
place, so that who reads the queue does not take them for lost: in lines of the event ``left_out``, whose
``seq`` is the first, and ``until`` the one behind the last.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from haulage.watch.line import LEFT_OUT, Line, as_time, lines_of_log

#: What the service takes in one message.
LONGEST_BYTES = 64 << 10
#: What is put into one, before it is packed: it bounds what a reader must hold.
WHOLE_BYTES = 512 << 10
_SAMPLE = "progress"
#: Letters that stay of a text in a line that is too long even so.
_TEXT = 8000


def without_samples(lines: Iterable[Line]) -> tuple[list[dict[str, Any]], int]:
    """Return the values of lines, without samples that a later one replaces, and how many these were.

    >>> def line(seq, event):
    ...     return Line("j", "n", "s", seq, 0, event, {"seq": seq, "event": event})
    >>> kept, left_out = without_samples([line(0, "progress"), line(1, "progress"), line(2, "summary")])
    >>> [(one["seq"], one["event"]) for one in kept], left_out
    ([(0, 'left_out'), (1, 'progress'), (2, 'summary')], 1)
    """
    kept: list[dict[str, Any]] = []
    #: Of each stream the samples since its last other line.
    runs: dict[tuple[str, str, str], _Run] = {}
    count = 0
    for line in lines:
        stream = (line.job, line.node, line.stream)
        run = runs.get(stream)
        sample = line.event == _SAMPLE and line.seq is not None
        if run is not None and (line.seq != run.until or not (sample or line.event == LEFT_OUT)):
            kept += runs.pop(stream).values()
            run = None
        if not sample and line.event != LEFT_OUT:
            kept.append(line.values)
            continue
        assert line.seq is not None
        run = runs.setdefault(stream, _Run(line, line.seq, line.seq))
        run.until = line.seq + 1 if sample else line.values["until"]
        if sample:
            count += run.sample is not None
            run.sample = line
    for run in runs.values():
        kept += run.values()
    return kept, count


@dataclass
class _Run:
    """Samples of a stream, with nothing else between them, of which the last is kept."""

    first: Line
    begin: int
    until: int
    sample: Line | None = None

    def values(self) -> Iterator[dict[str, Any]]:
        place = self.begin
        if self.sample is not None and self.sample.seq is not None:
            if place < self.sample.seq:
                yield _left_out(self.first, place, self.sample.seq)
            yield self.sample.values
            place = self.sample.seq + 1
        if place < self.until:
            yield _left_out(self.first, place, self.until)


def _left_out(of: Line, seq: int, until: int) -> dict[str, Any]:
    whose = {"job": of.job, "node": of.node, "stream": of.stream, "seq": seq}
    return {**whose, "time_unix_ns": of.time_unix_ns, "event": LEFT_OUT, "until": until}


def without_claims(line: Line) -> Line:
    """Return a line of a log as it may be sent: where it says that lines are left out, it alone is.

    >>> line = Line("j", "n", "s", 7, 0, "", {"event": "left_out", "until": 10**30})
    >>> without_claims(line).values["until"]
    8
    """
    if line.seq is None or line.values["event"] != LEFT_OUT:
        return line
    values = _left_out(line, line.seq, line.seq + 1)
    return line._replace(event=LEFT_OUT, values=values)


def packed(values: Iterable[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Yield messages that hold these lines in their order, each with how many it holds."""
    waiting: list[bytes] = []
    size = 0
    for one in values:
        text = json.dumps(one, separators=(",", ":")).encode() + b"\n"
        if waiting and size + len(text) > WHOLE_BYTES:
            yield from _fitting(waiting)
            waiting, size = [], 0
        waiting.append(text)
        size += len(text)
    if waiting:
        yield from _fitting(waiting)


def _fitting(lines: list[bytes]) -> Iterator[tuple[str, int]]:
    """Yield messages of lines, parted until each fits."""
    body = _encoded(b"".join(lines))
    if len(body) <= LONGEST_BYTES:
        yield body, len(lines)
    elif len(lines) > 1:
        middle = len(lines) // 2
        yield from _fitting(lines[:middle])
        yield from _fitting(lines[middle:])
    else:
        yield from _fitting([_shortened(lines[0])])


def _encoded(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()


def _shortened(text: bytes) -> bytes:
    """Return a line that fits, as the log shortens one: of long texts the end is kept."""
    values = json.loads(text)
    short = {
        name: f"[...]{value[-_TEXT:]}" if isinstance(value, str) and len(value) > _TEXT else value
        for name, value in values.items()
    }
    if short == values:
        # No text: nothing that the engine writes. Whose line it is stays, so that it is not taken for lost.
        short = {name: values[name] for name in ("job", "node", "stream", "seq", "time_unix_ns", "event")}
    return json.dumps({**short, "shortened": True}, separators=(",", ":")).encode() + b"\n"


def as_lines(values: Iterable[dict[str, Any]]) -> Iterator[Line]:
    """Return lines of their values, as :func:`without_samples` takes them."""
    for one in values:
        yield Line(one["job"], one["node"], one["stream"], one["seq"], one["time_unix_ns"], one["event"], one)


def unpacked(content: str) -> list[Line] | None:
    """Return the lines of a message; ``None`` where it is none of ours: it holds anything but lines of a log.

    Others pack their messages the same way, so that only their lines tell whose they are.

    >>> line = {"job": "0" * 16, "node": "n", "stream": "s", "seq": 0, "time_unix_ns": 1, "event": "log"}
    >>> [(message, count)] = packed([line])
    >>> unpacked(message)[0].values == line, unpacked("hello")
    (True, None)
    """
    try:
        body = base64.b64decode(content, validate=True)
        unpacker = zlib.decompressobj(wbits=31)
        data = unpacker.decompress(body, 2 * WHOLE_BYTES)
    except (binascii.Error, zlib.error, ValueError):
        return None
    if not unpacker.eof or unpacker.unused_data:
        return None
    lines = list(lines_of_log(data.decode("utf-8", "replace")))
    ours = [_of_queue(line) for line in lines if line is not None]
    return ours if ours and len(ours) == len(lines) else None


def _of_queue(line: Line) -> Line:
    """Return a line of a queue, where lines may say that others are left out."""
    until = as_time(line.values.get("until"))
    if line.values["event"] == LEFT_OUT and line.seq is not None and until is not None and line.seq < until:
        return line._replace(event=LEFT_OUT)
    return line
