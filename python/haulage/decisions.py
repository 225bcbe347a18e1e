"""What the engine decides and why, through Python's ``logging``."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from typing import Literal

from haulage import _engine

_LEVELS = {1: logging.INFO, 2: logging.DEBUG}
_OF_WORD = {None: 0, "info": 1, "debug": 2}
_log = logging.getLogger("haulage")
_lock = threading.RLock()
_thread: threading.Thread | None = None


def verbose(level: Literal["info", "debug"] | None = "info") -> None:
    """Send what the engine decides to the logger ``haulage``, as ``haul -v`` says it; no secret is in it.

    ``logging.basicConfig(level="INFO")`` shows it. The messages come from a thread of their own, a moment
    later.

    >>> verbose("debug")
    >>> verbose(None)

    Args:
        level: ``"info"`` (default) for decisions: who asks, where, through what; what becomes of each object;
            what is tried again, and why. ``"debug"`` for each request and what is skipped, too. ``None``
            for no more.

    Raises:
        ValueError: Another level.
    """
    if level not in _OF_WORD:
        raise ValueError(f'{level!r} is not a level; write "info", "debug" or None')
    with _lock:
        _engine.hear_decisions(_OF_WORD[level])
        if level is not None:
            _start()


def _start() -> None:
    global _thread
    if _thread is None or not _thread.is_alive():
        _thread = threading.Thread(target=_forward, name="haulage-verbose", daemon=True)
        _thread.start()


def _forward() -> None:
    global _thread
    while True:
        messages = _engine.heard(1.0)
        if messages is None:
            with _lock:
                messages = _engine.heard(0.0)
                if messages is None:
                    # Whoever asks for more from now on starts another.
                    _thread = None
                    return
        _write(messages)


def _write(messages: list[tuple[int, str]]) -> None:
    for level, text in messages:
        _log.log(_LEVELS[level], "%s", text)


@atexit.register
def _last() -> None:
    # What was said last is logged before the interpreter goes.
    while messages := _engine.heard(0.0):
        _write(messages)


def _in_a_child() -> None:
    """Log what a forked child says, and leave to the parent what was said before."""
    global _lock, _thread
    forwards, _lock, _thread = _thread is not None, threading.RLock(), None
    if forwards:
        while _engine.heard(0.0):
            pass
        _start()


os.register_at_fork(after_in_child=_in_a_child)
