"""A service that answers as it is told: what to answer stands where a URL has the account.

`http://127.0.0.1:PORT/403-AuthorizationFailure/container/blob` is refused with that status and that error
code; `get-412-ConditionNotMet` answers so to GET alone, and `hang` answers nobody. Whatever else is asked for
is there, and four bytes long.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Service:
    """Where it is, and whether anybody waits for an answer."""

    url: str
    asked: threading.Event  #: set when a request came that will never be answered


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: threading.Event
    ended: threading.Event

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        told = self.path.split("/")[1]
        if told == "hang":
            self.asked.set()
            self.ended.wait()
            return
        verb, _, rest = told.partition("-")
        if verb.isdigit():
            verb, rest = self.command, told
        if verb.upper() != self.command:
            self.reply(200, {"ETag": '"0x1"', "Last-Modified": "Fri, 01 Jan 2021 00:00:00 GMT"}, b"body")
            return
        status, _, code = rest.partition("-")
        # At once: what the service would have us wait for is not what is tested.
        self.reply(int(status), {"Retry-After": "0"} | ({"x-ms-error-code": code} if code else {}), b"")

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer  # noqa: N815

    def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: who asks says what was answered."""


@contextmanager
def serve(certificate: Path | None = None, *names: str, **kind: Any) -> Iterator[Service]:
    """Serve on a free port; https with a certificate, which then lies at that path, for these hosts too.

    Of what ``kind`` it is, :func:`make_certificate` says.
    """
    asked, ended = threading.Event(), threading.Event()
    handler = type("Handler", (_Handler,), {"asked": asked, "ended": ended})
    with ThreadingHTTPServer((HOST, 0), handler) as server:
        scheme = "http"
        if certificate is not None:
            scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, make_certificate(certificate, *names, **kind))
            # Hands are shaken by the thread of the request: a client that does not trust us ends only that.
            server.socket = context.wrap_socket(server.socket, True, do_handshake_on_connect=False)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield Service(f"{scheme}://{HOST}:{server.server_port}", asked)
        finally:
            ended.set()
            server.shutdown()
            thread.join()


def make_certificate(
    path: Path,
    *names: str,
    here: bool = True,
    until: timedelta = timedelta(days=1),
    authority: bool = False,
    client: bool = False,
) -> Path:
    """Write a certificate of these hosts, signed by itself; return where its key lies.

    It is good from yesterday on, of this machine too unless ``here`` says no, and may be that of
    an ``authority`` or of a ``client``.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a fake service")])
    hosts = [*([x509.IPAddress(ip_address(HOST))] if here else []), *map(x509.DNSName, names)]
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + until)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    )
    if authority:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    if client:
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = builder.add_extension(usage, critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    path.write_bytes(certificate.public_bytes(pem))
    secret = path.with_suffix(".key")
    plain = serialization.NoEncryption()
    secret.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return secret
