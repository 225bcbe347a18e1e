"""How many rows the service reads and returns for a query: counted over the data, not guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from haulage.tables.plan import odata
from haulage.tables.plan.access import Access, Bounds, Given, Kind, access
from haulage.tables.plan.data import Data
from haulage.tables.plan.entities import PAGE, stored
from haulage.tables.plan.filling import condition
from haulage.tables.plan.measuring import Keys
from haulage.tables.plan.profiling import Profile
from haulage.tables.plan.queries import Query
from haulage.tables.quoting import literal


@dataclass(frozen=True)
class Prediction:
    """What one query costs with one set of values."""

    kind: Kind
    pieces: int  #: stretches of keys asked for, each by requests of its own
    rows_read: int  #: rows in those stretches
    rows_returned: int  #: rows that the query wants
    requests: int  #: at least: the service may end a page before it is full
    filters: tuple[str, ...]  #: what is sent, one for each stretch


@dataclass(frozen=True)
class Cost:
    """What one query costs with several sets of values: the medians, and the worst."""

    query: Query
    kind: Kind  #: the most costly of them
    pieces: int
    rows_read: int
    rows_read_max: int
    rows_returned: int
    requests: int
    filter: str  #: the first that would be sent, with the first values
    draws: int

    @property
    def effort(self) -> float:
        """Requests, and the reading of a thousand rows as one more."""
        return self.requests + self.rows_read / PAGE


#: For keys by which not all wanted rows would be found: these are no way to them.
SCAN = Access("scan", (Bounds(),), Bounds())
_ORDER: tuple[Kind, ...] = ("point", "range", "partition", "partitions", "scan")


def ways(
    keys: Keys, query: Query, sets: Sequence[tuple[Given, ...]], columns: Mapping[str, Profile]
) -> list[Access]:
    """Return how the query is answered with each set of values."""
    shapes = {name: profile.shape for name, profile in columns.items()}
    order = (query.order, query.descending) if query.order else None
    return [access(keys.partition, keys.row, given, shapes, order) for given in sets]


def costs(
    data: Data,
    keys: Keys,
    queries: Sequence[Query],
    sets: Sequence[Sequence[tuple[Given, ...]]],
    columns: Mapping[str, Profile],
    *,
    whole: bool,
) -> list[Cost]:
    """Return what each query costs, counted in one pass over the rows whose keys were rendered last."""
    by_name = {column.name: column for column in data.columns}
    found = [ways(keys, query, given, columns) for query, given in zip(queries, sets, strict=True)]
    counts = ["count(*)"]
    for accesses, given in zip(found, sets, strict=True):
        for way, one in zip(accesses, given, strict=True):
            wanted = " AND ".join(condition(asked, by_name[asked.column]) for asked in one) or "true"
            counts += [f"count(*) FILTER ({_within(way)})", f"count(*) FILTER ({wanted})"]
    cells = iter(data.first(f"SELECT {', '.join(counts)} FROM haul_keyed")[1:])
    scale = 1.0 if whole else data.rows / data.sampled
    made = []
    for query, accesses, given in zip(queries, found, sets, strict=True):
        predictions = []
        for way, one in zip(accesses, given, strict=True):
            found_there, found_everywhere = next(cells), next(cells)
            if found_there < found_everywhere:
                way, found_there = SCAN, data.rows if whole else data.sampled
            read, returned = round(found_there * scale), round(found_everywhere * scale)
            if way.kind == "point":
                # In a sample the one row is there or not.
                read = min(read, way.pieces)
            predictions.append(_prediction(query, way, one, columns, read, returned))
        made.append(_together(query, predictions))
    return made


def prediction(
    data: Data, keys: Keys, query: Query, given: tuple[Given, ...], columns: Mapping[str, Profile]
) -> Prediction:
    """Return what a query costs with these values, counted over the rows whose keys were rendered last."""
    way = ways(keys, query, [given], columns)[0]
    by_name = {column.name: column for column in data.columns}
    wanted = " AND ".join(condition(one, by_name[one.column]) for one in given) or "true"
    read, returned = data.first(
        f"SELECT count(*) FILTER ({_within(way)}), count(*) FILTER ({wanted}) FROM haul_keyed"
    )
    if read < returned:
        way, read = SCAN, data.rows
    return _prediction(query, way, given, columns, read, returned)


def _prediction(
    query: Query,
    way: Access,
    given: Sequence[Given],
    columns: Mapping[str, Profile],
    read: int,
    returned: int,
) -> Prediction:
    if query.limit:
        returned = min(returned, query.limit)
        if way.only_keys and way.pieces == 1 and (way.in_order or not query.order):
            # The first rows of the stretch are those that are wanted: `$top` ends the reading.
            read = min(read, query.limit)
    # Rows that must be sorted first are all sent.
    sent = read if query.order and not way.in_order else returned
    requests = way.pieces - 1 + max(1, -(-sent // PAGE))
    rest = [odata.condition(one, stored(columns[one.column].column).edm) for one in given]
    return Prediction(way.kind, way.pieces, read, returned, requests, tuple(odata.filters(way, rest)))


def _within(way: Access) -> str:
    """Return the expression of whether a row is read: in one partition by both keys, else by the first."""
    exact = [bounds.exact for bounds in way.partitions if bounds.exact is not None]
    stretches = [bounds for bounds in way.partitions if bounds.exact is None]
    alternatives = [_sql(bounds, "haul_pk") for bounds in stretches]
    if exact:
        alternatives.append(f"haul_pk IN ({', '.join(map(literal, exact))})")
    within = f"({' OR '.join(alternatives)})"
    return within if stretches else f"{within} AND {_sql(way.rows, 'haul_rk')}"


def _sql(bounds: Bounds, name: str) -> str:
    if bounds.exact is not None:
        return f"{name} = {literal(bounds.exact)}"
    low = f"{name} >= {literal(bounds.low)}"
    return low if bounds.high is None else f"{low} AND {name} < {literal(bounds.high)}"


def _together(query: Query, made: Sequence[Prediction]) -> Cost:
    if not made:
        return Cost(query, "scan", 1, 0, 0, 0, 1, "", 0)
    return Cost(
        query,
        kind=max((one.kind for one in made), key=_ORDER.index),
        pieces=round(median(one.pieces for one in made)),
        rows_read=round(median(one.rows_read for one in made)),
        rows_read_max=max(one.rows_read for one in made),
        rows_returned=round(median(one.rows_returned for one in made)),
        requests=round(median(one.requests for one in made)),
        filter=made[0].filters[0],
        draws=len(made),
    )
