"""The server as an application of ASGI: what is asked for, and what the answer says of its cost."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

import haulage
from haulage.errors import HaulageError, NotFoundError, SourceChangedError, UsageError
from haulage.view.cf import axes
from haulage.view.cf.grids import Corners
from haulage.view.reading.cost import Cost, counting
from haulage.view.serve import catalogue, equality, exporting, views, zarr
from haulage.view.serve.library import Library, replaced
from haulage.web.failing import answer, handlers
from haulage.web.files import PageFiles
from haulage.web.guarding import Access, Guard, local_hosts

#: Sent at a time of what is large.
_PIECE_BYTES = 1 << 20
#: Grids of more corners than this are sent as edges, which only rectilinear ones have.
_MESH_CORNERS = 1 << 21
_EXPOSED = ("X-Haul-Requests", "X-Haul-Bytes", "X-Haul-Milliseconds", "X-Haul-Round-Trips", "ETag")
#: What is wrong with a file is not the fault of the store.
_STATUS = {"protocol": 422, "integrity": 422}


class Application:
    """Answers requests from a library.

    Args:
        library: What is viewed.
        port: Where the server listens.
        token: What must be shown.
    """

    def __init__(self, library: Library, port: int, token: str) -> None:
        self._library, self._token = library, token
        self._page = PageFiles("haulage.view")
        answers: dict[str, Callable[[Request], Response]] = {
            "info": self._info,
            "catalogue": self._catalogue,
            "file": self._file,
            "labels": self._labels,
            "grid": self._grid,
            "slab": self._slab,
            "series": self._series,
            "mean": self._mean,
            "value": self._value,
            "export": self._export,
            "code": self._code,
            "difference": self._difference,
            "equal": self._equal,
            "store": self._store,
        }
        routes = [Route(f"/api/{name}", self._counted(call)) for name, call in answers.items()]
        routes.append(
            Route("/zarr/{token}/{rest:path}", self._counted(self._zarr), methods=["GET", "OPTIONS"])
        )
        routes.append(Route("/{file:path}", self._static))
        access = Access(
            local_hosts(port),
            token,
            "open the address that haul view has printed",
            # What the page is made of tells nothing of what is viewed.
            guarded=("/api/", "/zarr/"),
            token_after="/zarr/",
            cookie=f"haul-view-{port}",
        )
        self._cookie = str(access.cookie)
        self.guard = Guard(Starlette(routes=routes, exception_handlers=handlers(None)), access)

    def _counted(self, call: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """Return an endpoint, run in a thread, that says what it cost and turns errors into answers."""

        def endpoint(request: Request) -> Response:
            # A page waits for its answer; other readers leave it to the engine how long it tries.
            with counting(hasty=request.url.path.startswith("/api/")) as cost:
                try:
                    response = call(request)
                except SourceChangedError as error:
                    for key in ("name", "name2"):
                        self._library.forget(request.query_params.get(key, ""))
                    response = answer(replaced(error), _STATUS)
                except HaulageError as error:
                    response = answer(error, _STATUS)
            _say(response, cost)
            if request.url.path.startswith("/zarr/"):
                response.headers["Access-Control-Allow-Origin"] = "*"
                response.headers["Access-Control-Expose-Headers"] = ", ".join(_EXPOSED)
            return response

        endpoint.__name__ = call.__name__
        return endpoint

    def _info(self, _: Request) -> Response:
        place = self._library.place
        return _json(
            {"url": place.shown, "version": haulage.__version__, "writable": False, "beside": place.mark}
        )

    def _store(self, _: Request) -> Response:
        why_not = self._library.place.away()
        return _json({"answers": why_not is None, "why_not": why_not})

    def _catalogue(self, request: Request) -> Response:
        asked = request.query_params
        limit = _integer(asked.get("limit", "1000"), "limit", 1, catalogue.MOST_NAMES)
        if asked.get("refresh"):
            self._library.place.begin(again=True)
        return _json(catalogue.listing(self._library, asked.get("search", ""), asked.get("after", ""), limit))

    def _file(self, request: Request) -> Response:
        opened = self._library.opened(_name(request), fresh=True)
        return self._versioned(
            request, opened.pinned.etag, lambda: _json(catalogue.contents(self._library, opened))
        )

    def _labels(self, request: Request) -> Response:
        opened = self._library.opened(_name(request))
        variable = self._library.variable(opened, request.query_params.get("var", ""))
        return self._versioned(
            request,
            opened.pinned.etag,
            lambda: _json({"labels": catalogue.labels_of(self._library, opened, variable)}),
        )

    def _grid(self, request: Request) -> Response:
        opened = self._library.opened(_name(request))
        asked = request.query_params.get("grid", "")
        for variable in opened.index.variables.values():
            across = axes.horizontal(opened.index, variable)
            id_, along = catalogue.grid_of(opened, variable, across) if across else ("", [])
            if across is not None and id_ == asked:
                steps = views.places(variable, along, request.query_params.get("index", ""))
                what = views.Chosen(opened, variable, across, steps)
                return self._versioned(
                    request,
                    opened.pinned.etag,
                    lambda what=what: _mesh(what.corners(self._library)),  # type: ignore[misc]
                )
        raise NotFoundError("read", asked[:100], "there is no such grid", "choose one that /api/file names")

    def _slab(self, request: Request) -> Response:
        what = views.chosen(self._library, request.query_params)

        def make() -> Response:
            found = views.slab(self._library, what)
            return _framed(found.said, [found.values])

        return self._versioned(request, what.opened.pinned.etag, make)

    def _series(self, request: Request) -> Response:
        what, asked = views.chosen(self._library, request.query_params), request.query_params
        ny, nx = what.size
        y, x = views.integer(asked.get("y", ""), "y", ny), views.integer(asked.get("x", ""), "x", nx)
        return self._versioned(
            request,
            what.opened.pinned.etag,
            lambda: _json(views.series(self._library, what, asked.get("along", ""), y, x)),
        )

    def _mean(self, request: Request) -> Response:
        what = views.chosen(self._library, request.query_params)
        window = _window(request, what)
        return self._versioned(
            request, what.opened.pinned.etag, lambda: _json(views.mean(self._library, what, *window))
        )

    def _value(self, request: Request) -> Response:
        what, asked = views.chosen(self._library, request.query_params), request.query_params
        ny, nx = what.size
        y, x = views.integer(asked.get("y", ""), "y", ny), views.integer(asked.get("x", ""), "x", nx)
        return self._versioned(
            request, what.opened.pinned.etag, lambda: _json(views.value(self._library, what, y, x))
        )

    def _export(self, request: Request) -> Response:
        what = views.chosen(self._library, request.query_params)
        form = request.query_params.get("format", "")
        if form not in ("csv", "nc"):
            raise UsageError("export", f"format={form[:20]}", "there is no such format", "ask for csv or nc")
        y, x = _window(request, what)
        values = views.slab(self._library, what, ahead=False).values[slice(*y), slice(*x)]
        corners = what.corners(self._library)
        if corners.kind == "index":
            what = replace(what, across=replace(what.across, why_by_index=corners.why_by_index))
        lon, lat = exporting.centres(corners, y, x)
        note = f"haul view: {self._library.place.url_of(what.opened.pinned.name)}, {what.variable.path}"
        if form == "csv":
            body, kind = exporting.csv(values, lon, lat, what), "text/csv; charset=utf-8"
        else:
            body, kind = exporting.netcdf(values, lon, lat, what, note), "application/x-netcdf"
        headers = {**_PRIVATE, "Content-Disposition": exporting.attached(f"{what.variable.name}.{form}")}
        return Response(body, media_type=kind, headers=headers)

    def _code(self, request: Request) -> Response:
        what = views.in_one_file(views.chosen(self._library, request.query_params))
        url = self._library.place.url_of(what.opened.pinned.name)
        text = exporting.code(what, url, self._library.filter)
        return Response(text, media_type="text/plain; charset=utf-8", headers=_PRIVATE)

    def _difference(self, request: Request) -> Response:
        one = views.chosen(self._library, request.query_params)
        other = views.chosen(self._library, request.query_params, "2")
        if one.size != other.size:
            cause = (
                f"one has {one.size[0]} by {one.size[1]} cells, the other {other.size[0]} by {other.size[1]}"
            )
            raise UsageError("compare", other.variable.path, cause, "choose two on the same grid")
        places = [what.corners(self._library).whole() for what in (one, other)]
        if not all(np.allclose(a, b, atol=1e-4, equal_nan=True) for a, b in zip(*places, strict=True)):
            cause = "their cells are in different places"
            raise UsageError("compare", other.variable.path, cause, "choose two on the same grid")

        def make() -> Response:
            first, second = (views.slab(self._library, what, ahead=False).values for what in (one, other))
            found = first - second
            same = np.array_equal(first, second, equal_nan=True)
            units = one.variable.attribute("units")
            said = {"shape": list(found.shape), **views.statistics(found), "units": units, "equal": same}
            return _framed(said, [found])

        return self._versioned(request, one.opened.pinned.etag + other.opened.pinned.etag, make)

    def _equal(self, request: Request) -> Response:
        asked, pair = request.query_params, []
        for suffix in ("", "2"):
            opened = self._library.opened(views.text(asked, f"name{suffix}"))
            pair.append((opened, self._library.variable(opened, views.text(asked, f"var{suffix}"))))
        length = (*pair[0][1].shape, 1)[0]
        start = _integer(asked.get("from", "0"), "from", 0, max(length - 1, 0))
        return _json(equality.compared(self._library, pair[0], pair[1], start))

    def _zarr(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            allowed = {
                "Access-Control-Allow-Methods": "GET",
                "Access-Control-Allow-Headers": "authorization, range",
            }
            return Response(status_code=204, headers=allowed)
        rest = request.path_params["rest"]
        name = self._file_of(rest)
        if name is None:
            raise NotFoundError("read", rest[:100], "no such file is viewed", "/zarr/TOKEN/NAME/zarr.json")
        key = rest[len(name) + 1 :]
        # Who opens a store begins with its metadata, and gets the version of now.
        opened = self._library.opened(name, fresh=key.endswith("zarr.json"))
        try:
            body, kind = zarr.answer(self._library, opened, key)
        except SourceChangedError:
            self._library.forget(name)
            raise
        tag = _tag(request, opened.pinned.etag)
        return Response(body, media_type=kind, headers={**_PRIVATE, "ETag": tag})

    def _file_of(self, path: str) -> str | None:
        """Return the name of the file, or of the files that are shown as one, that a path begins with."""
        folders = [path[:at] for at, letter in enumerate(path) if letter == "/"]
        several = [name for name in folders if "*" in name]
        place = self._library.place
        return place.first_of(folders) or next((name for name in several if place.series(name)), None)

    def _versioned(self, request: Request, etag: str, make: Callable[[], Response]) -> Response:
        """Return the answer; nothing but its tag where the client has it already."""
        tag = _tag(request, etag)
        if tag in [one.strip() for one in request.headers.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers={**_PRIVATE, "ETag": tag})
        response = make()
        response.headers["ETag"] = tag
        return response

    async def _static(self, request: Request) -> Response:
        response = await self._page.answer(request)
        if request.query_params.get("token") == self._token:
            # The page's own requests show it from here on; the address need not.
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/api/")
        return response


_PRIVATE = {"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff"}


def _say(response: Response, cost: Cost) -> None:
    response.headers["X-Haul-Requests"] = str(cost.requests)
    response.headers["X-Haul-Bytes"] = str(cost.bytes)
    response.headers["X-Haul-Round-Trips"] = str(cost.waves)
    response.headers["X-Haul-Milliseconds"] = f"{cost.milliseconds:.1f}" if cost.requests else "0"


def _json(values: dict[str, Any]) -> Response:
    try:
        return JSONResponse(values, headers=_PRIVATE)
    except ValueError:
        # NaN and infinity, in attributes of files.
        return JSONResponse(_finite(values), headers=_PRIVATE)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return str(value) if isinstance(value, float) and value - value != 0 else value


def _mesh(corners: Corners) -> Response:
    ny, nx = (corners.lat.shape[0] - 1, corners.lon.shape[-1] - 1)
    if corners.kind == "points":
        said = {
            "kind": "points",
            "nx": nx + 1,
            "ny": 1,
            "bounds": "points",
            "wrap": False,
            "projection": None,
        }
        return _framed(said, [corners.lon, corners.lat])
    hidden = corners.hidden()
    small = corners.lon.ndim == 2 or (ny + 1) * (nx + 1) <= _MESH_CORNERS
    lon, lat = corners.whole() if small else (corners.lon, corners.lat)
    said = {
        "kind": corners.kind,
        "nx": nx,
        "ny": ny,
        "bounds": "vertices" if small else "edges",
        "wrap": corners.wrap,
        "projection": corners.projection,
        "why_by_index": corners.why_by_index,
        "hidden": hidden is not None,
    }
    return _framed(said, [lon, lat, *([] if hidden is None else [hidden])])


def _framed(said: dict[str, Any], arrays: list[np.ndarray[Any, Any]]) -> Response:
    """Return an answer: how long the head is (four bytes, least first), the head, all values as Float32."""
    head = json.dumps(said, allow_nan=False).encode()
    # Padded, so that the values begin where Float32 may.
    head += b" " * (-len(head) % 4)
    bodies = [np.ascontiguousarray(one, np.float32) for one in arrays]
    size = 4 + len(head) + sum(one.nbytes for one in bodies)
    headers = {**_PRIVATE, "Content-Length": str(size), "Content-Type": "application/octet-stream"}

    def pieces() -> Iterator[bytes | memoryview]:
        yield struct.pack("<I", len(head)) + head
        for one in bodies:
            view = one.reshape(-1).view(np.uint8).data
            for at in range(0, len(view), _PIECE_BYTES):
                yield view[at : at + _PIECE_BYTES]

    return StreamingResponse(pieces(), headers=headers)


def _window(request: Request, what: views.Chosen) -> tuple[tuple[int, int], tuple[int, int]]:
    ny, nx = what.size
    asked = request.query_params
    found = []
    for key, size in (("y", ny), ("x", nx)):
        start = _integer(asked.get(f"{key}0", "0"), f"{key}0", 0, size)
        found.append((start, _integer(asked.get(f"{key}1", str(size)), f"{key}1", 0, size)))
    if any(stop <= start for start, stop in found):
        raise UsageError("read", "window", "it has no cells", "y0 and x0 come before y1 and x1")
    return found[0], found[1]


def _integer(text: str, what: str, low: int, high: int) -> int:
    if not text.isdecimal() or not low <= int(text) <= high:
        raise UsageError(
            "read", f"{what}={text[:40]}", f"not a number from {low} to {high}", "choose another"
        )
    return int(text)


def _name(request: Request) -> str:
    name = request.query_params.get("name", "")
    if not name:
        raise UsageError("open", "name", "the request does not say it", "add name=...")
    return name


def _tag(request: Request, etag: str) -> str:
    asked = f"{haulage.__version__} {unquote(str(request.url.query))} {request.url.path} {etag}"
    return f'"{hashlib.sha256(asked.encode()).hexdigest()[:24]}"'
