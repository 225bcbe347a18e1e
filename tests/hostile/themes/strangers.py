"""TLS with somebody else: not a byte of a request is sent."""

from __future__ import annotations

from collections.abc import Iterable

from hostile.case import Case
from hostile.credentials import CREDENTIALS
from hostile.run import Ran

LINES = (
    "ls az://data/tree/",
    "cp az://data/tree/a down/",
    "cp up/a az://data/tree/new",
    "rm -r az://data/tree/",
)


def nothing_is_sent(ran: Ran) -> Iterable[str]:
    """The service has seen no request, and so no credential."""
    if ran.requests:
        yield f"it sent {ran.requests[0].method} {ran.requests[0].target}"


def stranger(name: str, does: str, tls: str, *, slow: bool = False) -> Case:
    """Return the case of a service that cannot show who it is."""
    return Case(
        f"tls-{name}",
        does,
        lines=LINES,
        kind="connection",
        must="no request is sent, and no credential",
        tls=tls,
        credentials=("token",) if slow else CREDENTIALS,
        slow=slow,
        check=nothing_is_sent,
    )


CASES = (
    stranger("of-a-stranger", "A certificate that nobody has signed whom we trust", "self-signed"),
    stranger("of-another-host", "The certificate of another host", "wrong-host"),
    stranger("expired", "A certificate that has expired", "expired"),
    stranger("not-yet", "A certificate that is not valid yet", "not-yet"),
    stranger("plain", "Plain http where TLS is expected", "plain"),
    stranger("silent", "A handshake that never ends", "silent", slow=True),
)
