"""The command ``haul table serve``: parse, open, serve."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import click
from rich.console import Console

from haulage.commands.grammar import QUIET, command
from haulage.commands.stores import reached, store_options
from haulage.tables.serve.quantities import Amount, Seconds
from haulage.web.stopping import stopped_by_ctrl_c

STDERR = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)

_EPILOG = """\b
Examples:
  haul table serve az-table://Stations
  haul table serve stations.parquet az://climate/grid.parquet
  haul table serve near=az://climate/a.parquet --listen 127.0.0.1:8080 --token none
  haul table serve az-table://Stations --allow-origin https://maps.example.org

\b
  curl -H 'Accept: text/csv' 'http://127.0.0.1:8484/tables/Stations/rows?$filter=elevation%20gt%20300&token=TOKEN'
  curl 'http://127.0.0.1:8484/tables/Stations/all?format=arrow&token=TOKEN' > stations.arrows

\b
Exit codes:
  0  stopped        3    credentials or permission
  1  address taken  4    not found
  2  wrong usage    130  interrupted before it served
"""


@command(epilog=_EPILOG)
@click.argument("sources", metavar="[NAME=]SOURCE...", nargs=-1, required=True)
@click.option(
    "--listen",
    metavar="ADDR",
    default="127.0.0.1:8484",
    show_default=True,
    help="Address and port; port 0 selects a free one.",
)
@click.option(
    "--token",
    metavar="TOKEN",
    envvar="HAULAGE_TABLE_TOKEN",
    help="Token that clients need to read rows; none: all may. Default on this machine: auto, a new one.",
)
@click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
    help="Allow pages from this origin to read answers, such as https://maps.example.org; * for all.",
)
@click.option(
    "--timeout",
    metavar="DURATION",
    type=Seconds(),
    default="30s",
    show_default=True,
    help="Time for the store to send a page, and for a client to receive a piece.",
)
@click.option("--max-rows", metavar="N", type=click.IntRange(1), help="Limit for one answer; default: none.")
@click.option("--max-bytes", metavar="SIZE", type=Amount(), help="Limit for one answer; default: none.")
@click.option(
    "--max-streams",
    metavar="N",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Answers with all rows at the same time.",
)
@click.option(
    "--max-sorted",
    metavar="N",
    type=click.IntRange(1),
    default=1_000_000,
    show_default=True,
    help="Rows that can be collected for sorting.",
)
@click.option("--no-index", is_flag=True, help="Read tables themselves, even if an index fits.")
@click.option("--no-compress", is_flag=True, help="Do not compress answers, for measurements.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as a line of JSON.")
@QUIET
@store_options
def serve(
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
    """Serve rows of tables and Parquet files over HTTP, to read: to browsers, notebooks, curl.

    SOURCE is az-table://TABLE, the URL of a table, or a Parquet file: a path, az://container/file.parquet or
    s3://bucket/file.parquet. Ctrl-C stops it.
    """
    from haulage.tables.serve.answering import Bounds
    from haulage.tables.serve.app import Limits
    from haulage.tables.serve.opening import look, opened
    from haulage.tables.serve.serving import Server, address, token_of

    where = address(listen)
    shown = token_of(token, where)
    limits = Limits(timeout, max_streams, max_sorted, Bounds(max_rows, max_bytes), compress=not no_compress)
    found = opened(sources, reached(reach), use_index=not no_index)
    look(found)
    server = Server(found, where, limits, token=shown, origins=origins)
    with stopped_by_ctrl_c(server.stop):
        if as_json:
            click.echo(json.dumps({"event": "serving", "url": server.url, "token": shown}))
        elif quiet:
            pass
        elif shown:
            # Behind #, so that no server and no log learns it.
            STDERR.print(f"page: {server.url}#token={quote(shown, safe='')}")
        else:
            STDERR.print(f"page: {server.url}")
        server.run()
    return 0
