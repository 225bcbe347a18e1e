"""What failed and was tried again while a question was under way, for when its time is over.

The engine describes attempts in words only, the same that ``haul -v`` shows; their kind is read from these
words here, and nowhere else. ``tests/test_doctor_attempts.py`` compares the words with those of the engine.
"""

from __future__ import annotations

import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from haulage.errors import BusyError, ConnectionLostError, HaulageError, IntegrityError
from haulage.words.numbers import counted

#: ``trying again in 1.1 s, after attempt 1: write az://c/a: the service is busy (hint: ...)``
_AGAIN = re.compile(
    r"trying again in .*?, after attempt \d+: (?P<what>.*?: .*?)(?: \(hint: (?P<hint>.*)\))?", re.DOTALL
)
_WORDS = {1: "info", 2: "debug"}
#: What tells of which kind of failure, the one that says most first. Silence is none of them: whoever hears
#: nothing else needs more time.
_KINDS: tuple[tuple[str, type[HaulageError]], ...] = (
    ("checksum", IntegrityError),
    ("bytes came, where", IntegrityError),
    ("is busy", BusyError),
    ("connection", ConnectionLostError),
)


def report(say: Callable[..., None], verbose: int) -> None:
    """Report each failed attempt from now on, and write to standard error what ``-v`` asks for."""
    from haulage import _engine

    _engine.hear_decisions(max(verbose, 1))
    threading.Thread(target=_forward, args=(say, verbose), daemon=True).start()


def _forward(say: Callable[..., None], verbose: int) -> None:
    from haulage._engine import heard

    while (messages := heard(1.0)) is not None:
        for level, text in messages:
            if level <= verbose:
                sys.stderr.write(f"{_WORDS[level]}: {text}\n")
                sys.stderr.flush()
            failed = _failed(text)
            if failed is not None:
                say(failed=failed)


def _failed(text: str) -> dict[str, Any] | None:
    """Return the cause of a failed attempt, and its hint; ``None`` where a message is of something else.

    >>> _failed("trying again in 1.1 s, after attempt 1: write az://c/a: it is busy (hint: wait)")
    {'cause': 'it is busy', 'hint': 'wait'}
    >>> _failed("connecting to http://127.0.0.1:1") is None
    True
    """
    found = _AGAIN.fullmatch(text)
    if found is None:
        return None
    return {"cause": found["what"].partition(": ")[2], "hint": found["hint"]}


def as_error(what: str, failed: Sequence[dict[str, Any]], within_s: float) -> HaulageError | None:
    """Return the failure that these attempts come to; ``None`` where they met nothing but silence.

    >>> as_error("writing", 3 * [{"cause": "the service is busy", "hint": "wait"}], 5.0).cause
    '3 attempts within 5 s failed: the service is busy'
    """
    for words, kind in _KINDS:
        telling = [one for one in failed if words in one["cause"]]
        if telling:
            number = counted(len(failed), "attempt")
            return kind(
                "check", what, f"{number} within {within_s:g} s failed: {causes(failed)}", telling[-1]["hint"]
            )
    return None


def causes(failed: Sequence[dict[str, Any]]) -> str:
    """Return the causes of failed attempts, each once, the most frequent first.

    >>> causes([{"cause": "a"}, {"cause": "b"}, {"cause": "b"}])
    'b (2 times), a'
    """
    counts = Counter(str(one["cause"]) for one in failed).most_common()
    if len(counts) == 1:
        return counts[0][0]
    return ", ".join(cause if number == 1 else f"{cause} ({number} times)" for cause, number in counts)
