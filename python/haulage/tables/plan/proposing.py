"""Choosing keys: from rows and queries to a plan, in one call."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from haulage.errors import UsageError
from haulage.tables.keys import parse
from haulage.tables.plan import roles
from haulage.tables.plan.access import Given
from haulage.tables.plan.candidates import candidates
from haulage.tables.plan.data import Data, Source
from haulage.tables.plan.entities import Stored, stored
from haulage.tables.plan.filling import check, drawn, given
from haulage.tables.plan.indexing import IndexCost, indexes
from haulage.tables.plan.measuring import Keys, measure, render
from haulage.tables.plan.predicting import Prediction, costs, prediction
from haulage.tables.plan.profiling import Profile, profiles
from haulage.tables.plan.queries import Query, parse_query
from haulage.tables.plan.scoring import Candidate, order, score
from haulage.tables.plan.warning import warnings

#: Candidates that are measured on all rows until one keeps all of them.
_MOST_WHOLE = 12


@dataclass(frozen=True)
class Plan:
    """A proposal for the keys of a table.

    Attributes:
        source: What was read.
        rows: Rows in it, counted.
        sampled: Rows by which candidates were ranked; all, where they are few.
        columns: What is known of each column.
        types: How each column will be stored.
        queries: What will be asked.
        assumed: Whether the queries were assumed, because none was named.
        candidates: The choices, the best first.
        indexes: What index tables would cost, for queries that read much more than they return.
        warnings: What to be warned of, for the best choice.
    """

    source: Source
    rows: int
    sampled: int
    columns: tuple[Profile, ...]
    types: tuple[Stored, ...]
    queries: tuple[Query, ...]
    assumed: bool
    candidates: tuple[Candidate, ...]
    indexes: tuple[IndexCost, ...]
    warnings: tuple[str, ...]

    @property
    def best(self) -> Candidate:
        """The choice that is proposed."""
        return self.candidates[0]

    def command(self, table: str = "TABLE") -> str:
        """Return the command line that imports the rows with these keys."""
        keys = self.best.keys
        if isinstance(self.source, Mapping):
            files = "data.parquet"
        elif isinstance(self.source, (str, PathLike)):
            files = shlex.quote(str(self.source))
        else:
            files = shlex.join(map(str, self.source))
        made = (
            f"haul table import {files} az-table://{table} "
            f"--partition-key {shlex.quote(str(keys.partition))} --row-key {shlex.quote(str(keys.row))}"
        )
        made += "".join(f" --exclude {shlex.quote(one.column)}" for one in self.types if one.left_out)
        wanted = dict.fromkeys(index.column for index in self.indexes if index.worth)
        return made + "".join(f" --index {shlex.quote(name)}" for name in wanted)


def propose(
    source: Source,
    queries: Sequence[str | Query] = (),
    *,
    keys: tuple[str, str] | None = None,
    top: int = 3,
    sample_rows: int = 50_000,
    draws: int = 8,
    seed: int = 0,
    memory: str = "512MiB",
) -> Plan:
    """Return the keys that fit the data and the queries best, with what each choice costs.

    All choices are ranked by the sample; the first ``top`` are then measured on all rows, and more where none
    of those keeps every row. With the same arguments and data the answer is the same.

    Args:
        source: A Parquet, CSV or JSON lines file, a folder of them, several files, or columns by name.
        queries: What will be asked, as ``docs/guides/table-keys.md`` tells; without any, what is usual.
        keys: Two templates to be judged instead of proposals.
        top: Choices that are measured on all rows.
        sample_rows: Rows of the sample; where the source has no more, all are taken.
        draws: Sets of values that are drawn from the rows for what a query leaves open.
        seed: Of the sample and the draws.
        memory: What DuckDB may use; what does not fit goes to a temporary folder.

    Raises:
        NotFoundError: A file is not there.
        UsageError: A query or template cannot be understood, or names a column that is not there.

    >>> plan = propose({"station": ["a", "a", "b"], "day": [1, 2, 1]}, ["station = ? and day = ?"])
    >>> str(plan.best.keys), plan.best.spread.unique
    ('{station} / {day:02}', True)
    """
    asked = tuple(parse_query(query) if isinstance(query, str) else query for query in queries)
    with Data(source, sample_rows=sample_rows, memory=memory, seed=seed) as data:
        known = profiles(data)
        for query in asked:
            check(query, known)
        assumed = not asked
        asked = asked or roles.usual(data, known)
        work = _Work(data, known, asked, drawn(data, asked, known, max(draws, 1), seed))
        chosen = work.given(keys) if keys is not None else work.ranked(top)
        best = chosen[0]
        work.judge(best.keys, whole=best.whole)
        return Plan(
            source=source,
            rows=data.rows,
            sampled=data.sampled,
            columns=tuple(known.values()),
            types=tuple(stored(column) for column in data.columns),
            queries=asked,
            assumed=assumed,
            candidates=tuple(chosen),
            indexes=tuple(indexes(data, best, work.sets, known, whole=best.whole)),
            warnings=tuple(warnings(best, tuple(known.values()))),
        )


class _Work:
    def __init__(
        self,
        data: Data,
        known: dict[str, Profile],
        queries: tuple[Query, ...],
        sets: list[list[tuple[Given, ...]]],
    ) -> None:
        self.data = data
        self.known = known
        self.queries = queries
        self.sets = sets
        self.names = [name for query in queries for name in query.columns]
        time = next(iter(roles.times(known)), None)
        self.arrival = time.column.sql if time else ""

    def judge(self, keys: Keys, *, whole: bool) -> Candidate:
        whole = whole or self.data.whole
        render(self.data, keys, self.names, self.arrival, whole=whole)
        spread = measure(self.data, whole=whole)
        found = tuple(costs(self.data, keys, self.queries, self.sets, self.known, whole=whole))
        return Candidate(keys, spread, found, score(keys, spread, found), whole)

    def given(self, keys: tuple[str, str]) -> list[Candidate]:
        return [self.judge(Keys(parse(keys[0]), parse(keys[1])), whole=True)]

    def ranked(self, top: int) -> list[Candidate]:
        made = [self.judge(keys, whole=False) for keys in candidates(self.data, self.queries, self.known)]
        made.sort(key=order)
        if self.data.whole:
            return made
        whole: list[Candidate] = []
        for candidate in made[:_MOST_WHOLE]:
            if len(whole) >= top and any(one.spread.unique for one in whole):
                break
            whole.append(self.judge(candidate.keys, whole=True))
        whole.sort(key=order)
        return [*whole, *made[len(whole) :]]


def choose(source: Source, queries: Sequence[str | Query] = ()) -> tuple[str, str, str]:
    """Return the templates of PartitionKey and RowKey for an import without any, and in words why these.

    Raises:
        UsageError: No choice keeps all rows.

    >>> choose({"id": ["a", "b", "c"], "size": [1.5, 2.5, 3.5]})[:2]
    ('{id:hash16}', '{id}')
    """
    plan = propose(source, queries)
    best = plan.best
    if not best.spread.unique:
        hint = "name the keys with --partition-key and --row-key; haul table plan shows what each loses"
        raise UsageError("choose", "keys", f"no choice keeps all rows: {plan.warnings[0]}", hint)
    return str(best.keys.partition), str(best.keys.row), reasons(plan)


def reasons(plan: Plan) -> str:
    """Return in a few words why the keys of a plan were chosen."""
    best = plan.best
    parts = [f"each of {best.spread.rows:,} {'rows' if best.whole else 'sampled rows'} has a key of its own"]
    for cost in best.costs[:3]:
        read = f"{cost.rows_read:,} row{'s' if cost.rows_read != 1 else ''} read"
        parts.append(f"{cost.query}: {read}")
    parts.append(f"{best.spread.partitions:,} partitions of {best.spread.largest_rows:,} rows at most")
    return ("usual queries assumed; " if plan.assumed else "") + "; ".join(parts)


def predict(
    plan: Plan,
    query: str | Query,
    values: Sequence[object] = (),
    *,
    keys: Keys | None = None,
    memory: str = "512MiB",
) -> Prediction:
    """Return how many rows the service reads and returns for a query, counted over all rows.

    Args:
        plan: Of :func:`propose`.
        query: What is asked; need not be among those of the plan.
        values: For each ``?`` in its order, and two for each ``within``; times as ``datetime`` in UTC.
        keys: Of another candidate; default: those that are proposed.
        memory: What DuckDB may use.

    >>> plan = propose({"station": ["a", "a", "b"], "day": [1, 2, 1]}, ["station = ? and day = ?"])
    >>> found = predict(plan, "station = ?", ["a"])
    >>> found.kind, found.rows_read, found.filters
    ('partition', 2, ("PartitionKey eq 'a'",))
    """
    asked = parse_query(query) if isinstance(query, str) else query
    chosen = keys or plan.best.keys
    with Data(plan.source, sample_rows=0 if plan.rows > plan.sampled else plan.rows, memory=memory) as data:
        known = {profile.name: profile for profile in plan.columns}
        filled = given(data, asked, known, values)
        render(data, chosen, asked.columns, "", whole=True)
        return prediction(data, chosen, asked, filled, known)
