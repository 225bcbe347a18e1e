"""The experiment that would settle what limited one job: a command, and what each outcome means."""

from __future__ import annotations

from dataclasses import dataclass

from haulage.causes.evidence import Evidence, Told
from haulage.causes.jobs import NO_LIMITS, may_all_be_processors
from haulage.causes.verdict import Verdict
from haulage.causes.vocabulary import GIVING_WAY
from haulage.words.numbers import format_rate, round_size, time_words

_RECORD = "--record again.parquet"
_MORE = f"haul cp SRC DST --concurrency {{doubled}} {_RECORD}"
_TO_MEMORY = f"haul cp SRC /dev/shm/copy {_RECORD}"
_ONE_LARGE = (
    f"haul cp ONE-LARGE-FILE DST --concurrency {{lanes}} {_RECORD}",
    "clearly faster than {now}: each request costs time whatever it carries, and fewer, larger ones help; as"
    " fast as now: it is the rate at which bytes travel",
)
_TWICE = (
    _MORE,
    "clearly faster than {now}: it was each connection, and more of them help; as fast as now: it is"
    " something that all share",
)
_WAITS = (
    _MORE,
    "about twice {now}: it was the wait for answers; as fast as now: the service queues its requests, or"
    " something else is full",
)
_FEWER = (
    f"haul cp SRC DST --concurrency {{halved}} {_RECORD}",
    "fewer of them: the path, or something on it, does not take so many connections; as many: it fails"
    " whatever is asked of it",
)
_PLAN = (
    "haul plan SRC DST",
    "about {before} too: it was finding out what to copy; clearly less: it was something else, such as the"
    " start of a node",
)
#: By cause, and direction where it matters: a command, and what each outcome means.
_SETTLES = {
    "one-at-a-time": (
        f"haul cp SRC DST --concurrency 8 {_RECORD}",
        "several times {now}: it was that one request waited for the other; as fast as now: one connection"
        " already fills the path or the disk",
    ),
    "mixed": (
        _MORE,
        "clearly faster than {now}: each request waited, or each connection had its limit, and more of them"
        " help; as fast as now: it is something that all share",
    ),
    "connection-rate": _TWICE,
    "bytes": _TWICE,
    "total-rate": (
        "haul lab run ceiling --to URL",
        "about {now} there too: it is the path or the service; clearly more: it is this machine, its disk, or"
        " how the job was set",
    ),
    "answers": _WAITS,
    "latency": _WAITS,
    **dict.fromkeys(("service", "own-time", "unknown"), _ONE_LARGE),
    "throttled": (
        f"haul cp SRC DST --cap {{half}}mbit {_RECORD}",
        "no refusals: they came from the rate, and a cap between the two is best; as many as now: they come"
        " whatever is sent, ask the provider",
    ),
    "pacing": (
        f"haul cp SRC DST --cap {{doubled_cap}} {_RECORD}",
        "clearly faster than {now}: it was the cap; as fast as now: something else has the same limit",
    ),
    "polite": (
        f"haul cp SRC DST {_RECORD}",
        "without --polite: clearly faster than {now}: it gave way to other traffic, or to what it had put in"
        " line itself; as fast as now: ask haul why about that record",
    ),
    "memory": (
        f"haul cp SRC DST --max-memory {{doubled_memory}} --concurrency {{doubled}} {_RECORD}",
        "clearly faster than {now}: more requests in flight help, and --max-memory had no room for them; as"
        " fast as now: it is something that all share",
    ),
    "commit": (
        f"haul cp SRC DST --single-put-max 64MiB {_RECORD}",
        "clearly faster than {now}: it was the commits that blocks need; as fast as now: it is something"
        " else",
    ),
    "disk up": (
        f"cp -r SRC /dev/shm/copy && haul cp /dev/shm/copy DST {_RECORD}",
        "clearly faster than {now}: it was the disk read from; as fast as now: {other}",
    ),
    "disk down": (
        _TO_MEMORY,
        "clearly faster than {now}: it was the disk written to; as fast as now: {other}",
    ),
    "source": (
        _TO_MEMORY,
        "as fast as now ({now}): it is the source, or the way from it; clearly faster: it is where the copy"
        " goes, or what the two ways share",
    ),
    "checksum": (
        f"haul cp SRC DST --checksum crc64 {_RECORD}",
        "faster than with the checksum of this job: it was that; as fast as now: it is something else",
    ),
    "cpu": (
        f"haul cp SRC DST {_RECORD}",
        "while nothing else runs on this machine (top shows what does): clearly faster than {now}: it was the"
        " processors; as fast as now: slots were not used, or it is something else",
    ),
    "starved up": (
        "time PRODUCER > /dev/null",
        "with what feeds the pipe, or cat for files: about {wall} too: it was that; clearly less: it is"
        " finding out what to copy, for which haul plan takes as long",
    ),
    "starved down": (
        _TO_MEMORY,
        "clearly faster than {now}: it was what takes the bytes; as fast as now: it is finding out what to"
        " copy, for which haul plan takes as long",
    ),
    "connect": _FEWER,
    "failures": _FEWER,
    "listing": _PLAN,
    "before": _PLAN,
    "nodes": (
        f"haul cp SRC DST {_RECORD}",
        "without --nodes: about {before} sooner: it was the start of the nodes, and one process is faster for"
        " a job of this size; no sooner: it is something else",
    ),
    "after": (
        f"haul cp SRC DST --no-flush {_RECORD}",
        "{after} sooner: it was the disk; no sooner: it is something else",
    ),
    "": (f"haul cp SRC DST {_RECORD}", "with {larger} or more, so that it takes ten seconds or longer"),
}
#: Of the memory of a job, from which it holds back requests.
FULL = 0.75
#: Where causes share the time: those of which one alone can be changed come first, then the number in flight.
_ALONE = ("disk", "source", "checksum", "failures", "commit", "connect", "service", "own-time", "unknown")


