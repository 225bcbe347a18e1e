"""What is shown, as plain values: the terminal, the page and ``--json`` all draw this."""

from __future__ import annotations

from typing import Any

from haulage.watch import state as states
from haulage.watch.history import together
from haulage.watch.state import Job, Message, State, Stream

#: Rows of each list that a page shows; what is left out is counted.
NODES = 200
JOBS = 50
KINDS = 30
SLOW = 10
MESSAGES = 100

#: The order in which nodes are shown: what needs a look comes first.
_ORDER = {"panicked": 0, "lost": 1, "silent": 2, "failed": 3, "alive": 4, "quiet": 5, "done": 6}
#: A job that failed may have been run again since: what runs comes before it.
_ORDER_OF_JOBS = {**_ORDER, "failed": 5.5}
_COUNTS = (
    "objects_total",
    "objects_done",
    "objects_failed",
    "objects_skipped",
    "bytes_total",
    "bytes_done",
    "rate_bits_per_second",
    "in_flight",
    "retries",
)


_TASKS = ("running", "waiting", "done", "failed")


def snapshot(state: State, now: int, *, source: str) -> dict[str, Any]:
    """Return all that is shown of ``state``, as values of JSON.

    Args:
        state: What is known.
        now: Nanoseconds since 1970.
        source: What is watched, without a secret.
    """
    jobs = [_job(state, job, now) for job in state.jobs.values()]
    streams = states.streams_of(state)
    nodes = sorted(
        (_node(state, stream, now) for stream in streams),
        key=lambda node: (
            _ORDER[node["health"]],
            not node["objects_failed"],
            not node["errors"],
            node["node"],
            node["stream"],
        ),
    )
    healths: dict[str, int] = {}
    for node in nodes:
        healths[node["health"]] = healths.get(node["health"], 0) + 1
    jobs.sort(key=lambda job: (_ORDER_OF_JOBS[job["health"]], -job["started_unix_ns"]))
    left_out = max(0, len(nodes) - NODES) + state.streams_left_out
    return {
        "time_unix_ns": now,
        "source": source,
        "away": {"cause": state.away, "for_ns": max(0, now - state.away_ns)} if state.away else None,
        "ended": states.finished(state),
        "over": state.over,
        "exit_code": states.exit_code(state),
        "totals": _totals(jobs),
        "jobs": jobs[:JOBS],
        "jobs_left_out": max(0, len(jobs) - JOBS),
        "nodes": nodes[:NODES],
        "nodes_left_out": left_out,
        "health": healths,
        "queues": _queues(state, now),
        "beside_away": [
            {"name": name, "cause": cause, "for_ns": max(0, now - since)}
            for name, (cause, since) in sorted(state.beside_away.items())
        ],
        "tasks": _tasks(streams),
        "errors": _errors(state),
        "errors_left_out": state.kinds_left_out + max(0, len(state.kinds) - KINDS),
        "slow": _slow(state, now),
        "problems": _messages(list(state.problems)),
        "problems_left_out": max(0, state.problems_total - min(MESSAGES, len(state.problems))),
        "logs": _messages(list(state.logs)),
        "logs_left_out": max(0, state.logs_total - min(MESSAGES, len(state.logs))),
        "levels": dict(state.levels),
        "rates": _rates(state),
        "lines": state.lines,
        "lines_lost": state.lost_lines_before + sum(stream.lost_lines for stream in streams),
        "lines_unread": state.unread,
    }


def _age(state: State, stream: Stream, now: int) -> int:
    """How old a sample is, which is not more than since the log was read."""
    return max(0, min(now, state.read_ns or now) - stream.sampled_ns)


def _is_fresh(state: State, stream: Stream) -> bool:
    return not stream.end and states.health(state, stream) == "alive"


def _job(state: State, job: Job, now: int) -> dict[str, Any]:
    leads = job.leads()
    fresh = [one for one in leads if _is_fresh(state, one)]
    sums: dict[str, Any] = {name: sum(getattr(one, name) for one in leads) for name in _COUNTS}
    sums["rate_bits_per_second"] = sum(one.rate_bits_per_second for one in fresh)
    workers = [one for one in job.streams.values() if one not in leads and one.engine]
    sums["in_flight"] = max(
        sum(one.in_flight for one in fresh), sum(one.in_flight for one in workers if _is_fresh(state, one))
    )
    etas = [
        max(0, one.eta_ns - _age(state, one, now)) for one in fresh if one.eta_ns is not None and one.listed
    ]
    # Not the one that was read first, which may be another each time.
    first = min(leads, key=lambda one: (one.started_unix_ns, one.node, one.stream), default=None)
    others = list(job.streams.values())
    speak = [one for one in others if one.coordinates] or others
    return {
        "job": job.name,
        "health": states.job_health(state, job),
        "what": first.what if first else ", ".join(sorted({one.what for one in speak if one.what})[:3]),
        "sources": list(first.sources) if first else [],
        "destination": first.destination if first else "",
        "started_unix_ns": min((one.started_unix_ns or one.last_unix_ns for one in others), default=0),
        "last_unix_ns": max((one.last_unix_ns for one in others), default=0),
        "cause": first.cause if first else "",
        "listed": all(one.listed for one in leads),
        "streams": len(others),
        **sums,
        "eta_ns": max(etas, default=None),
    }


