"""A plan for people and for machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from os import PathLike
from typing import Any

from rich.console import Console
from rich.table import Table

from haulage.tables.plan.access import KINDS
from haulage.tables.plan.entities import ACCOUNT_RATE, PARTITION_RATE
from haulage.tables.plan.indexing import IndexCost
from haulage.tables.plan.measuring import Spread
from haulage.tables.plan.predicting import Cost
from haulage.tables.plan.proposing import Plan
from haulage.tables.plan.scoring import Candidate
from haulage.tables.plan.words import percent, short
from haulage.tables.values import Moment, iso
from haulage.words.numbers import counted, format_count, format_duration, format_size

#: Bars of the spread in the terminal, and their length at most.
_BARS, _LENGTH = 8, 40


def show(plan: Plan, console: Console, *, table: str, choices: int) -> None:
    """Print a plan: the keys, what they cost, how rows spread, warnings, and the command that imports."""
    best = plan.best
    console.print(f"{counted(plan.rows, 'row')}, {counted(len(plan.columns), 'column')}: {_source(plan)}")
    console.print(_measured(plan))
    if plan.assumed:
        console.print("no --query was given, so the keys are for queries that are typical for such data:")
        weighted = any(query.weight != 1 for query in plan.queries)
        for query in plan.queries:
            often = f" (weight {query.weight:g})" if weighted else ""
            console.print(f"  {query.in_words}{often}")
    console.print()
    console.print(f"PartitionKey  {best.keys.partition}")
    console.print(f"RowKey        {best.keys.row}")
    console.print()
    console.print(_costs(best.costs))
    console.print()
    for line in _facts(best.spread, best):
        console.print(line)
    console.print()
    _bars(best.spread, console)
    if len(plan.candidates) > 1:
        console.print(_candidates(plan.candidates[:choices]))
        console.print()
    for index in plan.indexes:
        for line in _index(index):
            console.print(line)
    if plan.indexes:
        console.print()
    # Names that the service does not allow are among the warnings.
    noted = [one for one in plan.types if one.note and not one.bad_name]
    for one in noted:
        console.print(
            f"column {short(one.column)} ({one.type}): {', '.join(filter(None, (one.edm, one.note)))}"
        )
    for warning in plan.warnings:
        console.print(f"warning: {warning}")
    if plan.warnings or noted:
        console.print()
    console.print(plan.command(table))


def _source(plan: Plan) -> str:
    if isinstance(plan.source, (str, PathLike)):
        return short(str(plan.source), 200)
    return counted(len(plan.source), "column" if isinstance(plan.source, dict) else "file")


def _measured(plan: Plan) -> str:
    if plan.sampled == plan.rows:
        return "all rows were measured, so the numbers are exact"
    whole = sum(one.whole for one in plan.candidates)
    return (
        f"{counted(len(plan.candidates), 'choice')} ranked by a sample of {counted(plan.sampled, 'row')}; "
        f"the best {whole} measured on all rows, so their numbers are exact; those of the others are "
        "estimates"
    )


def _costs(costs: tuple[Cost, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    for name in ("QUERY", "READS"):
        table.add_column(name, overflow="fold")
    for name in ("ROWS READ", "WORST CASE", "RETURNED", "REQUESTS"):
        table.add_column(name, justify="right")
    for cost in costs:
        table.add_row(
            short(str(cost.query), 100),
            _kind(cost),
            format_count(cost.rows_read),
            format_count(cost.rows_read_max),
            format_count(cost.rows_returned),
            format_count(cost.requests),
        )
    return table


def _kind(cost: Cost) -> str:
    if cost.pieces == 1:
        return KINDS[cost.kind]
    plural = {"point": "points", "range": "ranges", "partition": "whole partitions"}
    return f"{cost.pieces} {plural.get(cost.kind, KINDS[cost.kind])}"


def _facts(spread: Spread, best: Candidate) -> Iterator[str]:
    rows = counted(spread.largest_rows, "row" if best.whole else "sampled row")
    yield (
        f"{counted(spread.partitions, 'partition')}; the largest, '{short(spread.largest_key)}', has "
        f"{rows} ({percent(spread.largest_share)} of all, {format_size(spread.largest_bytes)})"
    )
    if spread.partitions > 1:
        share = percent(spread.top_share)
        top = (
            f"the largest 1 % of the partitions have {share} of the rows; "
            if spread.partitions >= 100
            else ""
        )
        yield f"{top}Gini coefficient {spread.gini:.2f} (0: all partitions are equal, 1: one has all rows)"
    yield (
        f"writing: at most {format_count(spread.rate)} rows/s in any order, "
        f"{format_count(spread.newest_rate)} rows/s in order of arrival "
        f"(the service accepts {format_count(PARTITION_RATE)} per partition, "
        f"{format_count(ACCOUNT_RATE)} per account); the import takes at least "
        f"{format_duration(1e9 * spread.import_seconds)}"
    )
    yield (
        f"{counted(spread.transactions, 'transaction')} with {spread.fill:.1f} rows on average (at most 100 "
        f"rows and 4 MiB); {format_size(spread.total_bytes)} in total, "
        f"{format_size(spread.total_bytes / max(spread.rows, 1))} per row, the largest row has "
        f"{format_size(spread.entity_bytes)}"
    )


def _index(index: IndexCost) -> Iterator[str]:
    less = f" ({percent(index.saved)} less)" if index.saved > 0 else ""
    yield (
        f"an index on {index.template} for {index.query} is{'' if index.worth else ' not'} worth it: it "
        f"reads {counted(index.rows_read, 'row')} instead of {format_count(index.rows_read_before)}{less}, "
        f"in {counted(index.requests, 'request')} instead of {format_count(index.requests_before)}"
    )
    yield (
        f"  it costs {counted(index.entries, 'entry', 'entries')} ({format_size(index.total_bytes)}; table "
        f"and index together are {index.bytes_ratio:.1f} times the size of the table) and {index.writes:.1f} "
        "writes per row"
    )


def _bars(spread: Spread, console: Console) -> None:
    if spread.partitions < 2:
        return
    shown = spread.bars[:_BARS]
    width = max(len(short(key, 30)) for key, _ in shown)
    for key, rows in shown:
        length = max(1, round(_LENGTH * rows / max(spread.largest_rows, 1)))
        console.print(f"{short(key, 30):{width}}  {'█' * length} {format_count(rows)}")
    rest = spread.partitions - len(shown)
    if rest:
        console.print(f"and {counted(rest, 'more partition')}")
    console.print()


def _candidates(candidates: tuple[Candidate, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="")
    for name in ("PARTITIONKEY", "ROWKEY"):
        table.add_column(name, overflow="fold")
    for name in ("COST", "DUPLICATES", "PARTITIONS", "LARGEST", "WRITES/S"):
        table.add_column(name, justify="right")
    table.add_column("MEASURED")
    for one in candidates:
        spread = one.spread
        table.add_row(
            str(one.keys.partition),
            str(one.keys.row),
            f"{one.score.total:,.2f}",
            format_count(spread.surplus),
            format_count(spread.partitions),
            percent(spread.largest_share),
            format_count(min(spread.rate, spread.newest_rate)),
            "all rows" if one.whole else "sample",
        )
    return table


def as_json(plan: Plan, *, table: str) -> dict[str, Any]:
    """Return a plan as values of JSON. Times are text in ISO form, templates are text."""
    best = plan.best
    return {
        "rows": plan.rows,
        "sampled_rows": plan.sampled,
        "assumed_queries": plan.assumed,
        "queries": [str(query) for query in plan.queries],
        "partition_key": str(best.keys.partition),
        "row_key": str(best.keys.row),
        "command": plan.command(table),
        "warnings": list(plan.warnings),
        "candidates": [_candidate(one) for one in plan.candidates],
        "indexes": [{**_plain(index), "saved": index.saved, "worth": index.worth} for index in plan.indexes],
        "columns": [
            {
                "name": profile.name,
                "type": profile.column.type,
                "edm": kind.edm,
                "note": kind.note,
                "missing": profile.missing,
                "distinct": profile.distinct,
                "distinct_counted": profile.counted,
                "low": _end(profile.low),
                "high": _end(profile.high),
                "grows": profile.rising,
            }
            for profile, kind in zip(plan.columns, plan.types, strict=True)
        ],
    }


def _candidate(one: Candidate) -> dict[str, Any]:
    spread = one.spread
    return {
        "partition_key": str(one.keys.partition),
        "row_key": str(one.keys.row),
        "whole": one.whole,
        "unique": spread.unique,
        "score": one.score.total,
        "spread": {
            **_plain(spread),
            "largest_share": spread.largest_share,
            "rows_per_transaction": spread.fill,
            "entities_per_s": spread.rate,
            "newest_entities_per_s": spread.newest_rate,
            "import_s": spread.import_seconds,
        },
        "queries": [{**_plain(cost), "query": str(cost.query)} for cost in one.costs],
    }


def _plain(value: Any) -> dict[str, Any]:
    return dataclasses.asdict(value)


def _end(value: Any) -> Any:
    if isinstance(value, Moment):
        return iso(value.ticks)
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)
