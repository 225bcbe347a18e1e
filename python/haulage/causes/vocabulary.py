"""The causes that a verdict may name: the code of each, what it is called, and what to do about it."""

from __future__ import annotations

#: What each is called.
CAUSES = {
    "total-rate": "the total rate of the path",
    "connection-rate": "a bound on each connection",
    "latency": "round trips",
    "throttled": "refusals by the service (503)",
    "commit": "slow commits",
    "disk": "the disk",
    "cpu": "the processors of this machine",
    "server": "a limit of the service on requests per second",
    "connect": "making connections",
    "pacing": "the cap that was set",
    "checksum": "computing checksums",
    "mixed": "more than one cause",
    "changed": "a path that changed during the transfer",
    "ordering": "putting pieces in order",
    # Seen in the record of one job alone, from here on.
    "one-at-a-time": "one request at a time",
    "service": "the service's time for each request",
    "answers": "waiting for answers",
    "own-time": "each request's own time",
    "bytes": "bytes on their way",
    "unknown": "answers and bytes together",
    "source": "reading from the source",
    "failures": "requests that failed",
    "listing": "listing what to copy",
    "nodes": "starting the nodes",
    "before": "what came before the first request",
    "after": "what came after the last request",
    "unused": "slots without a request",
    "polite": "giving way to other traffic (--polite)",
    "starved": "waiting for something to move",
    "short": "too short to tell",
    "few": "nothing to explain",
    "failed": "the job failed",
    "last-failed": "the last request failed",
    "empty": "no requests",
}
#: What a job that gives way to other traffic looks like.
GIVING_WAY = (
    "connection-rate",
    "total-rate",
    "bytes",
    "own-time",
    "unknown",
    "answers",
    "latency",
    "cpu",
    "mixed",
)
#: What some are called after one job, of which less is known.
OF_JOB = {
    "total-rate": "something that all requests share",
    "connection-rate": "a limit on each connection",
    "latency": "waiting for answers over the path",
    "throttled": "refusals by the service",
    "checksum": "checksums",
    "mixed": "no single cause",
    "changed": "something that changed midway",
}
#: What to do about each; of a job, :mod:`~haulage.causes.jobs` has an experiment instead.
ADVICE = {
    "total-rate": "Nothing on this side helps: more connections share the same rate. Ask for a faster link,"
    " or send less.",
    "connection-rate": "Use more connections at once: the path carries more than one connection may.",
    "latency": "Larger blocks or more requests in flight: each request waits longer for its answer than its"
    " bytes take.",
    "throttled": "Lower the rate with --cap or --concurrency, or ask the provider for a higher limit.",
    "commit": "Send small files in one request each (--single-put-max), or fewer, larger objects.",
    "disk": "Read from or write to a faster disk, or several; more connections do not help.",
    "cpu": "Use more or faster cores, or stop what else runs here.",
    "server": "Use larger blocks, so that there are fewer requests; more of them at once only queue.",
    "service": "Larger blocks or more requests in flight: the service takes long for each request, however"
    " little that carries.",
    "connect": "Keep connections open: fewer jobs with more files each.",
    "pacing": "Raise or leave out --cap.",
    "checksum": "Use the default checksum, CRC64: an MD5 takes eighty times as long, on one core for each"
    " stream.",
    "mixed": "See the shares, and deal with the largest first.",
    "changed": "Look at each phase by itself, and ask whoever runs the network what happened at that time.",
    "ordering": "Let ranges be written where they belong, or take whole files.",
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
    return CAUSES.get(code_of(cause), "no cause was determined")


def job_words(cause: str) -> str:
    """Return what a cause is called at the beginning of a sentence about one job.

    >>> job_words("latency"), job_words("shared")
    ('waiting for answers over the path', 'something that all requests share')
    """
    return OF_JOB.get(code_of(cause)) or CAUSES[code_of(cause)]
