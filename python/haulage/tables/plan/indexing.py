"""What a second table costs that finds rows by another column, and what it saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from haulage.tables.index import index_plan
from haulage.tables.keys import LONGEST, Template
from haulage.tables.plan import sql
from haulage.tables.plan.access import Given, order_of
from haulage.tables.plan.data import ROWS, SAMPLE, Data
from haulage.tables.plan.entities import PAGE
from haulage.tables.plan.filling import condition
from haulage.tables.plan.predicting import Cost
from haulage.tables.plan.profiling import Profile
from haulage.tables.plan.roles import field
from haulage.tables.plan.scoring import Candidate

#: Bytes of an entry without its texts: its own, and two properties of one letter for the keys of the row.
_ENTRY_BYTES = 4 + 2 * (8 + 2 + 4)


@dataclass(frozen=True)
class IndexCost:
    """An index table for one query: what it takes, what it saves."""

    column: str
    template: str  #: of its PartitionKey
    query: str
    entries: int
    total_bytes: int
    writes: float  #: entities written for each row, index and all
    bytes_ratio: float  #: bytes of table and index to those of the table
    rows_read: int  #: by the query with the index: entries, and the rows that they name
    requests: int
    rows_read_before: int
    requests_before: int

    @property
    def saved(self) -> float:
        """The share of the reads that is saved."""
        return 1 - self.rows_read / self.rows_read_before if self.rows_read_before else 0.0

    @property
    def worth(self) -> bool:
        """Whether the query costs less with it: each row that it names is a request."""
        before = self.requests_before + self.rows_read_before / PAGE
        return self.requests + self.rows_read / PAGE < before


def indexes(
    data: Data,
    best: Candidate,
    sets: Sequence[Sequence[tuple[Given, ...]]],
    profiles: Mapping[str, Profile],
    *,
    whole: bool,
) -> list[IndexCost]:
    """Return what an index would cost for each query that reads more than twice the rows that it returns.

    The keys of the best candidate must be those that were rendered last.
    """
    found = []
    for cost, given in zip(best.costs, sets, strict=True):
        if cost.rows_read <= 2 * max(cost.rows_returned, 10) or not given:
            continue
        led = best.keys.partition.columns[:1]
        ordered = [
            name
            for name in cost.query.ranges
            if order_of(field(profiles[name], newest_first=False), profiles[name].shape)
        ]
        named = [name for name in (*cost.query.equals, *ordered) if name not in led]
        named.sort(key=lambda name: (name not in cost.query.equals, -profiles[name].distinct))
        if named:
            found.append(_index(data, named[0], best, cost, given, profiles[named[0]], whole=whole))
    return found


def _index(
    data: Data,
    name: str,
    best: Candidate,
    cost: Cost,
    sets: Sequence[tuple[Given, ...]],
    profile: Profile,
    *,
    whole: bool,
) -> IndexCost:
    is_range = name in cost.query.ranges
    template = str(Template((field(profile, newest_first=False),))) if is_range else None
    plan = index_plan(name, template)
    columns = {column.name: column for column in data.columns}
    # Of the entry: the text of the column, both keys in the RowKey, and both again as properties.
    written = sql.utf16(sql.key(plan.partition, columns))
    scale = 1.0 if whole else data.rows / data.sampled
    # The average over the rows that have the column, and of the keys that were rendered last.
    length = float(
        data.one(f"SELECT coalesce(avg({written}), 0) FROM {SAMPLE} WHERE {profile.column.sql} IS NOT NULL")
    )
    keys = float(data.one("SELECT coalesce(avg(haul_pk_units + haul_rk_units), 0) FROM haul_keyed"))
    entries = profile.rows - profile.missing
    entry = _ENTRY_BYTES + 2 * (length + min(keys + 1, LONGEST)) + 2 * keys
    counts = ", ".join(
        f"count(*) FILTER ({next(condition(one, profile.column) for one in given if one.column == name)})"
        for given in sets
    )
    matched = [
        round(cell * scale) for cell in data.first(f"SELECT {counts} FROM {ROWS if whole else SAMPLE}")
    ]
    named = round(median(matched))
    return IndexCost(
        column=name,
        template=str(plan.partition),
        query=str(cost.query),
        entries=entries,
        total_bytes=round(entries * entry),
        writes=1 + entries / max(profile.rows, 1),
        bytes_ratio=1 + entries * entry / max(best.spread.total_bytes * scale, 1),
        rows_read=2 * named,
        requests=max(1, -(-named // PAGE)) + named,
        rows_read_before=cost.rows_read,
        requests_before=cost.requests,
    )
