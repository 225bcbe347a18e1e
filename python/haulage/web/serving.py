"""A server of pages on an address that it holds from when it is made, until it is stopped."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import uvicorn

from haulage.errors import LocalIOError


def listening(host: str, port: int, hint: str) -> socket.socket:
    """Return a socket that listens there; port 0 takes any free one.

    Raises:
        LocalIOError: The address is taken, or not of this machine; ``hint`` says how to name another.
    """
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    # Connections inherit it. Without it the end of a short answer waits 40 ms for the client to acknowledge.
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise LocalIOError("listen", f"{host}:{port}", error.strerror or str(error), hint) from None
    return made


@dataclass(frozen=True)
class Here:
    """What listens on this machine alone, for whoever knows a secret of 128 bits."""

    held: socket.socket
    port: int
    token: str


def here(port: int) -> Here:
    """Listen there; port 0 takes any free one.

    Raises:
        LocalIOError: The port is taken.
    """
    held = listening("127.0.0.1", port, "name another with --port, or none")
    return Here(held, int(held.getsockname()[1]), secrets.token_urlsafe(16))


class Serving:
    """Answers with ``app`` on a socket that listens while :meth:`run` runs; says nothing of its own.

    Args:
        app: What answers.
        held: The socket, from :func:`listening`; it is closed when the serving has ended.
        last_s: How long the end waits for answers that are being sent.
    """

    def __init__(self, app: Callable[..., Awaitable[Any]], held: socket.socket, last_s: int) -> None:
        self._socket = held
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                lifespan="off",
                timeout_graceful_shutdown=last_s,
                http="h11",
                ws="none",
            )
        )

    def run(self) -> None:
        """Answer until :meth:`stop`, or until the process is told to end."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Answer no more; may be called by another thread."""
        self._server.should_exit = True
