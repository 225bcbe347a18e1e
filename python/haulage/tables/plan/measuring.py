"""What a choice of keys makes of the rows: are they unique, how they spread, what they weigh."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from haulage.tables.keys import LONGEST, Template
from haulage.tables.plan import sql
from haulage.tables.plan.data import PLACE, ROWS, SAMPLE, Data
from haulage.tables.plan.entities import (
    ACCOUNT_RATE,
    ENTITY_BYTES,
    PARTITION_RATE,
    TRANSACTION_BYTES,
    TRANSACTION_ROWS,
    entity_bytes,
)

#: Rows that came last, by which it is judged where rows are written to while they come.
NEWEST = 10_000
#: Bars of the spread that are kept.
BARS = 40


@dataclass(frozen=True)
class Keys:
    """Two templates."""

    partition: Template
    row: Template

    def __str__(self) -> str:
        return f"{self.partition} / {self.row}"


@dataclass(frozen=True)
class Duplicate:
    """A key that several rows would have."""

    partition_key: str
    row_key: str
    rows: int


@dataclass(frozen=True)
class Spread:
    """How rows spread over partitions, and what they weigh. Numbers are those of the rows measured."""

    rows: int
    refused: int  #: rows without a key: a value is missing, or out of range
    too_long: int  #: rows with a key of more than 1 KiB
    surplus: int  #: rows that have the key of another
    duplicates: tuple[Duplicate, ...]  #: examples
    partitions: int
    largest_key: str
    largest_rows: int
    largest_bytes: int
    gini: float
    top_share: float  #: of the rows in the largest 1 % of the partitions
    transactions: int
    total_bytes: int
    entity_bytes: int  #: of the largest entity
    too_large: int  #: entities of more than 1 MiB
    newest_partitions: int  #: of the newest rows
    newest_share: float  #: of the newest rows in one partition
    bars: tuple[tuple[str, int], ...]  #: the largest partitions and their rows

    @property
    def unique(self) -> bool:
        """Whether each row gets a key of its own."""
        return not (self.refused or self.too_long or self.surplus)

    @property
    def largest_share(self) -> float:
        """The share of the rows in the largest partition."""
        return self.largest_rows / max(self.rows, 1)

    @property
    def fill(self) -> float:
        """Rows in a transaction on average."""
        return self.rows / max(self.transactions, 1)

    @property
    def rate(self) -> float:
        """Entities a second at most, rows written in any order."""
        return _rate(self.largest_share)

    @property
    def newest_rate(self) -> float:
        """Entities a second at most, rows written in the order in which they come."""
        return _rate(self.newest_share)

    @property
    def import_seconds(self) -> float:
        """Seconds that an import takes at least, by the rates of the service."""
        return max(self.largest_rows / PARTITION_RATE, self.rows / ACCOUNT_RATE)


def _rate(share: float) -> float:
    return min(float(ACCOUNT_RATE), PARTITION_RATE / share) if share else float(ACCOUNT_RATE)


def render(data: Data, keys: Keys, names: Iterable[str], arrival: str, *, whole: bool) -> None:
    """Write the keys and weights of all rows, or of the sample, to a table for :func:`measure` and costs.

    Args:
        data: The rows.
        keys: The templates.
        names: The columns that queries name.
        arrival: The column by which rows come, as SQL; empty for their order in the source.
        whole: Take all rows.
    """
    columns = {column.name: column for column in data.columns}
    asked = "".join(f", {columns[name].sql}" for name in dict.fromkeys(names))
    # Once, because rendering costs more than all that is counted afterwards.
    data.run(
        f"""CREATE OR REPLACE TEMP TABLE haul_keyed AS
        SELECT *, {sql.utf16("haul_pk")} AS haul_pk_units, {sql.utf16("haul_rk")} AS haul_rk_units FROM (
            SELECT {sql.key(keys.partition, columns)} AS haul_pk, {sql.key(keys.row, columns)} AS haul_rk,
                {entity_bytes(data.columns)} AS haul_bytes, {arrival or PLACE} AS haul_arrival{asked}
            FROM {ROWS if whole else SAMPLE})"""
    )


def measure(data: Data, *, whole: bool) -> Spread:
    """Return how the rows spread whose keys were rendered last: all, or those of the sample."""
    count = data.rows if whole else data.sampled
    fits = (
        "haul_pk IS NOT NULL AND haul_rk IS NOT NULL "
        f"AND haul_pk_units <= {LONGEST} AND haul_rk_units <= {LONGEST}"
    )
    size = "haul_bytes + 2 * (haul_pk_units + haul_rk_units)"
    data.run(
        f"""CREATE OR REPLACE TEMP TABLE haul_spread AS
        SELECT haul_pk AS pk, count(*) AS n, sum({size})::BIGINT AS bytes, max({size}) AS largest,
            count(*) FILTER ({size} > {ENTITY_BYTES}) AS too_large,
            greatest(ceil(count(*) / {TRANSACTION_ROWS}), ceil(sum({size}) / {TRANSACTION_BYTES}))::BIGINT
                AS transactions
        FROM haul_keyed WHERE {fits} GROUP BY haul_pk"""
    )
    refused, too_long = data.first(
        f"""SELECT count(*) FILTER (haul_pk IS NULL OR haul_rk IS NULL),
            count(*) FILTER (haul_pk_units > {LONGEST} OR haul_rk_units > {LONGEST}) FROM haul_keyed"""
    )
    partitions, kept, total, largest, too_large, transactions, gini = data.first(
        """SELECT count(*), coalesce(sum(n), 0)::BIGINT, coalesce(sum(bytes), 0)::BIGINT, max(largest),
            coalesce(sum(too_large), 0)::BIGINT, coalesce(sum(transactions), 0)::BIGINT,
            2 * sum(place * n) / (count(*) * sum(n)) - (count(*) + 1) / count(*)
        FROM (SELECT *, row_number() OVER (ORDER BY n, pk) AS place FROM haul_spread)"""
    )
    surplus = kept - data.one(
        f"SELECT count(*) FROM (SELECT DISTINCT hash(haul_pk), hash(haul_rk) FROM haul_keyed WHERE {fits})"
    )
    duplicates: list[Duplicate] = []
    if surplus:
        hashes = "hash(haul_pk), hash(haul_rk)"
        found = data.all(
            f"""WITH often AS (SELECT ({hashes}) AS pair, count(*) AS n FROM haul_keyed WHERE {fits}
                GROUP BY ALL HAVING n > 1 ORDER BY n DESC, pair LIMIT 3)
            SELECT haul_pk, haul_rk, count(*) FROM haul_keyed
            WHERE {fits} AND ({hashes}) IN (SELECT pair FROM often)
            GROUP BY ALL ORDER BY 3 DESC, 1, 2 LIMIT 3"""
        )
        duplicates = [Duplicate(*row) for row in found]
    newest_rows = max(200, NEWEST * count // data.rows)
    newest = data.first(
        f"""SELECT count(*), max(n) / sum(n) FROM (SELECT count(*) AS n FROM (
            SELECT haul_pk FROM haul_keyed WHERE {fits}
            ORDER BY haul_arrival DESC LIMIT {newest_rows}) GROUP BY haul_pk)"""
    )
    bars = data.all(f"SELECT pk, n, bytes FROM haul_spread ORDER BY n DESC, pk LIMIT {BARS}")
    hundredth = data.one(
        f"SELECT sum(n) FROM (SELECT n FROM haul_spread ORDER BY n DESC LIMIT {-(-partitions // 100)})"
    )
    return Spread(
        rows=count,
        refused=refused,
        too_long=too_long,
        surplus=surplus,
        duplicates=tuple(duplicates),
        partitions=partitions,
        largest_key=bars[0][0] if bars else "",
        largest_rows=bars[0][1] if bars else 0,
        largest_bytes=bars[0][2] if bars else 0,
        gini=round(max(gini or 0.0, 0.0), 6),
        top_share=(hundredth or 0) / max(kept, 1),
        transactions=transactions,
        total_bytes=total,
        entity_bytes=int(largest or 0),
        too_large=too_large,
        newest_partitions=newest[0],
        newest_share=float(newest[1] or 0.0),
        bars=tuple((row[0], row[1]) for row in bars),
    )
