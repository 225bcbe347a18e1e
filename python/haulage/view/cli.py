"""The commands ``haul view`` and ``haul index``: parse, one call, render."""

from __future__ import annotations

import json
import webbrowser
from collections.abc import Sequence
from typing import Any

import click

from haulage.commands.grammar import QUIET, command, with_options
from haulage.commands.running import run
from haulage.commands.stores import reached, store_options
from haulage.errors import UsageError
from haulage.session import Session
from haulage.transfer import StoreOptions
from haulage.view.reading.pairs import Beside
from haulage.view.reading.place import Place
from haulage.view.rows.reading import ReadRows
from haulage.web.stopping import stopped_by_ctrl_c

_VIEW_CODES = """\b
Exit codes:
  0  stopped                                    3    credentials or permission
  1  port in use, or the store is unreachable   4    not found
  2  wrong usage                                130  interrupted
"""
_INDEX_CODES = """\b
Exit codes:
  0  all done                   4    not found
  1  a file cannot be read      5    a file is damaged
  2  wrong usage                6    a file changed while it was read
  3  credentials or permission  130  interrupted
"""


_INDEX = with_options(
    click.option(
        "--index",
        "kept",
        type=click.Choice(["cache", "beside", "none"]),
        default="cache",
        show_default=True,
        help="Keep indexes in the cache folder, or also beside the files as NAME.haul-index.",
    ),
    click.option("--no-cache", is_flag=True, help="The same as --index none."),
)


@command(
    epilog=f"""\b
Examples:
  haul view az://climate/cmip6/
  haul view s3://public/tas.nc --open
  haul view results/ --serve
  haul view az://climate/run7/ --beside run7/
  haul view az-table://stations --filter "elevation gt 300"

{_VIEW_CODES}""",
)
@click.argument("url", metavar="URL")
@click.option("--open", "browser", is_flag=True, help="Open the page in the browser.")
@click.option(
    "--serve", is_flag=True, help="Print the address of the files as Zarr, for xarray and other readers."
)
@click.option(
    "--beside",
    metavar="URL",
    help="Compare with the files of the same names there, such as the local source.",
)
@click.option("--filter", metavar="EXPR", help="Rows of a table or Parquet file to draw, in OData.")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Default: a free one.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as a line of JSON.")
@QUIET
@store_options
@_INDEX
@click.pass_obj
def view(
    rows: ReadRows | None,
    /,
    url: str,
    beside: str | None,
    browser: bool,
    serve: bool,
    filter: str | None,
    port: int,
    as_json: bool,
    quiet: bool,
    **reach: Any,
) -> int:
    """View NetCDF files, Zarr stores and rows of tables in the browser, in place, without copying them.

    URL is a container, a prefix, a folder, one file, or a table. Only this machine can ask, with the address
    that is printed; nothing is written but what --index beside asks for. Ctrl-C stops it.
    """
    with Session() as session:
        options = reached(reach) | {"session": session}
        kept_at = _kept(reach)
        place = _place(url, options, sidecars=kept_at != "none")
        if beside and place.is_live:
            raise UsageError("view", place.shown, "a table has nothing beside it", "leave --beside out")
        if beside:
            other = Place(beside, options, sidecars=kept_at != "none")
            place = Beside(url, options, other, sidecars=kept_at != "none")
        # While the rest is loaded, the first answer comes.
        place.begin()
        from haulage.view.index.cache import folder, tidy
        from haulage.view.index.sidecar_writer import Keeper
        from haulage.view.serve.serving import Server

        cache = None if kept_at == "none" else folder()
        if cache:
            tidy(cache)
        keeper = Keeper(place, _say) if kept_at == "beside" else None
        server = Server(place, cache, port, keeper, rows, filter)
        # What cannot be reached at all is said here; what goes wrong later, in the page.
        place.check(wait_s=1.0)
        with stopped_by_ctrl_c(server.stop):
            if as_json:
                click.echo(json.dumps({"event": "serving", "url": server.url, "zarr": server.zarr_url}))
            elif quiet:
                pass
            elif serve:
                _say(f"zarr: {server.zarr_url}NAME")
                _say("Ctrl-C stops it")
            else:
                _say(f"page: {server.url}")
                _say("Ctrl-C stops it")
            if browser and not serve:
                webbrowser.open(server.url)
            server.run()
    return 0


@command(
    epilog=f"""\b
Examples:
  haul index az://climate/tas.nc > tas.json
  haul index az://climate/cmip6/ --out references
  haul index az://climate/tas.zarr/ > tas.json
  haul index az://climate/cmip6/ --index beside

{_INDEX_CODES}""",
)
@click.argument("url", metavar="URL")
@click.option(
    "--out", metavar="FOLDER", help="Write NAME.json for each file to this folder. Default: standard output."
)
@click.option("--as-url", metavar="URL", help="URL of the file in the references, for one file.")
@click.option(
    "--json", "as_json", is_flag=True, help="With --out, print a line of JSON for each file written."
)
@QUIET
@store_options
@_INDEX
def index(url: str, out: str | None, as_url: str | None, as_json: bool, quiet: bool, **reach: Any) -> int:
    """Write references to the chunks of NetCDF files and Zarr stores, which kerchunk and xarray read.

    URL is one file or store, or with --out a container, a prefix or a folder. Nothing but what describes the
    files is read. --index beside writes the index of each file beside it, where haul view finds it.
    """
    from haulage.view.index.cache import folder
    from haulage.view.index.writing import Wanted, write_all

    kept_at = _kept(reach)
    with Session() as session:
        place = Place(url, reached(reach) | {"session": session}, sidecars=kept_at != "none")
        cache = None if kept_at == "none" else folder()
        wanted = Wanted(out, as_url, cache, beside=kept_at == "beside", as_json=as_json)
        return write_all(place, wanted, say=(lambda _: None) if quiet else _say)


def _place(url: str, options: StoreOptions, *, sidecars: bool) -> Place:
    from haulage.view.rows.place import TablePlace
    from haulage.view.rows.reading import is_table

    return TablePlace(url, options) if is_table(url) else Place(url, options, sidecars=sidecars)


def _kept(given: dict[str, Any]) -> str:
    """Return where indexes are kept: ``cache``, ``beside`` or ``none``."""
    return "none" if given["no_cache"] else str(given["kept"])


def _say(line: str) -> None:
    click.echo(line, err=True)


def view_main(arguments: Sequence[str], rows: ReadRows | None = None) -> int:
    """Run ``haul view`` with these arguments; return the exit code.

    Args:
        arguments: Of the command line.
        rows: Reads tables and Parquet files; ``None`` to have none of them drawn.
    """
    return run(view, "view", arguments, extra="view", obj=rows)


def index_main(arguments: Sequence[str]) -> int:
    """Run ``haul index`` with these arguments; return the exit code."""
    return run(index, "index", arguments, extra="view")
