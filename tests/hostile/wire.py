"""HTTP/1.1 as a server speaks it, on a raw socket: nothing is checked, so that anything can be said."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from urllib.parse import unquote

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Wait:
    """Nothing is said for so long."""

    seconds: float


class End(Enum):
    """How a connection ends before its time."""

    CLOSE = "close"
    RESET = "reset"


CLOSE, RESET = End.CLOSE, End.RESET
#: What is said, one after the other. Without an end, the next request of the connection is read.
Piece = bytes | Wait | End


@dataclass(frozen=True)
class Request:
    """What the client asked."""

    method: str
    target: str  #: as sent
    headers: Mapping[str, str]  #: by names in lower case
    body: bytes
    api: str = ""  #: what it asks for: `list`, `head`, `get`, ...
    container: str = ""
    key: str = ""  #: decoded
    turn: int = 1  #: how many of this api have come, with this one
    elsewhere: str = ""  #: another host, to which no request may go

    @property
    def query(self) -> dict[str, str]:
        """The query, decoded."""
        pairs = self.target.partition("?")[2].split("&")
        return {name: unquote(value) for name, _, value in (pair.partition("=") for pair in pairs) if name}

    @property
    def range(self) -> tuple[int, int] | None:
        """First byte and the byte after the last, where it asks for a range."""
        text = self.headers.get("x-ms-range", self.headers.get("range", ""))
        first, _, last = text.removeprefix("bytes=").partition("-")
        return (int(first), int(last) + 1) if first.isdigit() and last.isdigit() else None

    @property
    def identity(self) -> tuple[str, str, str]:
        """What the same request sent again has in common with the first."""
        target = "&".join(part for part in self.target.split("&") if not part.startswith("sig="))
        return self.method, target, str(self.range)


@dataclass(frozen=True)
class Answer:
    """What is answered. The headers are all that there are: nothing is added, not even the length."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    reason: str = "Said"
    version: str = "HTTP/1.1"

    def header(self, name: str) -> str:
        """Return the value of a header, or nothing."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def having(self, name: str, value: str | None) -> Answer:
        """Return it with this header in place of those of the name; `None` leaves it out."""
        kept = tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        return replace(self, headers=kept if value is None else (*kept, (name, value)))

    def with_body(self, body: bytes) -> Answer:
        """Return it with another body and its length."""
        return replace(self, body=body).having("Content-Length", str(len(body)))

    def head(self) -> bytes:
        """The answer without its body."""
        lines = [f"{self.version} {self.status} {self.reason}", *(f"{k}: {v}" for k, v in self.headers)]
        return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("utf-8", "surrogateescape")


class GoneError(Exception):
    """The other side went away, or the service ends."""


class Conversation:
    """One connection."""

    def __init__(self, connected: socket.socket, ended: threading.Event) -> None:
        self._socket = connected
        self._ended = ended
        self._held = b""

    def over(self, tls: socket.socket) -> None:
        """Go on over TLS."""
        self._socket = tls

    def request(self, sip: Wait | None) -> Request | None:
        """Read a request, its body in sips where told so; `None` where there is no more."""
        while b"\r\n\r\n" not in self._held:
            if not (more := self._receive(1 << 16)):
                return None
            self._held += more
        head, _, self._held = self._held.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        pieces, missing = [self._held[:length]], length - len(self._held)
        self._held = self._held[length:]
        while missing > 0:
            if sip is not None:
                self._pause(sip)
            if not (more := self._receive(min(missing, 1 << 20 if sip is None else 64))):
                return None
            pieces.append(more)
            missing -= len(more)
        return Request(method, target, headers, b"".join(pieces))

    def say(self, pieces: Iterable[Piece]) -> bool:
        """Say it; return whether the connection goes on."""
        for piece in pieces:
            if self._ended.is_set():
                raise GoneError
            if isinstance(piece, Wait):
                self._pause(piece)
            elif isinstance(piece, End):
                if piece is RESET:
                    self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            else:
                try:
                    self._socket.sendall(piece)
                except (OSError, ValueError) as error:
                    raise GoneError from error
        return True

    def close(self) -> None:
        """End it, whoever is using it."""
        with contextlib.suppress(OSError, ValueError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError, ValueError):
            self._socket.close()

    def hang_up(self) -> None:
        """Close it in order, so that what was said arrives; a reset stays one."""
        with contextlib.suppress(OSError, ValueError):
            self._socket.close()

    def _receive(self, limit: int) -> bytes:
        try:
            return self._socket.recv(limit)
        except (OSError, ValueError) as error:
            raise GoneError from error

    def _pause(self, wait: Wait) -> None:
        if self._ended.wait(wait.seconds):
            raise GoneError
