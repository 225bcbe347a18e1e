"""Questions to names and servers that the engine has no words for: why TLS fails, what else listens there.

Nothing of these carries a credential: they say hello, and at most ask for ``/``.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

_DATE = re.compile(rb"^date:[ \t]*([^\r\n]+)", re.IGNORECASE | re.MULTILINE)


def resolve(_: Callable[[Any], None], *, host: str, port: int) -> dict[str, Any]:
    """Look a name up: its addresses, or the number and words of why not."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        temporary = error.errno == socket.EAI_AGAIN
        return {"addresses": [], "errno": error.errno, "why_not": error.strerror, "temporary": temporary}
    except UnicodeError as error:
        return {"addresses": [], "errno": 0, "why_not": str(error), "temporary": False}
    return {"addresses": list(dict.fromkeys(str(entry[4][0]) for entry in found))}


def tls(
    _: Callable[[Any], None],
    *,
    host: str,
    port: int,
    proxy: dict[str, Any] | None,
    ca: str | None,
    bind: str | None,
    wait_s: float,
) -> dict[str, Any]:
    """Shake hands with what is trusted here, to learn why it fails, and with anybody, to learn the time.

    Returns:
        ``verify_code`` and ``verify_message`` of OpenSSL where the certificate does not hold; ``plain`` where
        the other side does not speak TLS; ``roots``, the number of authorities trusted; ``date``, the time
        by the other side, in seconds since 1970, which serves only to compare clocks.
    """
    strict = ssl.create_default_context()
    if ca is not None:
        strict.load_verify_locations(ca)
    told: dict[str, Any] = {"roots": _roots(strict), "verify_code": None, "plain": False, "date": None}
    from_here = None if bind is None else (str(bind), 0)
    try:
        with (
            _connected(host, port, proxy, wait_s, from_here) as plain,
            strict.wrap_socket(plain, server_hostname=host),
        ):
            pass
    except ssl.SSLCertVerificationError as error:
        told |= {"verify_code": error.verify_code, "verify_message": error.verify_message}
    except ssl.SSLError as error:
        told |= {"plain": error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")}
        told["why_not"] = error.reason
    anybody = ssl.create_default_context()
    anybody.check_hostname = False
    anybody.verify_mode = ssl.CERT_NONE
    try:
        with (
            _connected(host, port, proxy, wait_s, from_here) as plain,
            anybody.wrap_socket(plain, server_hostname=host) as line,
        ):
            told["speaks"] = True
            line.sendall(f"HEAD / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            told["date"] = _date(line.recv(8192))
    except OSError:
        # ssl.SSLError is one of these: nothing that can be read.
        told.setdefault("speaks", False)
    return told


def _roots(context: ssl.SSLContext) -> int:
    # A folder of certificates is read when it is needed, and counts nothing before.
    folder = os.environ.get("SSL_CERT_DIR") or ssl.get_default_verify_paths().capath
    return len(context.get_ca_certs()) or (len(os.listdir(folder)) if folder and os.path.isdir(folder) else 0)  # noqa: PTH112, PTH208


def _date(answer: bytes) -> float | None:
    found = _DATE.search(answer)
    try:
        return parsedate_to_datetime(found[1].decode()).timestamp() if found else None
    except (ValueError, TypeError):
        return None


def _connected(
    host: str, port: int, proxy: dict[str, Any] | None, wait_s: float, bind: tuple[str, int] | None
) -> socket.socket:
    """Return a connection to the host, through a tunnel where there is a proxy that lets anybody through."""
    if proxy is None:
        return socket.create_connection((host, port), wait_s, bind)
    line = socket.create_connection((proxy["host"], proxy["port"]), wait_s, bind)
    line.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head and len(head) < 8192:
        piece = line.recv(1)
        if not piece:
            break
        head += piece
    if b" 200" not in head.split(b"\r\n")[0]:
        line.close()
        raise ConnectionError("no tunnel")
    return line


QUESTIONS: dict[str, Callable[..., Any]] = {"resolve": resolve, "tls": tls}
