"""What nodes and fleet say to each other: one JSON value a line."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

#: Longer lines are none of ours.
LONGEST_BYTES = 64 << 20
_PIECE_BYTES = 64 << 10


class Line:
    """A connection that carries messages. What is read waits in :attr:`_rest` until its line is whole."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection = connection
        self._rest = b""

    def fileno(self) -> int:
        """Return what ``select`` waits for."""
        return self.connection.fileno()

    def say(self, **message: Any) -> None:
        """Send a message.

        Raises:
            OSError: The other side is gone.
        """
        self.connection.sendall(json.dumps(message).encode() + b"\n")

    def messages(self) -> list[dict[str, Any]]:
        """Read what has come and return the messages that are whole; wait for some bytes if there are none.

        Raises:
            EOFError: The other side is gone.
            OSError: The connection broke, or nothing came in time.
        """
        piece = self.connection.recv(_PIECE_BYTES)
        if not piece:
            raise EOFError
        *whole, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > LONGEST_BYTES:
            raise EOFError
        return [json.loads(one) for one in whole]

    def hear(self) -> dict[str, Any]:
        """Return the next message, where the other side says one thing at a time.

        Raises:
            EOFError: The other side is gone.
            OSError: The connection broke, or nothing came in time.
        """
        while not (found := self.messages()):
            pass
        return found[0]

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def wait_until(moment_ns: int, spin_ns: int = 1_000_000) -> None:
    """Return at a moment of this machine's monotonic clock; the last millisecond is spent looking at it."""
    while (left := moment_ns - time.monotonic_ns()) > 0:
        # A sleep ends late by what the kernel likes; a look at the clock costs 50 ns.
        time.sleep(max(0, left - spin_ns) / 1e9)
