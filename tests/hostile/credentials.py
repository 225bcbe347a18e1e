"""Who the command says that it is, what of that is secret, and in how many ways a secret can be written."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from hostile.blobs import ACCOUNT
from hostile.service import Service
from hostile.wire import Request

#: Made up for these tests. Their Base64 has `+`, `/` and `=`, which the ways of writing treat differently.
KEY = base64.b64encode(bytes(range(251, 187, -1))).decode()
SIGNATURE = base64.b64encode(b"\xfb\xff?>" + bytes(range(28))).decode()
TOKEN = "eyJ0eXAiOiJKV1QifQ." + base64.urlsafe_b64encode(b"a token that was never issued" * 4).decode()
SAS = f"sv=2021-12-02&ss=b&srt=sco&sp=rwdlac&se=2999-01-01T00%3A00%3A00Z&sig={quote(SIGNATURE, safe='')}"

#: The same for S3. A key of AWS's own form would be taken for one that somebody has lost.
ACCESS, SECRET = "HOSTILE-ACCESS", base64.b64encode(bytes(range(200, 230))).decode()
SESSION = base64.b64encode(b"\xfb\xefa session that never began" * 4).decode()

#: The ways that the command finds a credential.
CREDENTIALS = ("key", "sas", "sas-url", "token")
#: The same for S3; the last one sends none, whatever it finds.
KEYS = ("keys", "session", "unsigned")


@dataclass(frozen=True)
class Secret:
    """One secret, in all the ways in which a service might repeat it."""

    text: str
    in_hex: bool = False  #: whether it is hexadecimal digits, not Base64

    @property
    def forms(self) -> tuple[str, ...]:
        """The text itself, and the same percent-encoded, in XML, as hexadecimal digits and in base64url."""
        escaped = quote(self.text, safe="")
        lower = re.sub("%..", lambda found: found[0].lower(), escaped)
        forms = [self.text, escaped, lower, self._in_xml()]
        for data in self._bytes():
            padded = base64.urlsafe_b64encode(data).decode()
            forms += [data.hex(), padded, padded.rstrip("=")]
        return tuple(dict.fromkeys(forms))

    def _bytes(self) -> Iterable[bytes]:
        yield self.text.encode()
        if self.in_hex:
            yield bytes.fromhex(self.text)
            return
        try:
            yield base64.b64decode(self.text, validate=True)
        except (binascii.Error, ValueError):
            return

    def _in_xml(self) -> str:
        return "".join(c if c.isalnum() else f"&#{ord(c)};" for c in self.text)


def environment(credential: str, service: Service, *, secure: bool) -> dict[str, str]:
    """Return the variables by which the command finds its way in."""
    url = service.secure_url if secure else service.url
    if credential == "key":
        parts = {"AccountName": ACCOUNT, "AccountKey": KEY, "BlobEndpoint": url}
        text = ";".join(f"{name}={value}" for name, value in parts.items())
        return {"AZURE_STORAGE_CONNECTION_STRING": text}
    if credential in KEYS:
        keys = {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": url}
        return keys | ({"AWS_SESSION_TOKEN": SESSION} if credential == "session" else {})
    if credential == "sas-url":
        return {}
    name, value = {
        "sas": ("AZURE_STORAGE_SAS_TOKEN", SAS),
        "token": ("AZURE_STORAGE_BEARER_TOKEN", TOKEN),
    }[credential]
    return {"AZURE_STORAGE_ACCOUNT": ACCOUNT, "AZURE_STORAGE_ENDPOINT": url, name: value}


def options(credential: str) -> tuple[str, ...]:
    """Return what the command line says besides."""
    return ("--no-sign-request",) if credential == "unsigned" else ()


def brought(request: Request) -> Secret:
    """Return the secret that came with a request."""
    authorization = request.headers.get("authorization", "")
    if authorization.startswith("SharedKey "):
        return Secret(authorization.rpartition(":")[2])
    if authorization.startswith("AWS4"):
        return Secret(authorization.rpartition("Signature=")[2], in_hex=True)
    return Secret(authorization.removeprefix("Bearer ") or unquote(request.query.get("sig", "")))


def secrets_of(credential: str, requests: Iterable[Request]) -> list[Secret]:
    """Return all that nobody may read afterwards: what the command was given, and what it sent."""
    if credential in KEYS:
        # But for the signature, nothing in the header is a secret.
        return [Secret(SECRET), Secret(SESSION), *{one for one in map(brought, requests) if one.text}]
    texts = [{"key": KEY, "token": TOKEN}.get(credential, SIGNATURE)]
    for request in requests:
        texts += [request.headers.get("authorization", ""), brought(request).text]
    return [Secret(text) for text in dict.fromkeys(texts) if text]
