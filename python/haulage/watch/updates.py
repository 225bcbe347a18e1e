"""How each line changes what is known. They come from other machines: no field is taken on trust.

They may come in any order, as queues deliver them, and what is known in the end is the same. Who reads them
lets each through once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from haulage.watch import state as states, updates_of_streams as ends, updates_of_tasks as of_tasks
from haulage.watch.line import Line, as_count, as_text
from haulage.watch.state import Job, Kind, Message, State, Stream, message_of

#: Levels of Python's logging that are problems.
_BAD = ("ERROR", "CRITICAL")


def apply(state: State, line: Line, now: int, *, live: bool = True, modified_ns: int = 0) -> Message | None:
    """Take in a line that was read at ``now``; return what of it is for a person to read.

    ``live`` says that it was written since the watching began. Else it was heard when the file that it is in
    was last written to; if that is not known, its own time says when.
    """
    if line.event == "queue":
        of_tasks.queue(state, line, now)
        return None
    if line.event in of_tasks.BESIDE:
        return _kept(state, of_tasks.beside(line))
    stream = _stream(state, line, now)
    state.lines += 1
    state.changed_ns = now
    latest = stream.latest
    if line.seq is None or line.seq > latest.line:
        latest.line = latest.line if line.seq is None else line.seq
        _hear(stream, line.time_unix_ns, now, live, modified_ns)
    stream.last_unix_ns = max(stream.last_unix_ns, line.time_unix_ns)
    if "coordinator" in line.values:
        stream.coordinates = line.values["coordinator"] is True
    how = _HOW.get(line.event)
    message = _kept(state, how(state, stream, line)) if how else None
    if line.node in state.jobs[line.job].lost:
        ends.settle(state, stream)
    return message


def _hear(stream: Stream, time_unix_ns: int, now: int, live: bool, modified_ns: int) -> None:
    """Take in that something was heard, of that time by the clock of its node, and later than all before."""
    heard_ns = min(now, modified_ns or time_unix_ns)
    if live:
        # Its clock may be wrong by any amount: what counts is how much later than others of it a line comes.
        if time_unix_ns < stream.last_unix_ns - states.LATE_NS:
            # It was set back meanwhile.
            stream.lag_ns, stream.last_unix_ns = None, time_unix_ns
        lag_ns = now - time_unix_ns
        stream.lag_ns = min(lag_ns, lag_ns if stream.lag_ns is None else stream.lag_ns)
        late_ns = lag_ns - stream.lag_ns
        heard_ns = now if late_ns <= states.LATE_NS else now - late_ns
    if heard_ns > stream.heard_ns:
        stream.heard_ns = heard_ns
        stream.told_silent = stream.told_silent and now - heard_ns >= states.SILENT_NS


def tick(state: State, now: int, *, last: bool = False) -> list[tuple[Line, Message]]:
    """Return a line and a message for each stream that has fallen silent since the last time.

    Unless this is the last look, it waits until a stream has been listened to for long enough: what is known
    of the time before is by the clocks of others.
    """
    found = []
    for stream in states.streams_of(state):
        if not stream.told_silent and states.health(state, stream) == "silent":
            listened_ns = state.read_ns - stream.known_ns
            gone = state.read_ns - stream.heard_ns >= states.GONE_NS
            if listened_ns < states.SILENT_NS and not (last or gone or state.over):
                continue
            stream.told_silent = True
            since_ns = max(0, now - stream.heard_ns)
            words = f"nothing heard for {since_ns / 1e9:.0f} s, and it has not ended"
            if state.over:
                words = "the input ended before the job did: it was killed, or its output was cut"
            values = {"event": "silent", "message": words}
            line = Line(stream.job, stream.node, stream.stream, None, now, "silent", values)
            message = _kept(state, message_of(line, "ERROR", words))
            assert message is not None
            found.append((line, message))
    return found


def _kept(state: State, message: Message | None) -> Message | None:
    """Keep what is for a person to read."""
    if message is None:
        return None
    state.levels[message.level if message.level in _LEVELS else "other"] += 1
    if message.level in _BAD:
        state.problems_total += 1
        state.problems.append(message)
    else:
        state.logs_total += 1
        state.logs.append(message)
    return message


_LEVELS = ("DEBUG", "INFO", "WARNING", *_BAD)


def _stream(state: State, line: Line, now: int) -> Stream:
    job = state.jobs.get(line.job)
    if job is None:
        job = state.jobs[line.job] = Job(line.job)
    stream = job.streams.get((line.node, line.stream))
    if stream is None:
        if sum(len(one.streams) for one in state.jobs.values()) >= states.STREAMS:
            _make_room(state, job)
        stream = Stream(line.job, line.node, line.stream, known_ns=now)
        job.streams[line.node, line.stream] = stream
    return stream


def _make_room(state: State, kept: Job) -> None:
    """Forget the stream that ended first, else the one that was heard of longest ago."""
    leads = {id(lead) for job in state.jobs.values() for lead in job.leads() if not lead.end}
    every = [one for one in states.streams_of(state) if id(one) not in leads] or states.streams_of(state)
    oldest = min(every, key=lambda one: (not one.end, one.heard_ns))
    job = state.jobs[oldest.job]
    del job.streams[oldest.node, oldest.stream]
    if not job.streams and job is not kept:
        del state.jobs[oldest.job]
    state.streams_left_out += 1
    state.failed_before = state.failed_before or oldest.end in ("failed", "lost", "panicked")
    state.lost_lines_before += oldest.lost_lines


def _int(values: dict[str, Any], name: str) -> int:
    return as_count(values.get(name))


def _text(values: dict[str, Any], name: str) -> str:
    return as_text(values.get(name))


def _error(state: State, line: Line, kind: str, where: str, named: str, cause: str, count: int = 1) -> None:
    """Count an error; ``where`` is the field of :class:`Kind` that it goes into."""
    kind = kind[: states.TEXT]
    known = state.kinds.get(kind)
    if known is None:
        if len(state.kinds) >= states.KINDS:
            state.kinds_left_out += 1
            return
        known = state.kinds[kind] = Kind()
    setattr(known, where, getattr(known, where) + count)
    # The latest, and of those of one moment always the same.
    last = (known.time_unix_ns, known.object, known.cause, known.node)
    last = max(last, (line.time_unix_ns, named[: states.TEXT], cause[: states.TEXT], line.node))
    known.time_unix_ns, known.object, known.cause, known.node = last


def _progress(_: State, stream: Stream, line: Line) -> None:
    values = line.values
    if "bytes_done" not in values:
        return  # a sign of life of a worker
    stream.engine, stream.what = True, stream.what or "job"
    stream.bytes_total = max(_int(values, "bytes_total"), stream.bytes_total)
    if not ends.is_latest_sample(stream, line):
        return
    moved = _int(values, "bytes_done")
    stream.history.add(line.time_unix_ns, max(0, moved - stream.bytes_done))
    stream.bytes_done = moved
    stream.objects_total = _int(values, "objects_total")
    ends.said(stream, _int(values, "objects_done"), _int(values, "objects_failed"), summed=False)
    stream.objects_skipped = _int(values, "objects_skipped")
    stream.listed = values.get("listed") is True
    stream.rate_bits_per_second = _int(values, "rate_bits_per_second")
    stream.eta_ns = _int(values, "eta_ns") if type(values.get("eta_ns")) is int else None
    stream.in_flight, stream.retries = _int(values, "in_flight"), _int(values, "retries")
    stream.sampled_ns = stream.heard_ns
    slowest = values.get("slowest")
    stream.slowest = (
        tuple(
            (_text(one, "object"), _int(one, "age_ns"), _int(one, "bytes_done"), _int(one, "size_bytes"))
            for one in slowest[:3]
            if isinstance(one, dict)
        )
        if isinstance(slowest, list)
        else ()
    )


def _object(state: State, stream: Stream, line: Line) -> Message | None:
    values = line.values
    outcome = values.get("outcome")
    if outcome == "staged":
        return None
    ends.counted(stream, failed=outcome == "failed")
    if outcome != "failed":
        return None
    stream.errors += 1
    failure = values.get("failure")
    failure = failure if isinstance(failure, dict) else {}
    kind, source = _text(failure, "kind") or "unknown", _text(values, "source")
    cause = _text(failure, "cause")
    once = hash((line.job, source, kind))
    if once in state.failed:
        _error(state, line, kind, "objects", source, cause, count=0)
        return None
    if len(state.failed) >= states.FAILED_OBJECTS:
        del state.failed[next(iter(state.failed))]
    state.failed[once] = None
    _error(state, line, kind, "objects", source, cause)
    return message_of(line, "ERROR", f"{kind}: {cause}", object=source)


def _attempt(state: State, stream: Stream, line: Line) -> None:
    fate = _text(line.values, "fate")
    if fate in ("ok", "cancelled", ""):
        return
    stream.errors += 1
    cause, status = _text(line.values, "cause"), _int(line.values, "status")
    words = " ".join(filter(None, [str(status or ""), cause]))
    _error(state, line, fate, "attempts", _text(line.values, "object"), words)


def _warning(_: State, __: Stream, line: Line) -> Message:
    named = _text(line.values, "object")
    return message_of(line, "WARNING", _text(line.values, "message"), object=named)


def _job_error(state: State, stream: Stream, line: Line) -> Message:
    values = line.values
    kind, named, cause = _text(values, "kind"), _text(values, "object"), _text(values, "cause")
    ends.error(state, stream, line, f"{kind}: {cause}")
    stream.errors += 1
    _error(state, line, kind or "unknown", "others", named, cause)
    return message_of(line, "ERROR", f"{_text(values, 'operation')} failed: {kind}: {cause}", object=named)


def _node_lost(state: State, _: Stream, line: Line) -> Message:
    lost, cause = _text(line.values, "lost"), _text(line.values, "cause")
    ends.node_lost(state, line, lost, cause)
    _error(state, line, "node_lost", "others", lost, cause)
    return message_of(line, "ERROR", f"the node {lost} is lost: {cause}")


def _panic(state: State, stream: Stream, line: Line) -> Message:
    words = _text(line.values, "message")
    ends.panic(state, stream, line, words)
    stream.errors += 1
    _error(state, line, "panic", "others", "", words)
    return message_of(line, "CRITICAL", f"the engine failed: {words}")


def _log(state: State, stream: Stream, line: Line) -> Message:
    values = line.values
    level = _text(values, "level").upper()[: states.TEXT] or "INFO"
    logger, words = _text(values, "logger"), _text(values, "message")
    if level in _BAD:
        stream.errors += 1
        _error(state, line, f"log {level}", "others", logger, words)
    return message_of(line, level, words, object=logger, traceback=values.get("traceback"))


def _uncaught(state: State, stream: Stream, line: Line) -> Message:
    values = line.values
    kind, words = _text(values, "kind") or "exception", _text(values, "message")
    stream.errors += 1
    ends.caused(state, stream, line, f"{kind}: {words}")
    _error(state, line, kind, "others", "", words)
    return message_of(line, "CRITICAL", f"{kind}: {words}", traceback=values.get("traceback"))


def _gap(_: State, stream: Stream, line: Line) -> Message | None:
    before, stream.lost_lines = stream.lost_lines, _int(line.values, "lost")
    if stream.lost_lines <= before:
        return None
    where = "queue, where the log has them" if line.values.get("where") == "queue" else "log"
    words = f"lines are missing in the {where}: {stream.lost_lines - before} more, {stream.lost_lines} in all"
    return message_of(line, "ERROR", words)


_HOW: dict[str, Callable[[State, Stream, Line], Message | None]] = {
    "job_started": ends.job_started,
    "worker_started": ends.worker_started,
    "worker_ended": ends.worker_ended,
    "progress": _progress,
    "object": _object,
    "attempt": _attempt,
    "warning": _warning,
    "summary": ends.summary,
    "error": _job_error,
    "node_lost": _node_lost,
    "panic": _panic,
    "log": _log,
    "uncaught": _uncaught,
    "gap": _gap,
    "task": lambda state, stream, line: of_tasks.task(state, stream, line, _error),
    "tasks": of_tasks.sample,
    "worker_joined": of_tasks.joined,
    "worker_left": of_tasks.left,
}
