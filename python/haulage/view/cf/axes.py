"""What each dimension of a variable is: x, y, time, level or another; and whether it is drawn as a map."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from haulage.view.index.model import Index, Variable

Role: TypeAlias = Literal["x", "y", "time", "level", "other"]

_NORTH = re.compile(r"degrees?_?n(orth)?$", re.IGNORECASE)
_EAST = re.compile(r"degrees?_?e(ast)?$", re.IGNORECASE)
#: What latitudes and longitudes are called: ``nav_lat``, WRF's ``XLAT_U``, ``lon_rho``, ``station_lon``.
_STAGGERED = r"(?:_?deg|_(?:[uvmctfw]|rho|psi))?"
LATITUDE = re.compile(rf"(?:[xy]_?|nav_|station_?)?lat(?:itude)?{_STAGGERED}", re.IGNORECASE)
LONGITUDE = re.compile(rf"(?:[xy]_?|nav_|station_?)?(?:lon|lng|long|longitude){_STAGGERED}", re.IGNORECASE)
_PRESSURE = re.compile(r"(pa|hpa|kpa|mb|mbar|millibars?|bar|dbar|decibars?)$", re.IGNORECASE)
_STANDARD: dict[str, Role] = {
    "latitude": "y", "grid_latitude": "y", "projection_y_coordinate": "y",
    "longitude": "x", "grid_longitude": "x", "projection_x_coordinate": "x",
    "time": "time", "height": "level", "altitude": "level", "depth": "level", "air_pressure": "level",
    "model_level_number": "level", "height_above_geopotential_datum": "level",
}  # fmt: skip
_NAMES: dict[str, Role] = {
    "rlat": "y", "grid_latitude": "y", "rlon": "x", "grid_longitude": "x",
    "time": "time", "level": "level", "lev": "level", "plev": "level", "height": "level", "depth": "level",
    "altitude": "level", "model_level_number": "level", "pressure": "level", "deptht": "level",
}  # fmt: skip
#: Attributes that place a variable.
_PLACING = {"coordinates", "grid_mapping"}
_AXES: dict[str, Role] = {"X": "x", "Y": "y", "Z": "level", "T": "time"}
#: Why most variables that have no place have none.
UNSAID = "the file does not say where the values are"


@dataclass(frozen=True)
class Axis:
    """One dimension of a variable."""

    dim: str
    size: int
    role: Role
    coordinate: Variable | None  #: the variable that labels it


@dataclass(frozen=True)
class Horizontal:
    """Where the values of a map lie."""

    y_dim: str  #: empty for points, which lie along ``x_dim`` alone
    x_dim: str
    y: Variable  #: latitudes, or the coordinate along y of a projection
    x: Variable
    mapping: Variable | None  #: the grid mapping, where ``y`` and ``x`` are coordinates of a projection
    otherwise: Horizontal | None = None  #: where they lie if ``y`` and ``x`` turn out to hold nothing
    #: Why nothing says where they lie: drawn by row and column then, and ``y`` and ``x`` are unused.
    why_by_index: str | None = None
    #: The other dimensions of ``y`` and ``x`` along which the variable goes too, as along the times of WRF.
    steps: tuple[str, ...] = ()

    @property
    def by_index(self) -> bool:
        """Whether nothing says where they lie."""
        return self.why_by_index is not None

    @property
    def is_curved(self) -> bool:
        """Whether ``y`` and ``x`` have two dimensions or more."""
        return not self.by_index and len(self.y.dims) > 1

    @property
    def is_points(self) -> bool:
        """Whether each value is at a point, such as a station."""
        return not self.y_dim

    @property
    def id(self) -> str:
        """What names this grid among those of the file."""
        if self.by_index:
            return "|".join((self.y_dim, self.x_dim, "index", self.why_by_index or ""))
        parts = (self.y_dim, self.x_dim, self.y.path, self.x.path, self.mapping.path if self.mapping else "")
        return "|".join((*parts, *self.steps))


def is_time(units: str | None) -> bool:
    """Return whether units are those of times: ``days since 2000-01-01``."""
    return units is not None and (" since " in units.lower() or units.startswith("day as %Y%m%d"))


def role_of(variable: Variable) -> Role:
    """Return what a coordinate variable is, by its attributes before its name."""
    axis = _AXES.get((variable.attribute("axis") or "").upper())
    standard, units = variable.attribute("standard_name") or "", variable.attribute("units") or ""
    if standard in _STANDARD:
        return _STANDARD[standard]
    if _NORTH.match(units):
        return "y"
    if _EAST.match(units):
        return "x"
    if is_time(units):
        return "time"
    if axis:
        return axis
    if variable.attribute("positive") or _PRESSURE.match(units) or standard.endswith("_coordinate"):
        return "level"
    return _by_name(variable.name)


def axes(index: Index, variable: Variable) -> list[Axis]:
    """Return the axes of a variable, in order."""
    across = horizontal(index, variable)
    found = []
    for dim, size in zip(variable.dims, variable.shape, strict=True):
        coordinate = _along(index, variable, dim)
        role: Role = role_of(coordinate) if coordinate else _by_name(dim)
        if across is not None:
            role = "y" if dim == across.y_dim else "x" if dim == across.x_dim else role
            if role in ("x", "y") and dim not in (across.y_dim, across.x_dim):
                role = "other"
        found.append(Axis(dim, size, role, coordinate))
    return found


def horizontal(index: Index, variable: Variable) -> Horizontal | None:
    """Return where the values of a variable lie on the map, or else by which dimensions it is drawn.

    What its own attributes do not say, others of the same dimensions may: files often say it once. If nothing
    does, a variable of two dimensions or more is drawn by index. ``None`` for what has fewer.
    """
    found = _placed(index, variable)
    if found is not None and _is_placed(found):
        across = {found.y_dim, found.x_dim}
        others = dict.fromkeys(dim for one in (found.y, found.x) for dim in one.dims if dim not in across)
        return replace(found, steps=tuple(dim for dim in others if dim in variable.dims))
    plane = _plane(index, variable)
    return plane and Horizontal(*plane, variable, variable, None, why_by_index=_why_by_index(index, variable))


def _plane(index: Index, variable: Variable) -> tuple[str, str] | None:
    """Return the last two dimensions, without one of times if there are two others."""
    dims = [dim for dim in variable.dims if not _is_timed(index, variable, dim)]
    dims = dims if len(dims) > 1 else [*variable.dims]
    return None if len(dims) < 2 or dims[-1] == dims[-2] else (dims[-2], dims[-1])


def _is_timed(index: Index, variable: Variable, dim: str) -> bool:
    along = _along(index, variable, dim)
    return (role_of(along) if along else _by_name(dim)) == "time"


def _why_by_index(index: Index, variable: Variable) -> str:
    """Return why a variable has no place, to follow "because"."""
    named = (variable.attribute("coordinates") or "").split()
    for name in (*named, *variable.dims, f"{variable.path}@DIMENSION_LIST"):
        if name in index.left_out:
            return f"{name} cannot be read: {index.left_out[name]}"
    absent = [name for name in named if index.near(name, variable) is None]
    return f"the file does not have {', '.join(absent)}" if absent else UNSAID


def _placed(index: Index, variable: Variable) -> Horizontal | None:
    found = _own(index, variable)
    if found is not None and _is_placed(found):
        return found
    for other in index.variables.values():
        if len(set(other.dims) & set(variable.dims)) > 1 and _PLACING & set(other.attributes):
            shared = _own(index, other)
            within = shared and {shared.y_dim, shared.x_dim} - {""} <= set(variable.dims)
            if shared and within and not shared.is_points and _is_placed(shared):
                return shared
    return found


def _own(index: Index, variable: Variable) -> Horizontal | None:
    """Return what the variable itself says.

    Longitudes and latitudes of two dimensions come before coordinates of a projection: they need no formula.
    """
    straight = _straight(index, variable)
    named = _named(index, variable)
    curved = [(one, _plane(index, one)) for one in named]
    for y, plane in curved:
        if plane is None or not set(plane) <= set(variable.dims) or not _is_latitude(y):
            continue
        x = next((one for one, its in curved if its == plane and _is_longitude(one)), None)
        if x is not None:
            same = straight and _is_placed(straight) and (straight.y_dim, straight.x_dim) == plane
            return Horizontal(*plane, y, x, None, straight if same else None)
    return straight or _at_points(named, variable)


def _at_points(named: list[Variable], variable: Variable) -> Horizontal | None:
    """Return latitudes and longitudes that lie along one dimension, as those of stations do."""
    along = [one for one in named if len(one.dims) == 1 and one.dims[0] in variable.dims]
    for y in filter(_is_latitude, along):
        for x in filter(_is_longitude, along):
            if x.dims == y.dims:
                return Horizontal("", y.dims[0], y, x, None)
    return None


def _straight(index: Index, variable: Variable) -> Horizontal | None:
    """Return the coordinates of one dimension each."""
    along = {dim: _along(index, variable, dim) for dim in variable.dims}
    # The last dimension of each kind: a variable may have two of latitude, as a covariance has.
    ys = [(dim, one) for dim, one in along.items() if one is not None and role_of(one) == "y"]
    xs = [(dim, one) for dim, one in along.items() if one is not None and role_of(one) == "x"]
    if not ys or not xs:
        return None
    (y_dim, y_one), (x_dim, x_one) = ys[-1], xs[-1]
    flat = _is_latitude(y_one) and _is_longitude(x_one)
    return Horizontal(y_dim, x_dim, y_one, x_one, None if flat else _mapping(index, variable))


def _is_placed(across: Horizontal) -> bool:
    return across.mapping is not None or (_is_latitude(across.y) and _is_longitude(across.x))


def why_not_drawn(index: Index, variable: Variable) -> str | None:
    """Return why a variable cannot be drawn as a map; ``None`` if it can."""
    if variable.why_not:
        return variable.why_not
    if variable.kind in ("text", "string"):
        return "it holds text"
    if variable.attribute("mesh"):
        return "it is on an unstructured mesh, which cannot be drawn; its values can be read"
    across = horizontal(index, variable)
    if across is None:
        if len(variable.dims) == 0:
            return "it is one value"
        if len(variable.dims) == 1:
            return "it has one dimension: shown as a line"
        return "two of its dimensions are the same"
    if 0 in variable.shape:
        return "it has no values"
    return None


def is_helper(index: Index, variable: Variable) -> bool:
    """Return whether a variable only serves others: bounds, a grid mapping, a mesh."""
    serves = {"grid_mapping_name", "cf_role"} & set(variable.attributes)
    bounds = {one.attribute("bounds") for one in index.variables.values()}
    return bool(serves) or variable.name in bounds


def _named(index: Index, variable: Variable) -> list[Variable]:
    """Return the variables that the attribute ``coordinates`` names."""
    names = (variable.attribute("coordinates") or "").split()
    found = [index.near(name, variable) for name in names]
    return [one for one in found if one is not None]


def _along(index: Index, variable: Variable, dim: str) -> Variable | None:
    """Return what labels a dimension: the variable of its name, else one that ``coordinates`` names."""
    found = index.variables.get(dim) or index.near(dim.rpartition("/")[2], variable)
    if found is not None and found.dims == (dim,):
        said = [one for one in _named(index, variable) if one.dims == (dim,)]
        # NEMO's time_counter has no units; another coordinate tells the time.
        timed = next((one for one in said if is_time(one.attribute("units"))), None)
        return timed if timed and role_of(found) == "time" and not found.attribute("units") else found
    named = [one for one in _named(index, variable) if one.dims == (dim,) and one.kind != "other"]
    named.sort(key=lambda one: role_of(one) == "other")
    return named[0] if named else None


def _mapping(index: Index, variable: Variable) -> Variable | None:
    # ``crs: x y`` of CF 1.7 names the mapping before the colon.
    name = (variable.attribute("grid_mapping") or "").split(":")[0].split()
    return index.near(name[0], variable) if name else None


def _is_latitude(one: Variable) -> bool:
    return _is_geographic(one, "latitude", _NORTH, LATITUDE)


def _is_longitude(one: Variable) -> bool:
    return _is_geographic(one, "longitude", _EAST, LONGITUDE)


def _is_geographic(one: Variable, standard: str, degrees: re.Pattern[str], names: re.Pattern[str]) -> bool:
    units, said = one.attribute("units") or "", one.attribute("standard_name") or ""
    if said == standard or (degrees.match(units) and said != f"grid_{standard}"):
        return True
    return not said and units.lower() in ("degrees", "degree", "") and bool(names.fullmatch(one.name))


def _by_name(path: str) -> Role:
    name = path.rpartition("/")[2].lower()
    if LATITUDE.fullmatch(name):
        return "y"
    return "x" if LONGITUDE.fullmatch(name) else _NAMES.get(name, "other")
