"""Choose keys: from rows and queries to a plan, in one call."""

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
from haulage.tables.plan.entities import Stored, all_stored
from haulage.tables.plan.filling import check, drawn, given
from haulage.tables.plan.indexing import IndexCost, indexes
from haulage.tables.plan.measuring import Keys, measure, render
from haulage.tables.plan.predicting import Prediction, costs, prediction
from haulage.tables.plan.profiling import Profile, profiles
from haulage.tables.plan.queries import Query, parse_query
from haulage.tables.plan.scoring import Candidate, order, score
from haulage.tables.plan.warning import warnings
from haulage.words.numbers import counted

#: Candidates that are measured on all rows until one keeps all of them.
_MOST_WHOLE = 12


@dataclass(frozen=True)
class Plan:
    """A proposal for the keys of a table.

    Attributes:
        source: The data that was read.
        rows: The number of rows in it.
        sampled: The number of rows used to rank candidates; all rows if there are few.
        columns: A profile of each column.
        types: How each column will be stored.
        queries: The expected queries.
        assumed: Whether the queries were assumed, because none were given.
        candidates: The choices, best first.
        indexes: The cost of index tables, for queries that read many more rows than they return.
        warnings: Warnings about the best choice.
        format: The format of the files, if their names do not say it.
        given: The templates that were evaluated instead of proposing some.
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
    format: str | None = None
    given: tuple[str, str] | None = None

    @property
    def best(self) -> Candidate:
        """The proposed choice."""
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
        if self.format is not None:
            made += f" --format {self.format}"
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
    format: str | None = None,
) -> Plan:
    """Return the keys that best fit the data and the queries, and the cost of each choice.

    All choices are ranked on a sample; the best ``top`` are then measured on all rows, and more of them if
    none keeps every row. The same arguments and data give the same result.

    Args:
        source: A Parquet, CSV or JSON Lines file, a folder of them, several files, or columns by name.
        queries: The expected queries, in the form described in ``docs/guides/table-keys.md``; default:
            typical ones for the data.
        keys: Two templates to evaluate instead of proposing some.
        top: How many choices to measure on all rows. Default 3.
        sample_rows: Number of rows to sample; all rows if there are no more than that. Default 50,000.
        draws: How many sets of values to draw from the rows for the placeholders of a query. Default 8.
        seed: Seed of the sample and the draws.
        memory: Memory limit of DuckDB; the rest is written to a temporary folder. Default 512 MiB.
        format: ``"parquet"``, ``"csv"`` or ``"jsonl"``. Default: by the extension of the files.

    Raises:
        NotFoundError: A file does not exist.
        UsageError: A query or template is invalid, or names a column that does not exist.

    >>> plan = propose({"station": ["a", "a", "b"], "day": [1, 2, 1]}, ["station = ? and day = ?"])
    >>> str(plan.best.keys), plan.best.spread.unique
    ('{station} / {day:02}', True)
    """
    asked = tuple(parse_query(query) if isinstance(query, str) else query for query in queries)
    opened = Data(
        source,
        sample_rows=sample_rows,
        memory=memory,
        seed=seed,
        format=format,
        templates=keys or (),
    )
    with opened as data:
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
            types=all_stored(data.columns),
            queries=asked,
            assumed=assumed,
            candidates=tuple(chosen),
            indexes=tuple(indexes(data, best, work.sets, known, whole=best.whole)),
            warnings=tuple(warnings(best, tuple(known.values()))),
            format=format,
            given=keys,
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


def choose(
    source: Source, queries: Sequence[str | Query] = (), *, format: str | None = None
) -> tuple[str, str, tuple[str, ...]]:
    """Return templates of PartitionKey and RowKey for an import that names none, and the reasons, one a line.

    The format is by default that which the extension of the files says.

    Raises:
        UsageError: Every choice would lose rows.

    >>> choose({"id": ["a", "b", "c"], "size": [1.5, 2.5, 3.5]})[:2]
    ('{id:hash16}', '{id}')
    """
    plan = propose(source, queries, format=format)
    best = plan.best
    if not best.spread.unique:
        hint = "name the keys with --partition-key and --row-key; haul table plan shows what each loses"
        raise UsageError("choose", "keys", f"every choice loses rows: {plan.warnings[0]}", hint)
    return str(best.keys.partition), str(best.keys.row), reasons(plan)


def reasons(plan: Plan) -> tuple[str, ...]:
    """Return why the keys of a plan were chosen, one sentence a line."""
    best = plan.best
    rows = counted(best.spread.rows, "row" if best.whole else "sampled row")
    partitions = counted(best.spread.partitions, "partition")
    largest = counted(best.spread.largest_rows, "row")
    said = [f"each of {rows} has its own key; {partitions} with at most {largest} each"]
    if plan.assumed:
        said.append("no queries were given, so the keys are for queries that are typical for such data:")
    else:
        said.append("the keys are for these queries:")
    for cost in best.costs[:3]:
        said.append(f"  {cost.query.in_words}: reads {counted(cost.rows_read, 'row')}")
    return tuple(said)


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
        plan: A plan from :func:`propose`.
        query: The query; it does not have to be one of the plan's.
        values: A value for each ``?``, in order, and two for each ``within``; times as ``datetime`` in UTC.
        keys: The keys of another candidate; default: the proposed ones.
        memory: Memory limit of DuckDB.

    >>> plan = propose({"station": ["a", "a", "b"], "day": [1, 2, 1]}, ["station = ? and day = ?"])
    >>> found = predict(plan, "station = ?", ["a"])
    >>> found.kind, found.rows_read, found.filters
    ('partition', 2, ("PartitionKey eq 'a'",))
    """
    asked = parse_query(query) if isinstance(query, str) else query
    chosen = keys or plan.best.keys
    opened = Data(
        plan.source,
        sample_rows=0 if plan.rows > plan.sampled else plan.rows,
        memory=memory,
        format=plan.format,
        templates=plan.given or (),
    )
    with opened as data:
        known = {profile.name: profile for profile in plan.columns}
        filled = given(data, asked, known, values)
        render(data, chosen, asked.columns, "", whole=True)
        return prediction(data, chosen, asked, filled, known)
