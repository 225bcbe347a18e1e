"""Processes that end with the one that started them, however that ends: it may be killed.

A process that has started another one of ours holds an end of a pipe, which closes with it; the other one
waits for that. Of programs of others the kernel takes care.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import weakref
from collections.abc import Sequence
from typing import Any

#: The number of the end of the pipe on which a process waits.
ENDS_WITH = "HAULAGE_ENDS_WITH"

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a process of ours as `subprocess.Popen` does; its `main` calls `end_with_parent`."""
    waits, held = os.pipe()
    env = {**(options.pop("env", None) or os.environ), ENDS_WITH: str(waits)}
    try:
        process = subprocess.Popen(command, env=env, pass_fds=(waits,), **options)
    except BaseException:
        os.close(held)
        raise
    finally:
        os.close(waits)
    weakref.finalize(process, os.close, held)
    return process


def start_other(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a program of others as `subprocess.Popen` does; it is killed when this thread ends."""
    return subprocess.Popen(
        command, preexec_fn=lambda: _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL), **options
    )


def end_with_parent() -> None:
    """End this process, as a signal would, when the one that started it by `start` has ended."""
    number = os.environ.pop(ENDS_WITH, None)
    if number is not None:
        threading.Thread(target=_wait, args=(int(number),), daemon=True).start()


def _wait(number: int) -> None:
    os.set_inheritable(number, False)
    os.read(number, 1)
    os.kill(os.getpid(), signal.SIGTERM)
