"""Whether the store is there at all, asked while an answer is late: a store that is gone is said in seconds.

The engine tries again for half a minute before it gives up, which is right for a copy and too long for a
person who looks at a map.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from haulage.errors import ConnectionLostError, HaulageError
from haulage.reach import first_hop
from haulage.transfer import StoreOptions
from haulage.view.reading import cost

_T = TypeVar("_T")

#: An answer is late after this long. The store is then asked whether it is there, and again each ``AGAIN_S``.
LATE_S, AGAIN_S = 2.0, 1.0
#: How long it may take to say so. Queues on a link that is full make seconds.
_ANSWER_S = 3.0
#: It is gone if it does not answer so many times in a row.
_TIMES = 2


class Reach:
    """The server that is asked for the objects of one place.

    Args:
        url: Of the place.
        options: How to reach it.
    """

    def __init__(self, url: str, options: StoreOptions) -> None:
        self._url, self._options = url, options

    def why_not(self) -> str | None:
        """Ask whether the server is there; return why it is not, ``None`` if it is."""
        try:
            hop = first_hop(self._url, **self._options)
        except HaulageError:
            # Whatever is wrong with the URL, the request itself says it.
            return None
        if hop is None:
            return None
        host, port, secure = hop
        try:
            _greet(host, port, secure=secure)
        except OSError as error:
            why = "no answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
            return f"{host}:{port} does not answer: {why}"
        return None

    def patiently(self, name: str, call: Callable[[], _T]) -> _T:
        """Return what a call to the store returns; give it up if the store has gone away meanwhile.

        Only for answers that are counted as hasty: others leave it to the engine how long it tries.

        Raises:
            ConnectionLostError: The store does not answer.
        """
        if not cost.is_hasty():
            return call()
        found: Future[_T] = Future()

        def run() -> None:
            try:
                found.set_result(call())
            except BaseException as error:
                found.set_exception(error)

        # Not waited for at the end of the process: the engine may be at it for half a minute.
        threading.Thread(target=run, name="haul-view-read", daemon=True).start()
        self.awaited(name, lambda seconds: bool(wait([found], seconds).done))
        return found.result()

    def awaited(self, name: str, done: Callable[[float], bool], most_s: float | None = None) -> None:
        """Wait until ``done(seconds)``, which waits so long, says so; at most ``most_s``.

        Raises:
            ConnectionLostError: The store does not answer.
        """
        end = None if most_s is None else time.monotonic() + most_s
        seconds, silent = LATE_S, 0
        while not done(seconds if end is None else max(min(seconds, end - time.monotonic()), 0)):
            if end is not None and time.monotonic() >= end:
                return
            why_not = self.why_not()
            silent = silent + 1 if why_not else 0
            if why_not and silent >= _TIMES:
                raise gone(name, why_not)
            seconds = AGAIN_S


def gone(name: str, why_not: str) -> ConnectionLostError:
    """Return the error of a store that does not answer."""
    hint = "the page asks again until it answers; check the network and the service"
    return ConnectionLostError("read", name, why_not, hint)


def _greet(host: str, port: int, *, secure: bool) -> None:
    """Have a server say anything at all, without a credential.

    Raises:
        OSError: It does not.
    """
    with socket.create_connection((host, port), _ANSWER_S) as plain:
        if secure:
            anybody = ssl.create_default_context()
            anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
            try:
                with anybody.wrap_socket(plain, server_hostname=host):
                    return
            except ssl.SSLError:
                # A refusal is an answer.
                return
        plain.sendall(f"HEAD / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        plain.recv(1)
