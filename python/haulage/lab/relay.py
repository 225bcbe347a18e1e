"""Carries connections from this machine out by another way: a network namespace, or an HTTP proxy.

A process of its own (``python -m haulage.lab.relay HOST PORT WAY``), so that it can leave this machine's
network namespace. It listens before it leaves: what connects to it is here, what it opens is there.
It prints the port on which it listens.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import sys
import threading
from collections.abc import Callable

_PIECE_BYTES = 256 << 10
_CONNECT_S = 30.0
_NETWORK_NAMESPACE = 0x40000000
#: Where ``ip netns`` keeps them.
_NAMESPACES = "/run/netns"

NETNS, PROXY = "netns:", "proxy:"


def main(host: str, port: int, way: str) -> None:
    """Listen, leave, and carry connections until the process is ended."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        connect = opener(host, port, way)
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            near, _ = listener.accept()
            threading.Thread(target=_carry, args=(near, connect), daemon=True).start()


def opener(host: str, port: int, way: str) -> Callable[[], socket.socket]:
    """Return what opens a connection by this way; a namespace is entered now, and for good."""
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


def _carry(near: socket.socket, connect: Callable[[], socket.socket]) -> None:
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
            back = threading.Thread(target=_copy, args=(far, near), daemon=True)
            back.start()
            _copy(near, far)
            back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE_BYTES):
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    try:
        main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    except OSError as fault:
        sys.exit(str(fault))
