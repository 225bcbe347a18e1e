"""The command ``haul table serve``: open, serve."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import quote

from rich.console import Console

from haulage.commands.saying import echo
from haulage.commands.stores import reached
from haulage.web.stopping import stopped_by_ctrl_c

STDERR = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)


def serve(
    *,
    sources: tuple[str, ...],
    listen: str,
    token: str | None,
    origins: tuple[str, ...],
    timeout: float,
    max_rows: int | None,
    max_bytes: int | None,
    max_streams: int,
    max_sorted: int,
    no_index: bool,
    no_compress: bool,
    as_json: bool,
    quiet: bool,
    **reach: Any,
) -> int:
    """Serve rows of tables and Parquet files over HTTP, to read: to browsers, notebooks, curl."""
    from haulage.tables.serve.answering import Bounds
    from haulage.tables.serve.app import Limits
    from haulage.tables.serve.opening import look, opened
    from haulage.tables.serve.serving import Server, address, token_of

    where = address(listen)
    shown = token_of(os.environ.get("HAULAGE_TABLE_TOKEN") or None if token is None else token, where)
    limits = Limits(timeout, max_streams, max_sorted, Bounds(max_rows, max_bytes), compress=not no_compress)
    found = opened(sources, reached(reach), use_index=not no_index)
    look(found)
    server = Server(found, where, limits, token=shown, origins=origins)
    with stopped_by_ctrl_c(server.stop):
        if as_json:
            echo(json.dumps({"event": "serving", "url": server.url, "token": shown}))
        elif quiet:
            pass
        elif shown:
            # Behind #, so that no server and no log learns it.
            STDERR.print(f"page: {server.url}#token={quote(shown, safe='')}")
        else:
            STDERR.print(f"page: {server.url}")
        server.run()
    return 0
