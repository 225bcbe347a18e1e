"""How streams begin and end, and what they said last: of lines that come late, none undoes a later one."""

from __future__ import annotations

from typing import Any

from haulage.watch import state as states
from haulage.watch.line import Line, as_count, as_text, first_failure
from haulage.watch.state import Message, State, Stream, message_of

#: Said of a stream of which nothing better is known.
_WHATS = ("", "job")


def _number(stream: Stream, line: Line) -> int:
    """Return which line of its stream this is; one without a number follows all that have come."""
    return stream.latest.line if line.seq is None else line.seq


def settle(state: State, stream: Stream) -> None:
    """Say how a stream ended, of what it said itself and of what the coordinator said of its node.

    Its own end counts more. Lines may be read after those of the coordinator: what it wrote later than that,
    by the clocks of both, shows that it is back.
    """
    lost = state.jobs[stream.job].lost.get(stream.node)
    stream.end = "panicked" if stream.panicked else stream.ended
    stream.cause = stream.own_cause
    given_up = lost is not None and stream.last_unix_ns < lost[0] + states.BACK_NS
    if lost is not None and given_up and not stream.end and not stream.coordinates:
        stream.end, stream.cause = "lost", lost[1]


def caused(state: State, stream: Stream, line: Line, cause: str) -> None:
    """Take in why it ends as it does."""
    number = _number(stream, line)
    if number >= stream.latest.cause:
        stream.latest.cause, stream.own_cause = number, cause[: states.TEXT]
    settle(state, stream)


def _started(state: State, stream: Stream, line: Line) -> bool:
    """Take in that it began; return whether no later beginning is known."""
    number, latest = _number(stream, line), stream.latest
    if number >= latest.end:
        stream.ended = ""
    if number >= latest.panic:
        stream.panicked = False
    newest = number >= latest.start
    latest.start = max(latest.start, number)
    settle(state, stream)
    return newest


def _ended(state: State, stream: Stream, line: Line, how: str, exit_code: int | None = None) -> None:
    """Take in that it ended, unless it has begun again since then."""
    number, latest = _number(stream, line), stream.latest
    if number >= latest.end:
        latest.end, stream.exit_code = number, exit_code
        stream.ended = how if number >= latest.start else ""
    settle(state, stream)


def job_started(state: State, stream: Stream, line: Line) -> None:
    """Take in that a job began."""
    values = line.values
    stream.engine = True
    if not _started(state, stream, line):
        return
    stream.what = as_text(values.get("operation")) or "job"
    stream.started_unix_ns = as_count(values.get("started_unix_ns")) or line.time_unix_ns
    sources = values.get("sources")
    stream.sources = (
        tuple(as_text(one)[: states.TEXT] for one in sources[:20]) if isinstance(sources, list) else ()
    )
    stream.destination = as_text(values.get("destination"))[: states.TEXT]


def worker_started(state: State, stream: Stream, line: Line) -> None:
    """Take in that a worker began."""
    if _started(state, stream, line):
        program, pid = as_text(line.values.get("program")), as_count(line.values.get("pid"))
        stream.what = f"{program or 'worker'} ({pid})" if pid else program or "worker"
        stream.started_unix_ns = line.time_unix_ns


def worker_ended(state: State, stream: Stream, line: Line) -> None:
    """Take in that a worker ended."""
    stream.what = stream.what or "worker"
    _ended(state, stream, line, "done" if line.values.get("ok") is True else "failed")


def panic(state: State, stream: Stream, line: Line, words: str) -> None:
    """Take in that the engine failed. It stays so, whatever else is said of the end."""
    number, latest = _number(stream, line), stream.latest
    latest.panic = max(latest.panic, number)
    stream.panicked = latest.panic >= latest.start
    caused(state, stream, line, words)


def error(state: State, stream: Stream, line: Line, cause: str) -> None:
    """Take in that a job failed as a whole."""
    stream.engine, stream.what = True, stream.what or "job"
    _ended(state, stream, line, "failed", as_count(line.values.get("exit_code")))
    caused(state, stream, line, cause)


def node_lost(state: State, line: Line, lost: str, cause: str) -> None:
    """Take in that the coordinator has given up a node."""
    job = state.jobs[line.job]
    if lost in job.lost or len(job.lost) < states.STREAMS:
        job.lost[lost] = max(job.lost.get(lost, (0, "")), (line.time_unix_ns, cause[: states.TEXT]))
    for one in job.streams.values():
        if one.node == lost:
            settle(state, one)


def is_latest_sample(stream: Stream, line: Line) -> bool:
    """Whether no later numbers have come; from now on these are the latest."""
    number = _number(stream, line)
    if number < stream.latest.sample:
        return False
    stream.latest.sample = number
    return True


def said(stream: Stream, done: int, failed: int, *, summed: bool) -> None:
    """Take in how many objects a sample or a summary counts."""
    stream.said_done, stream.said_failed, stream.summed = done, failed, summed
    _count(stream)


def counted(stream: Stream, *, failed: bool) -> None:
    """Count an object that was reported. A sample may be older; the summary is not."""
    stream.counted_done += 1
    stream.counted_failed += failed
    _count(stream)


def _count(stream: Stream) -> None:
    done, failed = stream.said_done, stream.said_failed
    stream.objects_done = done if stream.summed else max(done, stream.counted_done)
    stream.objects_failed = failed if stream.summed else max(failed, stream.counted_failed)


def summary(state: State, stream: Stream, line: Line) -> Message | None:
    """Take in how a job ended."""
    values = line.values
    stream.engine = True
    if stream.what in _WHATS:
        stream.what = as_text(values.get("operation")) or "job"
    code = as_count(values.get("exit_code"))
    _ended(state, stream, line, "failed" if code else "done", code)
    stream.bytes_total = max(stream.bytes_total, as_count(values.get("bytes_done")))
    if is_latest_sample(stream, line):
        _sum(stream, line.time_unix_ns, values)
    if not code:
        return None
    why = first_failure(values)
    cause = f"exit code {code}" + (f": {why}" if why else "")
    caused(state, stream, line, cause)
    return message_of(line, "ERROR", f"the job ended with {cause[: states.TEXT]}")


def _sum(stream: Stream, time_unix_ns: int, values: dict[str, Any]) -> None:
    skipped, failed = (as_count(values.get(name)) for name in ("objects_skipped", "objects_failed"))
    names = ("objects_done", "objects_differ", "objects_missing", "objects_extra")
    done = sum(as_count(values.get(name)) for name in names) + skipped + failed
    stream.objects_total = max(as_count(values.get("objects_total")), done)
    stream.objects_skipped = skipped
    said(stream, done, failed, summed=True)
    moved = as_count(values.get("bytes_done"))
    stream.history.add(time_unix_ns, max(0, moved - stream.bytes_done))
    stream.bytes_done = moved
    stream.retries, stream.listed = as_count(values.get("retries")), True
    stream.rate_bits_per_second, stream.in_flight, stream.eta_ns, stream.slowest = 0, 0, None, ()
