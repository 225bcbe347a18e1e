"""How Ctrl-C ends a command that serves: quietly, with the same exit code whenever it comes."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stopped_by_ctrl_c(stop: Callable[[], object]) -> Iterator[None]:
    """Have Ctrl-C call ``stop`` within the block, and raise nothing, also while an address is printed.

    Once it has come, it stays that way until the process ends, so that a second one does not change the exit
    code. In another thread than the main one nothing is changed: signals do not come there.

    Args:
        stop: Ends what serves, or will serve. It may only set flags: it is called between any two steps of
            the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = False

    def end(*_: object) -> None:
        nonlocal came
        came = True
        stop()

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        if not came:
            signal.signal(signal.SIGINT, before)
