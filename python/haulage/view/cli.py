"""The commands ``haul view`` and ``haul index``: one call, render."""

from __future__ import annotations

import json
import webbrowser
from typing import Any

from haulage.commands.saying import echo
from haulage.commands.stores import reached
from haulage.errors import UsageError
from haulage.session import Session
from haulage.transfer import StoreOptions
from haulage.view.reading.pairs import Beside
from haulage.view.reading.place import Place
from haulage.view.rows.reading import ReadRows
from haulage.web.stopping import stopped_by_ctrl_c


def view(
    *,
    rows: ReadRows | None = None,
    url: str,
    beside: str | None,
    browser: bool,
    serve: bool,
    filter: str | None,
    port: int | None,
    as_json: bool,
    quiet: bool,
    **reach: Any,
) -> int:
    """View NetCDF files, Zarr stores and rows of tables in the browser, in place, without copying them.

    ``rows`` reads tables and Parquet files; ``None`` to have none of them drawn.
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
        server = Server(place, cache, port or 0, keeper, rows, filter)
        # What cannot be reached at all is said here; what goes wrong later, in the page.
        place.check(wait_s=1.0)
        with stopped_by_ctrl_c(server.stop):
            if as_json:
                echo(json.dumps({"event": "serving", "url": server.url, "zarr": server.zarr_url}))
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


def index(*, url: str, out: str | None, as_url: str | None, as_json: bool, quiet: bool, **reach: Any) -> int:
    """Write references to the chunks of NetCDF files and Zarr stores, which kerchunk and xarray read."""
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
    echo(line, err=True)
