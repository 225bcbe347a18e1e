"""What to be warned of before rows go into the table, each with its numbers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from haulage.tables.plan import sql
from haulage.tables.plan.entities import (
    ACCOUNT_RATE,
    PARTITION_RATE,
    PROPERTIES,
    VALUE_BYTES,
    all_stored,
    has_own_keys,
)
from haulage.tables.plan.measuring import Spread
from haulage.tables.plan.profiling import Profile
from haulage.tables.plan.scoring import FEW, Candidate
from haulage.tables.plan.words import listed, percent, short
from haulage.words.numbers import counted, format_duration

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
        keys = f"'{short(one.partition_key)}' / '{short(one.row_key)}'"
        share = percent(spread.surplus / spread.rows)
        yield (
            f"not unique: {spread.surplus:,} of {counted(spread.rows, 'row')} ({share}) would replace "
            f"another row with the same keys; for example, {counted(one.rows, 'row')} would have the keys "
            f"{keys}"
        )
    if spread.refused:
        yield f"no key for {counted(spread.refused, 'row')}, because a value is missing or does not fit"
    if spread.too_long:
        yield (f"keys longer than 1 KiB in {counted(spread.too_long, 'row')}, which the service would refuse")


def _hot(best: Candidate) -> Iterator[str]:
    spread = best.spread
    if spread.rows < FEW:
        return
    share = spread.largest_share
    if spread.partitions == 1:
        yield (
            f"one partition: all {spread.rows:,} rows would be in it, and it accepts {PARTITION_RATE:,} "
            f"rows/s, while an account accepts {ACCOUNT_RATE:,}"
        )
    elif share >= _SHARE or (share * spread.partitions >= _TIMES and spread.largest_rows >= FEW):
        even = spread.rows / ACCOUNT_RATE
        yield (
            f"skew: {percent(share)} of the rows ({spread.largest_rows:,} of {spread.rows:,}) are in the "
            f"partition '{short(spread.largest_key)}', {share * spread.partitions:,.0f} times the "
            f"average; writing it takes {format_duration(1e9 * spread.import_seconds)} at "
            f"{PARTITION_RATE:,} rows/s, while evenly spread rows would take {format_duration(1e9 * even)}"
        )
    if spread.partitions > 1 and spread.newest_share >= _SHARE and spread.newest_share > share:
        yield (
            f"hot partition: {percent(spread.newest_share)} of the newest rows are in one partition, so "
            f"rows that are written as they arrive get {spread.newest_rate:,.0f} rows/s instead of "
            f"{ACCOUNT_RATE:,}"
        )


def _columns(best: Candidate, profiles: Sequence[Profile]) -> Iterator[str]:
    constant = [one.name for one in profiles if one.constant and one.distinct]
    if constant:
        yield (
            f"same value in all rows: {listed(constant)}; as a PartitionKey it would put all rows into one "
            "partition"
        )
    hashed = {part.column for part in best.keys.partition.fields if part.format == "hash"}
    led = best.keys.partition.columns[:1]
    for one in profiles:
        if one.rising and one.unique and sql.is_whole(one.column.type):
            use = (
                "the hash in the PartitionKey spreads them"
                if one.name in hashed
                else f"a hash in front would spread them: {{{one.name}:hash16}}"
            )
            if one.name in hashed or one.name in led:
                yield (
                    f"{one.name} grows from row to row: in this order, new rows all go to the same place, at "
                    f"{PARTITION_RATE:,} rows/s; {use}"
                )


def _entities(spread: Spread, profiles: Sequence[Profile]) -> Iterator[str]:
    if spread.too_large:
        yield (
            f"too large: {counted(spread.too_large, 'row')} of more than 1 MiB, which the service would "
            f"refuse (the largest has {spread.entity_bytes:,} bytes)"
        )
    if len(profiles) > PROPERTIES:
        yield f"too many columns: {len(profiles)}, and a row can have {PROPERTIES} besides its keys"
    long = [one.name for one in profiles if 2 * one.longest > VALUE_BYTES]
    if long:
        yield f"text longer than 64 KiB in {listed(long)}; the service would refuse these rows"
    if has_own_keys(one.name for one in profiles):
        yield (
            "the file has its own keys, PartitionKey and RowKey: to keep them, import it without "
            "--partition-key and --row-key"
        )
    for note in all_stored(one.column for one in profiles):
        if note.bad_name:
            yield f"column {note.column}: {note.note}"


def _scans(best: Candidate) -> Iterator[str]:
    for cost in best.costs:
        if cost.kind in ("scan", "partitions") and cost.rows_read > 10 * max(cost.rows_returned, 1):
            how = "scans the whole table" if cost.kind == "scan" else "reads whole partitions"
            yield (
                f"the query {cost.query} {how}: it reads {counted(cost.rows_read, 'row')} and returns "
                f"{cost.rows_returned:,}"
            )