@dataclass(frozen=True)
class Experiment:
    """What would settle it: a command, what each outcome means, and options of the job that it is without."""

    command: str
    outcome: str
    without: tuple[str, ...] = ()


def settles(found: Verdict, evidence: Evidence, cause: str = "") -> Experiment | None:
    """Return what would settle the cause; ``None`` where there is nothing to settle.

    Args:
        found: The verdict.
        evidence: That it stands on.
        cause: Of a verdict that names several, the one to look into; default the verdict's own.
    """
    cause = cause or found.cause
    if cause in NO_LIMITS:
        return None
    if cause == "mixed":
        if may_all_be_processors(found):
            return settles(found, evidence, "cpu")
        alone = next((one for one in _ALONE if one in found.sharing), None)
        if alone is not None:
            return settles(found, evidence, alone)
    key = f"{cause} {evidence.direction}" if cause in ("disk", "starved") else cause
    told = evidence.told or Told()
    if told.is_polite and cause in GIVING_WAY:
        key = "polite"
    elif _SETTLES.get(key, ("",))[0] == _MORE and _is_memory_full(evidence, told):
        key = "memory"
    command, outcome = _SETTLES.get(key, _SETTLES[""])
    words = {
        "now": format_rate(evidence.rate_bits_per_second),
        "doubled": 2 * max(1, evidence.lanes),
        "lanes": max(1, evidence.lanes),
        "halved": max(1, evidence.lanes // 2),
        "half": max(1, round(evidence.rate_bits_per_second / 2e6)),
        "other": "it was not" if found.status == "seen" else "it was this machine's processors, or the path",
        "wall": time_words(evidence.wall_ns),
        "before": time_words(evidence.before_ns),
        "after": time_words(evidence.after_ns),
        "larger": round_size(max(10 * evidence.bytes, 10**8)),
        "doubled_cap": f"{2 * (told.cap_bits_per_second or 0) / 1e6:g}mbit",
        "doubled_memory": f"{2 * told.memory_bytes >> 20}MiB",
    }
    without = ("--polite",) if key == "polite" else ()
    return Experiment(command.format_map(words), outcome.format_map(words), without)


def _is_memory_full(evidence: Evidence, told: Told) -> bool:
    """Whether what was in flight took most of the memory, so that more requests have no room."""
    return evidence.lanes * (evidence.usual_bytes or 0) >= FULL * told.memory_bytes
