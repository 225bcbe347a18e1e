"""Questions to stores, by the engine that jobs run on, so that what it would do is what is found."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from haulage import _engine
from haulage.errors import HaulageError, NotFoundError
from haulage.removal import remove

Tell = Callable[[Any], None]

#: What is read or written to learn the rate of one connection: until this much, or this long.
RATE_BYTES = 16 << 20
RATE_S = 1.0
#: One request of it.
RATE_PIECE = 2 << 20


def way(_: Tell, *, url: str, options: dict[str, Any]) -> dict[str, Any]:
    """Say where a URL leads."""
    return _engine.way(url, **options)


def identity(_: Tell, *, url: str, options: dict[str, Any]) -> dict[str, Any]:
    """Say who would ask."""
    return _engine.identity(url, **options)


def knock(_: Tell, *, url: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask without a credential, five times for the round trip."""
    return _engine.knock(url, 5, False, **options)


def knock_crc64(_: Tell, *, url: str, options: dict[str, Any]) -> dict[str, Any]:
    """Ask without a credential, as if a body came with a CRC64."""
    return _engine.knock(url, 1, True, **options)[0]


def look(tell: Tell, *, url: str, key: str, options: dict[str, Any]) -> dict[str, Any]:
    """List what a URL names, and read some of it.

    Returns:
        ``listed``, the number of names on the first page, or ``list_error``; ``read_bytes`` and ``read_s`` of
        the largest object among them, or ``read_error``; ``object``, the properties of what was read.
    """
    told: dict[str, Any] = {"listed": None, "object": None}
    found = None
    if key and not key.endswith("/"):
        try:
            found = _engine.stat(url, **options)
        except NotFoundError:
            found = None
        except HaulageError as error:
            told["stat_error"] = _shown(error)
    try:
        page = _engine.Listing(url, recursive=True, **options).next_page() or {"objects": [], "prefixes": []}
        told["listed"] = len(page["objects"])
        if found is None:
            # Empty ones tell nothing; huge ones no more than the first part of them.
            found = max(page["objects"], key=lambda one: one["size_bytes"], default=None)
    except NotFoundError as error:
        told |= {"list_error": _shown(error), "missing": _is_container(url, key, options)}
    except HaulageError as error:
        told["list_error"] = _shown(error)
    tell(dict(told))
    if found is not None and found["size_bytes"]:
        told["object"] = found
        try:
            told |= _read(_named(url, key, found["key"]), found["size_bytes"], options)
        except HaulageError as error:
            told["read_error"] = _shown(error)
    return told


def _is_container(url: str, key: str, options: dict[str, Any]) -> bool:
    """Return whether it is only the name that is missing, in a container that is there."""
    if not key:
        return False
    try:
        _engine.Listing(_named(url, key, ""), recursive=False, **options).next_page()
    except HaulageError:
        return False
    return True


def _read(url: str, size: int, options: dict[str, Any]) -> dict[str, Any]:
    began, read = time.monotonic(), 0
    rated_s, rated = 0.0, 0
    while read < min(size, RATE_BYTES) and time.monotonic() - began < RATE_S:
        asked = time.monotonic()
        pieces = _engine.get_ranges(url, [(read, min(RATE_PIECE, size - read))], None, **options)
        read += len(pieces[0])
        # The first request pays for the connection.
        if rated_s == 0.0 and read < size and read < RATE_BYTES:
            rated_s = 1e-9
            continue
        rated += len(pieces[0])
        rated_s += time.monotonic() - asked
        if not pieces[0]:
            break
    return {"read_bytes": rated, "read_s": rated_s}


def write(tell: Tell, *, url: str, key: str, name: str, data: str, options: dict[str, Any]) -> dict[str, Any]:
    """Write a tiny object below a URL, read it back, learn the rate, remove it.

    Each step that fails is told in ``crc64_error``, ``md5_error``, ``read_error``, ``remove_error``;
    ``object`` is its name, without a secret. What was written is removed also where a later step fails;
    ``left`` says that it could not be.
    """
    folder = key if key.endswith("/") or not key else key.rpartition("/")[0] + "/"
    target = _named(url, key, folder + name)
    content = data.encode()
    told: dict[str, Any] = {"left": False}
    written = False
    for checksum in ("crc64", "md5"):
        try:
            told[checksum] = _engine.put(target, content, checksum=checksum, overwrite="always", **options)
            told["object"] = told[checksum]["object"]
            written = True
        except HaulageError as error:
            told[f"{checksum}_error"] = _shown(error)
            if error.code in ("permission", "not_found", "usage"):
                break
    if not written:
        # Whether an attempt whose answer was lost has arrived all the same.
        return told
    tell({**told, "left": True})
    try:
        told["read_back"] = _engine.get(target, **options) == content
        told["stored"] = _engine.stat(target, **options)
    except HaulageError as error:
        told["read_error"] = _shown(error)
    tell({**told, "left": True})
    try:
        began = time.monotonic()
        _engine.put(target, os.urandom(RATE_PIECE), overwrite="always", **options)
        told |= {"rate_bytes": RATE_PIECE, "rate_s": time.monotonic() - began}
    except HaulageError as error:
        told["rate_error"] = _shown(error)
    tell({**told, "left": True})
    try:
        remove(target, **options)
    except HaulageError as error:
        told["remove_error"] = _shown(error)
        told["left"] = True
    return told


def count(tell: Tell, *, url: str, options: dict[str, Any]) -> dict[str, Any]:
    """Count objects and bytes below a URL; tell what is known with each page."""
    counted = {"objects": 0, "bytes": 0, "largest_bytes": 0}
    listing = _engine.Listing(url, recursive=True, **options)
    while (page := listing.next_page()) is not None:
        sizes = [one["size_bytes"] for one in page["objects"]]
        counted["objects"] += len(sizes)
        counted["bytes"] += sum(sizes)
        counted["largest_bytes"] = max([counted["largest_bytes"], *sizes])
        tell(dict(counted))
    return counted


def _named(url: str, key: str, name: str) -> str:
    """Return the URL of another name in the same container."""
    bare, mark, query = url.partition("?") if url.lower().startswith("http") else (url, "", "")
    if mark or url.lower().startswith("http"):
        from urllib.parse import quote

        root = bare[: len(bare) - len(quote(key, safe="/"))] if key else bare
        if key and not bare.endswith(quote(key, safe="/")):
            # Escaped in another way than we would: count the parts instead.
            root = bare.rsplit("/", key.count("/") + 1)[0] + "/"
        return f"{root.rstrip('/')}/{quote(name, safe='/')}{mark}{query}"
    root = bare[: len(bare) - len(key)] if key else bare
    return f"{root.rstrip('/')}/{name}"


def _shown(error: HaulageError) -> dict[str, Any]:
    names = ("code", "operation", "object", "cause", "hint")
    return {name: getattr(error, name) for name in names}


QUESTIONS: dict[str, Callable[..., Any]] = {
    "way": way,
    "identity": identity,
    "knock": knock,
    "knock_crc64": knock_crc64,
    "look": look,
    "write": write,
    "count": count,
}
