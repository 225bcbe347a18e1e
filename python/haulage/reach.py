"""The address that connections to a store are made to."""

from __future__ import annotations

from typing import Unpack

from haulage import _engine
from haulage.options import Name, StoreOptions, takes


@takes(StoreOptions)
def first_hop(url: Name, **options: Unpack[StoreOptions]) -> tuple[str, int, bool] | None:
    """Return the host and port that connections for ``url`` are made to, and whether they use TLS.

    That is the service, or the proxy in front of it. Nothing is sent. ``None`` for local paths.

    >>> first_hop("https://127.0.0.1:10000/account/container/tas.nc")
    ('127.0.0.1', 10000, True)
    >>> first_hop("/data/tas.nc") is None
    True

    Raises:
        UsageError: Not a valid URL.
    """
    way = _engine.way(url, **options)
    if way["host"] is None:
        return None
    proxy = way["proxy"]
    if proxy is not None:
        return str(proxy["host"]), int(proxy["port"]), bool(proxy["secure"])
    return str(way["host"]), int(way["port"]), bool(way["secure"])
