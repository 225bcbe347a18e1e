"""The proxy on an address, until it is stopped."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from haulage.errors import UsageError
from haulage.tables.serve.app import Limits, Proxy
from haulage.tables.source import Source
from haulage.web.guarding import Access, local_hosts
from haulage.web.serving import Serving, listening

#: What a header and the fragment of an address can hold.
_TOKEN = re.compile(r"[!-~]+")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: How long the end waits for answers that are being sent.
LAST_S = 2


@dataclass(frozen=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @property
    def is_here(self) -> bool:
        """Whether only this machine can ask."""
        return self.host in _LOOPBACK


def address(text: str) -> Address:
    """Return the address that is written ``HOST:PORT``.

    >>> address("127.0.0.1:0")
    Address(host='127.0.0.1', port=0)
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        hint = "write HOST:PORT, such as 127.0.0.1:8080; port 0 takes any free one"
        raise UsageError("listen", text, "this is not an address", hint)
    return Address(host, int(port))


def token_of(text: str | None, where: Address) -> str | None:
    """Return what must be shown; ``auto`` makes one up, ``none`` alone asks for nothing.

    Where nothing is said, one is made up for this machine, which others may use as well.

    >>> token_of("sesame", Address("0.0.0.0", 0)), token_of("none", Address("0.0.0.0", 0))
    ('sesame', None)
    >>> len(token_of(None, Address("127.0.0.1", 0)))
    22

    Raises:
        UsageError: None is asked for, though others than this machine can ask; or no client could show it.
    """
    if text is None and not where.is_here:
        hint = "add --token auto, or --token none if all may read these tables"
        raise UsageError("listen", where.host, "other machines could read the tables", hint)
    if text == "none":
        return None
    # An empty one is that of a variable that is not set: it must not open what was to be closed.
    if text is not None and not _TOKEN.fullmatch(text):
        hint = "write letters, digits and signs without spaces, or --token auto"
        raise UsageError("listen", where.host, "the token is empty, or not visible ASCII characters", hint)
    return secrets.token_urlsafe(16) if text in (None, "auto") else text


class Server(Serving):
    """Listens from when it is made; answers while :meth:`run` runs.

    Raises:
        LocalIOError: The address is taken, or not of this machine.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        where: Address,
        limits: Limits,
        *,
        token: str | None = None,
        origins: Sequence[str] = (),
    ) -> None:
        held = listening(where.host, where.port, "name another with --listen; port 0 takes any free one")
        port = int(held.getsockname()[1])
        shown = f"[{where.host}]" if ":" in where.host else where.host
        self.url = f"http://{shown}:{port}/"
        access = Access(
            local_hosts(port) if where.is_here else None,
            token,
            "ask under the address that the proxy printed, or start it with --listen ADDRESS",
            "send the header Authorization: Bearer TOKEN, or ?token=TOKEN",
            # Rows and what is known of them; the page and the description of the interface tell neither.
            guarded=("/tables", "/requests"),
        )
        super().__init__(Proxy(sources, access, limits, origins).app(), held, LAST_S)
