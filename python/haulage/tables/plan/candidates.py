"""The choices of keys that are worth a look: from the queries, and from what the columns are like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from haulage.tables.keys import Field, Template, Word
from haulage.tables.plan import sql
from haulage.tables.plan.data import ROWS, Data
from haulage.tables.plan.measuring import Keys
from haulage.tables.plan.profiling import Profile
from haulage.tables.plan.queries import Query
from haulage.tables.plan.roles import field, groups, ids, tell_apart, times

#: What may stand between two fields, the first that no value holds.
SEPARATORS = "_|~;!"
#: Rows in a partition from which it is worth parting it by time or by a hash.
LARGE = 10_000
_BUCKETS = (16, 64, 256, 1024)


def candidates(
    data: Data, queries: Sequence[Query], profiles: Mapping[str, Profile], most: int = 32
) -> list[Keys]:
    """Return choices of keys, those that go by the queries first, each once."""
    made: dict[str, Keys] = {}
    for partition in _partitions(data, queries, profiles):
        for row in _rows(data, partition, queries, profiles):
            keys = Keys(_joined(data, partition, profiles), _joined(data, row, profiles))
            made.setdefault(str(keys), keys)
    if not made:
        # Nothing varies, as in a single row.
        named = [name for query in queries for name in query.columns] or list(profiles)
        only = _joined(data, (field(profiles[named[0]]),), profiles)
        return [Keys(Template(("all",)), only)]
    return list(made.values())[:most]


Fields = tuple[Field, ...]


def _partitions(data: Data, queries: Sequence[Query], profiles: Mapping[str, Profile]) -> Iterator[Fields]:
    """Yield the fields of PartitionKeys."""
    time = next(iter(times(profiles)), None)
    by_weight = sorted(queries, key=lambda query: -query.weight)
    sets: list[tuple[str, ...]] = []
    for query in by_weight:
        names = [name for name in dict.fromkeys(query.equals) if not profiles[name].constant]
        # As the query names them first: people begin with what comes first in their data.
        wished = [tuple(names[:size]) for size in (1, 2, 3) if size <= len(names)]
        wished += [chosen for size in (1, 2, 3) for chosen in combinations(names, size)]
        sets += [chosen for chosen in dict.fromkeys(wished) if chosen not in sets]
    known = {name for chosen in sets for name in chosen}
    sets += [(one.name,) for one in groups(profiles)[:2] if one.name not in known]
    single = ids(profiles)[:1]
    for chosen in sets:
        parts = tuple(field(profiles[name], newest_first=False) for name in chosen)
        fewest = max(profiles[name].distinct for name in chosen)
        if fewest > data.rows // 4 and len(chosen) == 1:
            yield from ((Field(chosen[0], "hash", count),) for count in _buckets(data.rows))
        yield parts
        if time is not None and time.name not in chosen and data.rows / fewest > LARGE:
            yield from ((*parts, Field(time.name, step)) for step in _steps(data, time, fewest))
    for one in single:
        if one.name not in known:
            yield from ((Field(one.name, "hash", count),) for count in _buckets(data.rows))
    if time is not None and not time.missing:
        for step in _steps(data, time, 1):
            yield (Field(time.name, step),)
            for one in single:
                yield (Field(one.name, "hash", 16), Field(time.name, step))
    if data.rows <= LARGE:
        yield ()


def _buckets(rows: int) -> list[int]:
    """Return numbers of buckets with some thousands of rows in each, at most two."""
    fitting = [count for count in _BUCKETS if rows / count <= LARGE] or [_BUCKETS[-1]]
    return fitting[:2]


def _steps(data: Data, time: Profile, groups: int) -> list[Word]:
    """Return what to part a time by, so that a partition holds about a hundred to a hundred thousand rows."""
    span = max(time.high.ticks - time.low.ticks, 1) / 864_000_000_000
    days: dict[Word, float] = {"year": 365.0, "month": 30.0, "day": 1.0, "hour": 1 / 24}
    if time.column.type == "DATE":
        del days["hour"]
    per_step = {step: data.rows / groups / max(span / length, 1.0) for step, length in days.items()}
    fitting = [step for step, rows in per_step.items() if 100 <= rows <= 100_000 and days[step] < span]
    return fitting[:2]


def _rows(
    data: Data, partition: Fields, queries: Sequence[Query], profiles: Mapping[str, Profile]
) -> Iterator[Fields]:
    """Yield the fields of RowKeys: what the queries want in their order, then what tells rows apart."""
    whole = {part.column for part in partition if part.format not in ("hash", "year", "month", "day", "hour")}
    made: set[tuple[str, ...]] = set()
    time = next(iter(times(profiles)), None)
    wishes: list[tuple[tuple[str, ...], bool]] = []
    for query in sorted(queries, key=lambda query: -query.weight):
        names = [name for name in dict.fromkeys(query.equals) if name not in whole]
        last = [name for name in (*query.ranges[:1], query.order) if name and name not in (*whole, *names)][
            :1
        ]
        newest = bool(query.descending) if query.order else True
        wishes.append(((*names, *last), newest))
    wishes += [((one.name,), True) for one in (*ids(profiles)[:1], *([time] if time else []))]
    for wished, newest in wishes:
        kept = [name for name in wished if not profiles[name].constant and name not in whole]
        begun = [*whole, *kept]
        more = tell_apart(data, begun, profiles, [time.name] if time and not time.missing else [])
        order = (*kept, *more)
        if not order:
            # The partition alone tells rows apart; a RowKey is needed all the same.
            order = tuple(sorted(whole))[:1]
        if order and order not in made:
            made.add(order)
            yield tuple(field(profiles[name], newest_first=newest) for name in order)


def _joined(data: Data, parts: Fields, profiles: Mapping[str, Profile]) -> Template:
    if not parts:
        return Template(("all",))
    between = separator(data, [part.column for part in parts], profiles)
    pieces: list[str | Field] = []
    for part in parts:
        pieces += [between, part] if pieces else [part]
    return Template(tuple(pieces))


def separator(data: Data, names: Sequence[str], profiles: Mapping[str, Profile]) -> str:
    """Return the first separator that no text of these columns holds; the first of all, if each is held."""
    texts = [profiles[name].column for name in names if sql.is_text(profiles[name].column.type)]
    if len(names) < 2 or not texts:
        return SEPARATORS[0]
    for mark in SEPARATORS:
        held = " OR ".join(f"contains({column.sql}::VARCHAR, '{mark}')" for column in texts)
        if not data.one(f"SELECT coalesce(bool_or({held}), false) FROM {ROWS}"):
            return mark
    return SEPARATORS[0]
