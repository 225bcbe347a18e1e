"""How signals end the commands in Python: at once, also in the middle of a system call, and only once."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: A terminal and a wrapper like ``timeout`` both pass Ctrl-C on. A signal that follows another within this
#: time is taken for the same one, and does not disturb the end of the command.
ONCE_SECONDS = 1.0

#: Sent to the main thread after each signal. Python runs a handler when the interpreter looks for signals:
#: between two steps, and if a system call is interrupted. A signal that arrives after the last look and
#: before the call begins has to wait until the call returns, and a read of a pipe may never return. This
#: one interrupts the call, and is ignored by everybody else.
_NUDGE = signal.SIGURG
_PAUSES_SECONDS = (0.02, 1.0)

_interrupted = float("-inf")
_nudged = 0


def interrupt(*_: object) -> None:
    """Raise ``KeyboardInterrupt``; the handler of all signals that end a command."""
    global _interrupted
    now = time.monotonic()
    if now - _interrupted >= ONCE_SECONDS:
        _interrupted = now
        raise KeyboardInterrupt


def take() -> None:
    """Have Ctrl-C end this process, and let no signal be lost while it waits.

    What a script runs in the background ignores Ctrl-C. The commands in Rust end nevertheless when they are
    sent SIGINT, and so do these.
    """
    signal.signal(signal.SIGINT, interrupt)
    end_waits()


def end_waits() -> None:
    """Have signals end the system calls of the main thread, even if they come just before the call."""
    low = os.pipe()
    # Whoever started the command may have closed standard streams, and these must not take their numbers.
    reading, writing = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in low)
    for end in low:
        os.close(end)
    os.set_blocking(writing, False)
    signal.signal(_NUDGE, _note)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_nudge, args=(reading,), name="haul-signals", daemon=True).start()


def ignore() -> None:
    """Ignore the signals that end a command from now on: its exit code is known."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_DFL:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def interrupted_by_term() -> Iterator[None]:
    """Treat a polite kill as Ctrl-C: children end, what is finished is kept, temporary files are removed."""
    names = [signal.SIGTERM, signal.SIGINT]
    # nohup ignores the end of a terminal.
    names += [signal.SIGHUP] if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN else []
    before = {name: signal.signal(name, interrupt) for name in names}
    came = False
    try:
        yield
    except KeyboardInterrupt:
        # The next one must not kill the process before its exit code is known.
        came = True
        raise
    finally:
        if not came:
            for name, handler in before.items():
                signal.signal(name, handler)


def _note(*_: object) -> None:
    global _nudged
    _nudged += 1


def _nudge(signals: int) -> None:
    """End the system call that the main thread is in, whenever a signal has come."""
    main = threading.main_thread().ident
    assert main is not None
    while came := os.read(signals, 4096):
        if not came.strip(bytes([_NUDGE])):
            continue
        # The first look may have begun before the signal came, and handlers run in the order of numbers.
        seen, pause = _nudged, _PAUSES_SECONDS[0]
        while _nudged < seen + 2:
            signal.pthread_kill(main, _NUDGE)
            time.sleep(pause)
            pause = min(2 * pause, _PAUSES_SECONDS[1])
