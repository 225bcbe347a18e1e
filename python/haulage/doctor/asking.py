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

from haulage.errors import BY_CODE, HaulageError, LocalIOError, StalledError

#: What a process takes to start on a busy machine, besides the time of the question itself.
START_S = 3.0

#: How much these processes say on standard error of what the engine decides: ``-v`` is 1, ``-vv`` 2.
verbose = 0


@dataclass(frozen=True)
class Answer:
    """What came of a question: a value, or an error; and what was known before it ended."""

    value: Any = None
    error: HaulageError | None = None
    partial: list[Any] = field(default_factory=list)

    @property
    def hung(self) -> bool:
        """Whether its time was over."""
        return isinstance(self.error, StalledError)


def ask(question: str, timeout_s: float, **arguments: Any) -> Answer:
    """Ask a question of :mod:`haulage.doctor.questions`; wait for the answer no longer than this.

    Raises:
        KeyboardInterrupt: Ctrl-C; the process that answers has been ended.
    """
    # Not -I: whoever has set PYTHONPATH has found us by it.
    command = [sys.executable, "-m", "haulage.doctor.questions"]
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
        {"question": question, "timeout_s": timeout_s, "arguments": arguments, "verbose": verbose}
    )
    try:
        said, _ = process.communicate(request.encode(), timeout_s + START_S)
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
    for line in said.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if "partial" in told:
            partial.append(told["partial"])
        elif "error" in told:
            error = dict(told["error"])
            return Answer(error=BY_CODE[error.pop("code")](**error), partial=partial)
        elif "value" in told:
            return Answer(value=told["value"], partial=partial)
    if hung:
        cause = f"no answer within {timeout_s:g} s"
        return Answer(error=StalledError("wait for", question, cause), partial=partial)
    cause = f"the process that checked ended with {code}"
    hint = "check whether this machine is short of memory or another limit: ulimit -a"
    return Answer(error=LocalIOError("look at", question, cause, hint), partial=partial)
