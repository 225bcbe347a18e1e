"""What is seen, to take along: CSV, NetCDF, and the lines of xarray that give the same."""

from __future__ import annotations

import struct
from typing import Any
from urllib.parse import quote

import numpy as np

from haulage.view.cf.grids import Corners
from haulage.view.rows.gridding import COUNTED
from haulage.view.rows.reading import is_table
from haulage.view.serve.views import Chosen

_DIMENSIONS, _VARIABLES, _ATTRIBUTES = 10, 11, 12
_CHARS, _FLOAT, _DOUBLE = 2, 5, 6


def attached(name: str) -> str:
    """Return the header by which a browser saves an answer under a name.

    >>> attached("t/a.csv")
    'attachment; filename="t_a.csv"'
    """
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
    plain = "".join(c if c.isascii() else "_" for c in safe)
    return f'attachment; filename="{plain}"' + (f"; filename*=UTF-8''{quote(safe)}" if safe != plain else "")


def centres(corners: Corners, y: tuple[int, int], x: tuple[int, int]) -> tuple[np.ndarray[Any, Any], ...]:
    """Return longitudes and latitudes of the centres of a window: of one dimension each, or of two.

    Of cells by index, return their columns and rows.
    """
    if corners.kind == "index":
        return np.arange(*x, dtype=np.float64), np.arange(*y, dtype=np.float64)
    lon, lat = corners.centres()
    if lon.ndim == 1:
        return lon[slice(*x)], lat[slice(*y)]
    return lon[slice(*y), slice(*x)], lat[slice(*y), slice(*x)]


def csv(
    values: np.ndarray[Any, Any], lon: np.ndarray[Any, Any], lat: np.ndarray[Any, Any], what: Chosen
) -> bytes:
    """Return a line for each cell that has a value: longitude, latitude, value; or column, row, value."""
    if lon.ndim == 1:
        lon, lat = np.meshgrid(lon, lat)
    good = np.isfinite(values) & np.isfinite(lon) & np.isfinite(lat)
    heads = (
        [_last(what.across.x_dim), _last(what.across.y_dim) or "row"]
        if what.across.by_index
        else ["longitude", "latitude"]
    )
    lines = [",".join(map(_quoted, [*heads, what.variable.name]))]
    digits = ".0f" if what.across.by_index else ".6g"
    lines += [
        f"{x:{digits}},{y:{digits}},{value}"
        for x, y, value in zip(lon[good].tolist(), lat[good].tolist(), values[good].astype(str), strict=True)
    ]
    return ("\n".join(lines) + "\n").encode()


def netcdf(
    values: np.ndarray[Any, Any],
    lon: np.ndarray[Any, Any],
    lat: np.ndarray[Any, Any],
    what: Chosen,
    note: str,
) -> bytes:
    """Return a NetCDF file (64-bit offset) with one map and its coordinates."""
    ny, nx = values.shape
    flat = lon.ndim == 1
    rows, columns = ("lat", "lon") if flat else ("y", "x")
    if what.across.by_index:
        rows, columns = _last(what.across.y_dim) or "row", _last(what.across.x_dim)
    dims = [(rows, ny), (columns, nx)]
    said = [
        (key, what.variable.attribute(key)) for key in ("units", "long_name", "standard_name", "cell_methods")
    ]
    attributes: list[tuple[str, str | float]] = [(key, text) for key, text in said if text]
    attributes += [("_FillValue", float("nan")), *([] if flat else [("coordinates", "lat lon")])]
    degrees: list[tuple[str, list[int], list[tuple[str, str | float]], np.ndarray[Any, Any]]] = [
        ("lat", [0] if flat else [0, 1], [("units", "degrees_north"), ("standard_name", "latitude")], lat),
        ("lon", [1] if flat else [0, 1], [("units", "degrees_east"), ("standard_name", "longitude")], lon),
    ]
    if what.across.by_index:
        degrees = [
            (rows, [0], [("long_name", "index")], lat),
            (columns, [1], [("long_name", "index")], lon),
        ]
    name = what.variable.name if what.variable.name not in (degrees[0][0], degrees[1][0]) else "value"
    variables = [*degrees, (name, [0, 1], attributes, values)]
    bodies = [np.asarray(one[3], ">f4" if one[0] == name else ">f8").tobytes() for one in variables]

    def header(begins: list[int]) -> bytes:
        parts = [b"CDF\x02", _number(0), _number(_DIMENSIONS), _number(len(dims))]
        parts += [_text(dim) + _number(length) for dim, length in dims]
        parts += [_attributes([("Conventions", "CF-1.8"), ("history", note)]), _number(_VARIABLES)]
        parts.append(_number(len(variables)))
        for (title, places, of, _), body, begin in zip(variables, bodies, begins, strict=True):
            parts += [_text(title), _number(len(places)), *map(_number, places), _attributes(of)]
            kind = _FLOAT if title == name else _DOUBLE
            parts += [_number(kind), _number(_padded(len(body)) & 0xFFFFFFFF), struct.pack(">q", begin)]
        return b"".join(parts)

    at = len(header([0] * len(variables)))
    begins = []
    for body in bodies:
        begins.append(at)
        at += _padded(len(body))
    return header(begins) + b"".join(body.ljust(_padded(len(body)), b"\0") for body in bodies)


