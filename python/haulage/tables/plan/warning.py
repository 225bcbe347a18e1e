"""What to be warned of before rows go into the table, each with its numbers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from haulage.tables.plan import sql
from haulage.tables.plan.entities import ACCOUNT_RATE, PARTITION_RATE, PROPERTIES, VALUE_BYTES, stored
from haulage.tables.plan.measuring import Spread
from haulage.tables.plan.profiling import Profile
from haulage.tables.plan.scoring import FEW, Candidate
from haulage.tables.plan.words import listed, percent, printable, seconds

#: A share of rows in one partition, or so many times the average of all partitions, is worth a warning.
_SHARE, _TIMES = 0.5, 10


def warnings(best: Candidate, profiles: Sequence[Profile]) -> list[str]:
    """Return the warnings for a choice of keys, those that lose rows first."""
    spread = best.spread
    return [
        *_lost(spread),
        *_hot(best),
        *_columns(best, profiles),
        *_entities(spread, profiles),
        *_scans(best),
    ]


def _lost(spread: Spread) -> Iterator[str]:
    if spread.surplus:
        one = spread.duplicates[0]
        example = f"{one.rows:,} rows have '{printable(one.partition_key)}' / '{printable(one.row_key)}'"
        share = percent(spread.surplus / spread.rows)
        yield (
            f"not unique: {spread.surplus:,} of {spread.rows:,} rows ({share}) have the keys of another row, "
            f"and would replace it; {example}"
        )
    if spread.refused:
        yield f"{spread.refused:,} rows get no key: a value is missing or does not fit; they would be refused"
    if spread.too_long:
        yield f"{spread.too_long:,} rows have a key of more than 1 KiB; the service refuses them"


def _hot(best: Candidate) -> Iterator[str]:
    spread = best.spread
    if spread.rows < FEW:
        return
    share = spread.largest_share
    if spread.partitions == 1:
        yield (
            f"all {spread.rows:,} rows are in one partition: it takes {PARTITION_RATE:,} entities/s of the "
            f"{ACCOUNT_RATE:,}/s of the account"
        )
    elif share >= _SHARE or (share * spread.partitions >= _TIMES and spread.largest_rows >= FEW):
        even = spread.rows / ACCOUNT_RATE
        yield (
            f"skew: {percent(share)} of the rows ({spread.largest_rows:,} of {spread.rows:,}) are in the "
            f"partition '{printable(spread.largest_key)}', {share * spread.partitions:,.0f} times the "
            f"average; at {PARTITION_RATE:,} entities/s it takes {seconds(spread.import_seconds)}, evenly "
            f"spread rows {seconds(even)}"
        )
    if spread.partitions > 1 and spread.newest_share >= _SHARE and spread.newest_share > share:
        yield (
            f"hot partition: {percent(spread.newest_share)} of the newest rows go to one partition, so that "
            f"rows written as they come get {spread.newest_rate:,.0f} entities/s of {ACCOUNT_RATE:,}"
        )


def _columns(best: Candidate, profiles: Sequence[Profile]) -> Iterator[str]:
    constant = [one.name for one in profiles if one.constant and one.distinct]
    if constant:
        yield (
            f"one value in all rows: {listed(constant)}; a key made of it puts all rows into one partition"
        )
    hashed = {part.column for part in best.keys.partition.fields if part.format == "hash"}
    led = best.keys.partition.columns[:1]
    for one in profiles:
        if one.rising and one.unique and sql.is_whole(one.column.type):
            use = "a hash spreads them" if one.name in hashed else "a hash in front would spread them"
            if one.name in hashed or one.name in led:
                yield (
                    f"{one.name} grows with the rows: a PartitionKey in its order sends all new rows "
                    f"to one place, at {PARTITION_RATE:,} entities/s; {use}"
                )


def _entities(spread: Spread, profiles: Sequence[Profile]) -> Iterator[str]:
    if spread.too_large:
        yield (
            f"{spread.too_large:,} rows are larger than 1 MiB (the largest has {spread.entity_bytes:,} "
            "bytes); the service refuses them"
        )
    if len(profiles) > PROPERTIES:
        yield f"{len(profiles)} columns: an entity has {PROPERTIES} properties besides its keys at most"
    long = [one.name for one in profiles if 2 * one.longest > VALUE_BYTES]
    if long:
        yield f"texts of more than 64 KiB in {listed(long)}; the service refuses them"
    notes = [stored(one.column) for one in profiles]
    for note in notes:
        if note.note.startswith("the "):
            yield f"column {note.column}: {note.note}"


def _scans(best: Candidate) -> Iterator[str]:
    for cost in best.costs:
        if cost.kind in ("scan", "partitions") and cost.rows_read > 10 * max(cost.rows_returned, 1):
            how = "scans the table" if cost.kind == "scan" else "reads a range over partitions"
            yield (
                f"query {cost.query} {how}: {cost.rows_read:,} rows read for {cost.rows_returned:,} returned"
            )
