"""What the head of an answer says: the next page, what it took, and whether it has changed."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

from haulage.tables.serve.answering import Tally
from haulage.tables.serve.asking import Asked
from haulage.words.numbers import counted

_CONTINUED = ("NextPartitionKey", "NextRowKey")
_ZIPPED = "-gzip"


def next_page(path: str, query: str, continuation: str | None) -> dict[str, str]:
    """Return the headers that lead to the next page; none after the last one.

    The link leaves out a token, which would end up in logs.

    >>> next_page("rows", "$top=5&token=x", "NextPartitionKey=a")["Link"]
    '<rows?$top=5&NextPartitionKey=a>; rel="next"'
    """
    if continuation is None:
        return {}
    found = parse_qs(continuation, keep_blank_values=True)
    kept = [
        (key, value)
        for key, value in parse_qsl(query, keep_blank_values=True)
        if key not in (*_CONTINUED, "token")
    ]
    more = [(key, found[key][0]) for key in _CONTINUED if key in found]
    link = f"{path}?{urlencode([*kept, *more], quote_via=quote, safe='$')}"
    # A header holds Latin characters only: what others made of a key is sent as an address has it.
    headers = {f"x-ms-continuation-{key}": _plain(value) for key, value in more}
    return headers | {"Link": f'<{link}>; rel="next"'}


def timing(tally: Tally, seconds: float) -> dict[str, str]:
    """Return what the answer took: the store's part of it, and the proxy's."""
    meter = tally.meter
    store, proxy = meter.seconds * 1e3, max(0.0, seconds - meter.seconds) * 1e3
    index = "" if meter.index is None else f", index={meter.index}"
    requests = counted(meter.requests, "request")
    return {
        "Server-Timing": f'store;dur={store:.2f};desc="{requests}", proxy;dur={proxy:.2f}',
        "Haul-Store": f"requests={meter.requests}, bytes={meter.bytes_read}{index}",
    }


def of_tally(tally: Tally) -> dict[str, Any]:
    """Return what is told of an answer after it, or while it is sent."""
    return {
        "table": tally.name,
        "complete": tally.seconds is not None and tally.error is None,
        "error": tally.error,
        "rows": tally.rows,
        "body_bytes": tally.body_bytes,
        "gathered_rows": tally.gathered,
        "store_requests": tally.meter.requests,
        "store_bytes": tally.meter.bytes_read,
        "index": tally.meter.index,
        "store_seconds": tally.meter.seconds,
        "first_seconds": tally.first_seconds,
        "seconds": tally.seconds,
    }


def tag_of(*parts: object) -> str:
    """Return an ETag for what is made of these parts alone.

    >>> tag_of(b"rows", None) == tag_of(b"rows", None)
    True
    """
    digest = blake2b(digest_size=12)
    for part in parts:
        told = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(told).to_bytes(8, "big") + told)
    return f'"{digest.hexdigest()}"'


def tag_of_version(version: str | None, asked: Asked) -> str | None:
    """Return the ETag of an answer from this version of a source, which then need not be read."""
    return None if version is None else tag_of(version, asked)


def zipped(tag: str) -> str:
    """Return the ETag of the same answer, compressed."""
    return f'{tag[:-1]}{_ZIPPED}"'


def matches(headers: Mapping[str, str], tag: str) -> bool:
    """Return whether who asks has this already, compressed or not."""
    wanted = headers.get("if-none-match", "")
    known = {one.strip().removeprefix("W/").replace(_ZIPPED, "") for one in wanted.split(",")}
    return tag in known or wanted.strip() == "*"


def _plain(value: str) -> str:
    return value if value.isascii() and value.isprintable() else quote(value)