def code(what: Chosen, url: str, filter: str | None = None) -> str:
    """Return the lines of Python that give the same values with xarray, read from the same place.

    Args:
        what: The map; of one file.
        url: Where the file lies.
        filter: Which rows, of a table.
    """
    variable, index = what.variable, what.opened.index
    if what.opened.held is not None:
        return _code_of_rows(what, url, filter)
    if index.format == "zarr":
        return _code_of_zarr(what, url)
    engine = "h5netcdf" if index.format == "netcdf4" else "scipy"
    group = f", group={variable.group!r}" if variable.group else ""
    opened = f"haulage.open({url!r})" if "://" in url else repr(url)
    if engine == "scipy" and "://" in url:
        opened = f"io.BytesIO(haulage.get({url!r}))"
    places = {dim.rpartition("/")[2]: place for dim, place in what.places.items()}
    chosen = f".isel({places!r})" if places else ""
    imports = ["import io\n"] * ("BytesIO" in opened) + ["import haulage\n"] * ("://" in url)
    return (
        "".join(imports)
        + "import xarray as xr\n\n"
        + f"ds = xr.open_dataset({opened}, engine={engine!r}{group}, decode_times=False)\n"
        + f"values = ds[{variable.name!r}]{chosen}\n"
    )


def _code_of_rows(what: Chosen, url: str, filter: str | None) -> str:
    values = f"values = rows[{what.variable.path!r}]\n"
    if what.variable.attribute("long_name") == COUNTED:
        along = [dim for dim in what.variable.dims if dim not in (what.across.y_dim, what.across.x_dim)]
        values = f"values = rows.groupby({[*along, what.across.y.path, what.across.x.path]!r}).size()\n"
    if not is_table(url):
        opened = f"haulage.open({url!r})" if "://" in url else repr(url)
        imports = "import haulage\n" * ("://" in url) + "import pandas as pd\n\n"
        return f"{imports}rows = pd.read_parquet({opened})\n{values}"
    wanted = f", filter={filter!r}" if filter else ""
    return (
        "import pandas as pd\n\n"
        "from haulage.tables.moving import export_table\n\n"
        f"export_table({url!r}, 'rows.parquet'{wanted})\n"
        f"rows = pd.read_parquet('rows.parquet')\n{values}"
    )


def _code_of_zarr(what: Chosen, url: str) -> str:
    variable = what.variable
    group = f", group={variable.group!r}" if variable.group else ""
    places = {dim.rpartition("/")[2]: place for dim, place in what.places.items()}
    chosen = f".isel({places!r})" if places else ""
    folder, imports = url.rpartition("/")[0], ""
    store = repr(folder)
    if folder.startswith(("az://", "s3://")):
        store = f"zarr_store({'haul+' + folder!r}, read_only=True)"
        imports = "from haulage.filesystem import zarr_store\n"
    return (
        f"{imports}import xarray as xr\n\n"
        f"ds = xr.open_zarr({store}{group}, consolidated=False, decode_times=False)\n"
        f"values = ds[{variable.name!r}]{chosen}\n"
    )


def _attributes(of: list[tuple[str, str | float]]) -> bytes:
    parts = [_number(_ATTRIBUTES if of else 0), _number(len(of))]
    for name, value in of:
        if isinstance(value, str):
            parts += [_text(name), _number(_CHARS), _text(value)]
        else:
            parts += [_text(name), _number(_FLOAT), _number(1), struct.pack(">f", value)]
    return b"".join(parts)


def _last(dim: str) -> str:
    return dim.rpartition("/")[2]


def _text(text: str) -> bytes:
    body = text.encode()
    return _number(len(body)) + body.ljust(_padded(len(body)), b"\0")


def _number(value: int) -> bytes:
    return struct.pack(">I", value)


def _padded(size: int) -> int:
    return -(-size // 4) * 4


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text