def _totals(jobs: list[dict[str, Any]]) -> dict[str, Any]:
    totals: dict[str, Any] = {name: sum(job[name] for job in jobs) for name in _COUNTS}
    totals["eta_ns"] = max((job["eta_ns"] for job in jobs if job["eta_ns"] is not None), default=None)
    running = [job for job in jobs if job["health"] not in ("done", "failed", "lost", "panicked")]
    totals["listed"] = all(job["listed"] for job in running)
    totals["jobs"], totals["jobs_running"] = len(jobs), len(running)
    totals["jobs_silent"] = sum(job["health"] == "silent" for job in running)
    totals["jobs_with_failures"] = sum(job["objects_failed"] > 0 for job in jobs)
    return totals


def _node(state: State, stream: Stream, now: int) -> dict[str, Any]:
    fresh = _is_fresh(state, stream)
    tasks = stream.tasks
    return {
        "job": stream.job,
        "node": stream.node,
        "stream": stream.stream,
        "what": stream.what or "log",
        "engine": stream.engine,
        "tasks": None if tasks is None else {name: getattr(tasks, name) for name in _TASKS},
        "health": states.health(state, stream),
        "cause": stream.cause,
        "heard_ago_ns": max(0, now - stream.heard_ns),
        "started_unix_ns": stream.started_unix_ns,
        "last_unix_ns": stream.last_unix_ns,
        "rate_bits_per_second": stream.rate_bits_per_second if fresh else 0,
        # Of a worker of a scheduler these are tasks.
        "in_flight": (tasks.running if tasks else stream.in_flight) if fresh else 0,
        "objects_done": tasks.done if tasks else stream.objects_done,
        "objects_failed": tasks.failed if tasks else stream.objects_failed,
        "bytes_done": stream.bytes_done,
        "retries": stream.retries,
        "errors": stream.errors,
        "lines_lost": stream.lost_lines,
    }


def _tasks(streams: list[Stream]) -> dict[str, int] | None:
    """Return what the schedulers have to do; ``None`` where none is watched."""
    found = [one.tasks for one in streams if one.tasks is not None and one.coordinates]
    if not found:
        return None
    return {name: sum(getattr(one, name) for one in found) for name in _TASKS}


def _queues(state: State, now: int) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "messages": one.messages,
            "messages_per_second": one.messages_per_second,
            "eta_ns": one.eta_ns,
            "counted_ago_ns": max(0, now - one.counted_ns),
            "said": one.said,
        }
        for one in sorted(state.queues.values(), key=lambda one: one.name)
    ]


def _errors(state: State) -> list[dict[str, Any]]:
    kinds: list[dict[str, Any]] = [
        {
            "kind": name,
            "attempts": kind.attempts,
            "objects": kind.objects,
            "others": kind.others,
            "time_unix_ns": kind.time_unix_ns,
            "node": kind.node,
            "object": kind.object,
            "cause": kind.cause,
        }
        for name, kind in state.kinds.items()
    ]
    kinds.sort(key=lambda kind: (-kind["others"] - kind["objects"], -kind["attempts"], kind["kind"]))
    return kinds[:KINDS]


def _slow(state: State, now: int) -> list[dict[str, Any]]:
    """Return the objects longest in flight; the coordinator and a node may both report one."""
    found: dict[str, dict[str, Any]] = {}
    for stream in states.streams_of(state):
        if stream.slowest and _is_fresh(state, stream):
            since_ns = _age(state, stream, now)
            for name, age_ns, done, size in stream.slowest:
                if name not in found or found[name]["age_ns"] < age_ns + since_ns:
                    found[name] = {
                        "object": name[: states.TEXT],
                        "job": stream.job,
                        "node": stream.node,
                        "age_ns": age_ns + since_ns,
                        "bytes_done": done,
                        "size_bytes": size,
                    }
    return sorted(found.values(), key=lambda one: (-one["age_ns"], one["object"]))[:SLOW]


def _messages(kept: list[Message]) -> list[dict[str, Any]]:
    """Return the latest, the latest first."""
    return [
        {
            "time_unix_ns": one.time_unix_ns,
            "job": one.job,
            "node": one.node,
            "event": one.event,
            "level": one.level,
            "object": one.object,
            "text": one.text,
            "traceback": one.traceback,
        }
        for one in reversed(kept[-MESSAGES:])
    ]


def _rates(state: State) -> dict[str, Any]:
    """Bits per second by the time of the lines, so that all who look see the same."""
    summed = together(lead.history for job in state.jobs.values() for lead in job.leads())
    steps = summed.steps()
    return {
        "step_ns": summed.step_ns,
        "at_unix_ns": [at_ns for at_ns, _ in steps],
        "bits_per_second": [amount * 8 * 10**9 // summed.step_ns for _, amount in steps],
    }
