"""The process that answers one question of :mod:`haulage.doctor.asking`; run as ``python -m``."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: What has the questions, in the order in which it is loaded soonest: a question needs one of them.
_HOMES = ("network_questions", "disk_questions", "store_questions", "upload_question", "package_questions")
#: What a question has found out before it ends.
Tell = Callable[[Any], None]


def main() -> int:
    """Read the question, answer it, end."""
    request = json.loads(sys.stdin.buffer.read())
    # What the engine or a library prints by itself belongs nowhere.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    writing = threading.Lock()

    def say(**line: Any) -> None:
        with writing:
            out.write(json.dumps(line) + "\n")
            out.flush()

    from haulage.errors import HaulageError, LocalIOError

    # Loading all of this takes seconds on a busy machine, and is no part of the question.
    answer = _answer(request["question"])
    say(started=True)
    # Where the time is over this process ends, however deep it sits in a call.
    threading.Thread(target=_watch, args=(say, request), daemon=True).start()

    from haulage.doctor import attempts

    attempts.report(say, request.get("verbose", 0))
    try:
        value = answer(lambda known: say(partial=known), **request["arguments"])
    except HaulageError as error:
        say(error=_shown(error))
    except OSError as error:
        shown = LocalIOError(
            request["question"], str(error.filename or "this machine"), error.strerror or str(error)
        )
        say(error=_shown(shown))
    else:
        say(value=value)
    # Nothing that is still under way is waited for.
    os._exit(0)


def _watch(say: Callable[..., None], request: dict[str, Any]) -> None:
    """End this process when the time is over; what was spent waiting for a processor does not count."""
    began, before = time.monotonic(), starved_s()
    while True:
        taken_s, waited_s = time.monotonic() - began, starved_s() - before
        left_s = min(request["timeout_s"] - (taken_s - waited_s), request["most_s"] - taken_s)
        if left_s <= 0:
            break
        time.sleep(left_s)
    say(late=waited_s)
    os._exit(0)


def starved_s(tasks: Path = Path("/proc/self/task")) -> float:
    """Return for how long a thread of this process was ready and had no processor: that which waited longest.

    0 where the kernel does not count it.
    """
    waited = [0.0]
    for file in tasks.glob("*/schedstat"):
        # A thread may end meanwhile.
        with contextlib.suppress(OSError, ValueError, IndexError):
            waited.append(int(file.read_text().split()[1]) / 1e9)
    return max(waited)


def _shown(error: Any) -> dict[str, Any]:
    names = ("code", "operation", "object", "cause", "hint")
    return {name: getattr(error, name) for name in names}


def _answer(question: str) -> Callable[..., Any]:
    from importlib import import_module

    for home in _HOMES:
        questions: dict[str, Callable[..., Any]] = import_module(f"haulage.doctor.{home}").QUESTIONS
        if question in questions:
            return questions[question]
    raise KeyError(question)


if __name__ == "__main__":
    sys.exit(main())
