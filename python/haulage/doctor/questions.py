"""The process that answers one question of :mod:`haulage.doctor.asking`; run as ``python -m``."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

#: What a question has found out before it ends.
Tell = Callable[[Any], None]


def main() -> int:
    """Read the question, answer it, end."""
    request = json.loads(sys.stdin.buffer.read())
    # What the engine or a library prints by itself belongs nowhere.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def say(**line: Any) -> None:
        out.write(json.dumps(line) + "\n")
        out.flush()

    # Where the time is over this process ends, however deep it sits in a call.
    timer = threading.Timer(request["timeout_s"], _late, (say, request))
    timer.daemon = True
    timer.start()
    from haulage.errors import HaulageError, LocalIOError

    if request.get("verbose"):
        from haulage._engine import say_decisions

        say_decisions(request["verbose"])
    try:
        value = _answer(request["question"])(lambda known: say(partial=known), **request["arguments"])
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


def _late(say: Callable[..., None], request: dict[str, Any]) -> None:
    cause = f"no answer within {request['timeout_s']:g} s"
    error = {"code": "stalled", "operation": "wait for", "object": request["question"], "cause": cause}
    say(error={**error, "hint": None})
    os._exit(0)


def _shown(error: Any) -> dict[str, Any]:
    names = ("code", "operation", "object", "cause", "hint")
    return {name: getattr(error, name) for name in names}


def _answer(question: str) -> Callable[..., Any]:
    from haulage.doctor import (
        asked_of_disks,
        asked_of_networks,
        asked_of_nodes,
        asked_of_stores,
        asked_of_uploads,
    )

    found: Callable[..., Any] = {
        **asked_of_disks.QUESTIONS,
        **asked_of_networks.QUESTIONS,
        **asked_of_nodes.QUESTIONS,
        **asked_of_stores.QUESTIONS,
        **asked_of_uploads.QUESTIONS,
    }[question]
    return found


if __name__ == "__main__":
    sys.exit(main())
