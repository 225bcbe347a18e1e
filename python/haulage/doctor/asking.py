"""One question at a time, in a process of its own: whatever hangs in it is ended when its time is over.

A lookup of a name cannot be called off, nor can a read from a network file system. The question and its
options go by standard input, so that no secret stands on a command line.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from haulage.doctor import attempts
from haulage.doctor.finding import NotMeasuredError
from haulage.errors import BY_CODE, HaulageError, LocalIOError, StalledError

#: What a process may take to start on a busy machine, besides the time of the question itself.
START_S = 20.0

#: Time spent waiting for a processor does not count, until a question has taken this many times its own.
STRETCH = 3.0

#: What is looked at, in words.
WORDS = {
    "way": "where the URL leads",
    "resolve": "the address of the host",
    "tls": "TLS",
    "knock": "the connection to the service",
    "knock_crc64": "whether the service supports CRC64",
    "identity": "which credential is used",
    "look": "listing and reading",
    "write": "writing",
    "disk": "the disk",
    "count": "how much there is to copy",
    "count_local": "how much there is to copy",
    "inventory_here": "which packages are installed",
    "inventory_of_nodes": "the nodes of the cluster",
    "uploaded": "the uploaded file",
}

#: How much these processes say on standard error of what the engine decides: ``-v`` is 1, ``-vv`` 2.
verbose = 0


@dataclass(frozen=True)
class Answer:
    """What came of a question: a value, or an error; and what was known before it ended."""

    value: Any = None
    error: HaulageError | None = None
    partial: list[Any] = field(default_factory=list)
    late: bool = False  #: whether its time was over, whatever is known of why

    @property
    def hung(self) -> bool:
        """Whether nothing was heard until its time was over; not where this machine was too busy to look."""
        return isinstance(self.error, StalledError) and not isinstance(self.error, NotMeasuredError)

    @property
    def failing(self) -> bool:
        """Whether its time was over while one attempt after another failed; the error says how."""
        return self.late and not isinstance(self.error, StalledError)


def ask(question: str, timeout_s: float, **arguments: Any) -> Answer:
    """Ask a question of :mod:`haulage.doctor.answering`; wait for the answer no longer than this.

    Time in which its process waited for a processor does not count, so that a busy machine is not taken for a
    service or a disk that hangs.

    Raises:
        KeyboardInterrupt: Ctrl-C; the process that answers has been ended.
    """
    # Not -I: whoever has set PYTHONPATH has found us by it.
    command = [sys.executable, "-m", "haulage.doctor.answering"]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if verbose else subprocess.DEVNULL,
        )
    except OSError as error:
        hint = "raise the limits of processes and open files: ulimit -u 4096; ulimit -n 4096"
        return Answer(error=LocalIOError("start", "a process", error.strerror or str(error), hint))
    request = json.dumps(
        {
            "question": question,
            "timeout_s": timeout_s,
            "most_s": STRETCH * timeout_s,
            "arguments": arguments,
            "verbose": verbose,
        }
    )
    try:
        said, _ = process.communicate(request.encode(), STRETCH * timeout_s + START_S)
        hung = False
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
        hung = True
    except BaseException:
        process.kill()
        process.wait()
        raise
    return _read(question, said, hung, timeout_s, process.returncode)


def _read(question: str, said: bytes, hung: bool, timeout_s: float, code: int) -> Answer:
    partial: list[Any] = []
    failed: list[dict[str, Any]] = []
    started, words = False, WORDS[question]
    for line in said.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        started = True
        if "late" in told:
            return Answer(error=_late(words, told["late"], timeout_s, failed), partial=partial, late=True)
        if "partial" in told:
            partial.append(told["partial"])
            # What is known is over; only attempts of what was under way at the end say why it did not end.
            failed.clear()
        elif "failed" in told:
            failed.append(told["failed"])
        elif "error" in told:
            error = dict(told["error"])
            return Answer(error=BY_CODE[error.pop("code")](**error), partial=partial)
        elif "value" in told:
            return Answer(value=told["value"], partial=partial)
    if hung:
        waited_s = 0.0 if started else timeout_s
        return Answer(error=_late(words, waited_s, timeout_s, failed), partial=partial, late=True)
    cause = f"the process that checked ended with {code}"
    hint = "check whether this machine is short of memory or another limit: ulimit -a"
    return Answer(error=LocalIOError("check", words, cause, hint), partial=partial)


def _late(words: str, starved_s: float, timeout_s: float, failed: list[dict[str, Any]]) -> HaulageError:
    """Return what to say of a question whose time was over.

    Args:
        words: What was looked at.
        starved_s: How much of the time it waited for a processor.
        timeout_s: The time.
        failed: The attempts that failed meanwhile: what they met says more than that the time was over.
    """
    known = attempts.as_error(words, failed, timeout_s)
    if known is not None:
        return known
    more = f"allow more time: --timeout {max(30, round(2 * timeout_s))}s"
    if 2 * starved_s < timeout_s:
        return StalledError("check", words, f"no answer within {timeout_s:g} s", more)
    cause, hint = "this machine is too busy to tell", f"try again when it is less busy, or {more}"
    return NotMeasuredError("check", words, cause, hint)
