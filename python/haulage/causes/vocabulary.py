"""The causes that a verdict may name: the code of each, what it is called, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Named:
    """The words of a cause.

    Attributes:
        words: What it is called.
        advice: What to do about it; empty for what only the record of a job shows, which gets an experiment.
        of_job: What it is called after one job, in which less is known; empty if that is the same.
    """

    words: str
    advice: str = ""
    of_job: str = ""


CAUSES = {
    "total-rate": Named(
        "the total rate of the path",
        "Nothing on this side helps: more connections share the same rate. Ask for a faster link, or send"
        " less.",
        "something that all requests share",
    ),
    "connection-rate": Named(
        "a bound on each connection",
        "Use more connections at once: the path carries more than one connection may.",
        "a limit on each connection",
    ),
    "latency": Named(
        "round trips",
        "Larger blocks or more requests in flight: each request waits longer for its answer than its"
        " bytes take.",
        "waiting for answers over the path",
    ),
    "throttled": Named(
        "refusals by the service (503)",
        "Lower the rate with --cap or --concurrency, or ask the provider for a higher limit.",
        "refusals by the service",
    ),
    "commit": Named(
        "slow commits",
        "Send small files in one request each (--single-put-max), or fewer, larger objects.",
    ),
    "disk": Named(
        "the disk", "Read from or write to a faster disk, or several; more connections do not help."
    ),
    "cpu": Named("the processors of this machine", "Use more or faster cores, or stop what else runs here."),
    "server": Named(
        "a server that takes one request at a time",
        "Use larger blocks, so that there are fewer requests; more of them at once only queue.",
    ),
    "connect": Named("making connections", "Keep connections open: fewer jobs with more files each."),
    "pacing": Named("the cap that was set", "Raise or leave out --cap."),
    "checksum": Named(
        "computing checksums",
        "Use the default checksum, CRC64: an MD5 takes eighty times as long, on one core for each stream.",
        "checksums",
    ),
    "mixed": Named(
        "more than one cause", "See the shares, and deal with the largest first.", "no single cause"
    ),
    "changed": Named(
        "a path that changed during the transfer",
        "Look at each phase by itself, and ask whoever runs the network what happened at that time.",
        "something that changed midway",
    ),
    "ordering": Named(
        "putting pieces in order", "Let ranges be written where they belong, or take whole files."
    ),
    "one-at-a-time": Named("one request at a time"),
    "service": Named("the service's time for each request"),
    "answers": Named("waiting for answers"),
    "own-time": Named("each request's own time"),
    "bytes": Named("bytes on their way"),
    "unknown": Named("answers and bytes together"),
    "source": Named("reading from the source"),
    "failures": Named("requests that failed"),
    "listing": Named("listing what to copy"),
    "nodes": Named("starting the nodes"),
    "before": Named("what came before the first request"),
    "after": Named("what came after the last request"),
    "unused": Named("slots without a request"),
    "starved": Named("waiting for something to move"),
    "short": Named("too short to tell"),
    "few": Named("nothing to explain"),
    "failed": Named("the job failed"),
    "last-failed": Named("the last request failed"),
    "empty": Named("no requests"),
}
#: Earlier codes of `haul why`, by today's. They can be read as well, and its JSON keeps them for one release.
EARLIER = {"total-rate": "shared", "checksum": "hash", "cpu": "processors"}
_TODAY = {earlier: code for code, earlier in EARLIER.items()}


def code_of(code: str) -> str:
    """Return today's code of a cause.

    >>> code_of("hash"), code_of("disk")
    ('checksum', 'disk')
    """
    return _TODAY.get(code, code)


def cause_words(cause: str) -> str:
    """Return what a cause is called.

    >>> cause_words("latency"), cause_words("undetermined")
    ('round trips', 'no cause was determined')
    """
    named = CAUSES.get(code_of(cause))
    return named.words if named else "no cause was determined"


def job_words(cause: str) -> str:
    """Return what a cause is called at the beginning of a sentence about one job.

    >>> job_words("latency"), job_words("shared")
    ('waiting for answers over the path', 'something that all requests share')
    """
    named = CAUSES[code_of(cause)]
    return named.of_job or named.words
