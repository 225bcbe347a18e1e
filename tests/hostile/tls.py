"""TLS, right and wrong: what a service shows of itself, and what the command is told to trust."""

from __future__ import annotations

import functools
import ssl
import tempfile
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from hostile.service import HOST, Manners
from hostile.wire import Wait

DAY = timedelta(days=1)

#: Two that are made at once would not know each other.
_MAKING = threading.Lock()


@dataclass(frozen=True)
class Show:
    """What a service shows when a client says hello."""

    host: str = HOST
    since: timedelta = -DAY
    until: timedelta = DAY
    trusted: bool = True  #: whether the command is told to trust it
    talks: bool = True  #: whether it speaks TLS at all
    greeting: bytes = b""


SHOWS = {
    "good": Show(),
    "self-signed": Show(trusted=False),
    "wrong-host": Show(host="192.0.2.1"),
    "expired": Show(since=-2 * DAY, until=-DAY),
    "not-yet": Show(since=DAY, until=2 * DAY),
    "silent": Show(talks=False),
    "plain": Show(talks=False, greeting=b"HTTP/1.1 400 Plain\r\nContent-Length: 0\r\n\r\n"),
}


def manners(name: str, sip: Wait | None = None) -> Manners:
    """Return how a service meets its clients; without a name it speaks plain http."""
    if not name:
        return Manners(sip=sip)
    show = SHOWS[name]
    if not show.talks:
        return Manners(silent=not show.greeting, greeting=show.greeting, sip=sip)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(show))
    return Manners(tls=context, sip=sip)


def trust(name: str) -> dict[str, str]:
    """Return what tells the command whom to trust."""
    if not name:
        return {}
    # Whom it is not to trust it takes for a stranger: it knows another one, of the same name.
    show = SHOWS[name]
    return {"SSL_CERT_FILE": str(certificate(show if show.trusted else Show()))}


def certificate(show: Show) -> Path:
    """Return the file with the certificate and the key of those who show this; cases run side by side."""
    with _MAKING:
        return _made(show)


@functools.cache
def _made(show: Show) -> Path:
    """Write a key and the certificate that it has signed itself; return the file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a hostile service")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now + show.since)
        .not_valid_after(now + show.until)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(show.host))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    path = Path(tempfile.mkdtemp()) / "certificate.pem"
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(signed.public_bytes(pem) + private)
    return path
