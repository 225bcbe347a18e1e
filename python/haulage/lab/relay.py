"""Carries connections from this machine out by another way: a network namespace, a proxy, a narrower link.

A process of its own (``python -m haulage.lab.relay HOST PORT WAY``), so that it can leave this machine's
network namespace. It listens before it leaves: what connects to it is here, what it opens is there.
It prints the port on which it listens.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from haulage.children import end_with_parent
from haulage.lab.units import parse_duration, parse_rate

_PIECE_BYTES = 256 << 10
_CONNECT_S = 30.0
_NETWORK_NAMESPACE = 0x40000000
#: Where ``ip netns`` keeps them.
_NAMESPACES = "/run/netns"

NETNS, PROXY, NARROW, FAR = "netns:", "proxy:", "link:", "far:"
#: Of a link: as much as one that carries 30 Mbit/s has on its way in four milliseconds.
_NARROW_PIECE_BYTES = 16 << 10
#: What the kernel holds before a narrow link; more, and the sender would believe that it had gone.
_NARROW_BUFFER_BYTES = 128 << 10
#: More than this machine carries.
_UNBOUNDED = "1000gbit"
#: Pieces that are on their way over a far link at most: with 16 KiB each, 8 MiB.
_ON_THE_WAY = 512
#: By how much a sleep may end late without the rate falling for it.
_LATE_NS = 10_000_000


def main(host: str, port: int, way: str) -> None:
    """Listen, leave, and carry connections until the process is ended."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        connect = opener(host, port, way)
        link = Narrow(way.removeprefix(NARROW)) if way.startswith(NARROW) else None
        link = Far(way.removeprefix(FAR)) if way.startswith(FAR) else link
        if link is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _NARROW_BUFFER_BYTES)
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            near, _ = listener.accept()
            threading.Thread(target=_carry, args=(near, connect, link), daemon=True).start()


def opener(host: str, port: int, way: str) -> Callable[[], socket.socket]:
    """Return what opens a connection by this way; a namespace is entered now, and for good."""
    if way.startswith(FAR):
        return lambda: socket.create_connection((host, port), _CONNECT_S)
    if way.startswith(NARROW):
        return lambda: _narrow(socket.create_connection((host, port), _CONNECT_S))
    if way.startswith(NETNS):
        _enter(way.removeprefix(NETNS))
        return lambda: socket.create_connection((host, port), _CONNECT_S)
    proxy, _, proxy_port = way.removeprefix(PROXY).rpartition(":")
    return lambda: _through(socket.create_connection((proxy, int(proxy_port)), _CONNECT_S), host, port)


def _enter(name: str) -> None:
    path = name if name.startswith("/") else f"{_NAMESPACES}/{name}"
    file = os.open(path, os.O_RDONLY)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(file, _NETWORK_NAMESPACE) != 0:
            raise OSError(ctypes.get_errno(), f"network namespace {name}")
    finally:
        os.close(file)


def _through(line: socket.socket, host: str, port: int) -> socket.socket:
    line.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    answer = b""
    # Byte by byte: what follows the empty line is the other side's already.
    while not answer.endswith(b"\r\n\r\n"):
        piece = line.recv(1)
        if not piece or len(answer) > 8192:
            raise OSError("the proxy did not answer")
        answer += piece
    if answer.split(b" ", 2)[1:2] != [b"200"]:
        raise OSError(answer.splitlines()[0].decode(errors="replace"))
    return line


class Narrow:
    """A link between two others: a rate for all connections together, one for each, the same both ways.

    Args:
        words: As ``total=30mbit,conn=8mbit``.

    Raises:
        OSError: Words that it cannot do, such as a round trip: that belongs to the link of the target.
    """

    def __init__(self, words: str) -> None:
        rates = dict(word.partition("=")[::2] for word in words.split(","))
        if not rates or rates.keys() - {"total", "conn"}:
            raise OSError(f"the link of a node has total= and conn= alone: {words}")
        self._connection = rates.get("conn")
        total = rates.get("total")
        self._ways = tuple(Pace(parse_rate(total)) if total else None for _ in range(2))

    def paces(self, way: int) -> list[Pace]:
        """Return what holds back a new connection, up (0) or down (1)."""
        own = Pace(parse_rate(self._connection)) if self._connection else None
        return [pace for pace in (own, self._ways[way]) if pace is not None]


class Far(Narrow):
    """The same with a round trip: what is sent arrives half of it later, and to connect takes a whole one.

    Args:
        words: As ``rtt=20ms,total=100mbit``; without a rate it carries what comes.
    """

    def __init__(self, words: str) -> None:
        kept = [word for word in words.split(",") if not word.startswith("rtt=")]
        rtt = next((word for word in words.split(",") if word.startswith("rtt=")), "rtt=0ms")
        super().__init__(",".join(kept) or f"total={_UNBOUNDED}")
        self.half_s = parse_duration(rtt.removeprefix("rtt=")) / 2e9


class Pace:
    """Lets bytes pass at a rate, in the order in which they come."""

    def __init__(self, bits_per_second: int) -> None:
        self._ns_per_byte = 8e9 / bits_per_second
        self._free_ns = 0.0
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Return when so many bytes are through."""
        with self._lock:
            # What was not used in time is lost, but for one sleep that ended late.
            self._free_ns = max(self._free_ns, time.monotonic_ns() - _LATE_NS) + size * self._ns_per_byte
            until = self._free_ns
        time.sleep(max(0.0, until - time.monotonic_ns()) / 1e9)


def _narrow(line: socket.socket) -> socket.socket:
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _NARROW_BUFFER_BYTES)
    return line


def _carry(near: socket.socket, connect: Callable[[], socket.socket], link: Narrow | None) -> None:
    half_s = link.half_s if isinstance(link, Far) else 0.0
    time.sleep(2 * half_s)
    with near:
        try:
            far = connect()
        except OSError as error:
            sys.stderr.write(f"{error}\n")
            return
        with far:
            for line in (near, far):
                line.settimeout(None)
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            up, down = ([], []) if link is None else (link.paces(0), link.paces(1))
            copy = partial(_copy_late, half_s) if half_s else _copy
            back = threading.Thread(target=copy, args=(far, near, down), daemon=True)
            back.start()
            copy(near, far, up)
            back.join()


def _copy(source: socket.socket, sink: socket.socket, paces: Sequence[Pace] = ()) -> None:
    size = _NARROW_PIECE_BYTES if paces else _PIECE_BYTES
    with contextlib.suppress(OSError):
        while piece := source.recv(size):
            for pace in paces:
                pace.take(len(piece))
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _copy_late(late_s: float, source: socket.socket, sink: socket.socket, paces: Sequence[Pace]) -> None:
    """Copy as :func:`_copy` does, each piece so much later than it came."""
    pieces: queue.Queue[tuple[float, bytes]] = queue.Queue(_ON_THE_WAY)

    def arrive() -> None:
        while True:
            due, piece = pieces.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not piece:
                break
            with contextlib.suppress(OSError):
                sink.sendall(piece)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    arriving = threading.Thread(target=arrive, daemon=True)
    arriving.start()
    with contextlib.suppress(OSError):
        while piece := source.recv(_NARROW_PIECE_BYTES):
            for pace in paces:
                pace.take(len(piece))
            pieces.put((time.monotonic() + late_s, piece))
    pieces.put((time.monotonic() + late_s, b""))
    arriving.join()


if __name__ == "__main__":
    end_with_parent()
    try:
        main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    except OSError as fault:
        sys.exit(str(fault))
