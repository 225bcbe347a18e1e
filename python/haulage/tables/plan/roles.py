"""Which columns look like an id, a time or a group, which identify rows, how each is written in keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from haulage.tables.keys import Field
from haulage.tables.plan import sql
from haulage.tables.plan.data import SAMPLE, Data
from haulage.tables.plan.profiling import Profile
from haulage.tables.plan.queries import OPEN, Condition, Query

#: Columns that are tried in turn for the next of a key.
_TRIED = 16
#: Columns that are taken together at most to tell rows apart.
MOST_TOGETHER = 5
_IDS = re.compile(r"(^|_)(id|uuid|guid|key|code|name|path|file|url)s?($|_)", re.IGNORECASE)
_GROUPS = re.compile(
    r"(^|_)(id|station|site|sensor|device|host|node|run|experiment|user|account|tenant|project|category|region)"
    r"s?($|_)",
    re.IGNORECASE,
)


def ids(profiles: Mapping[str, Profile]) -> list[Profile]:
    """Return the columns that alone identify every row, the likeliest id first."""
    found = [
        one for one in profiles.values() if one.unique and one.keyable and not sql.is_time(one.column.type)
    ]
    return sorted(found, key=lambda one: (not _IDS.search(one.name), one.longest > 64))


def times(profiles: Mapping[str, Profile]) -> list[Profile]:
    """Return the columns of times that vary, those that grow with the rows first."""
    found = [one for one in profiles.values() if sql.is_time(one.column.type) and not one.constant]
    return sorted(found, key=lambda one: (one.missing > 0, not one.rising, one.column.type == "DATE"))


def groups(profiles: Mapping[str, Profile]) -> list[Profile]:
    """Return the columns of which each value is in many rows, the likeliest group first."""
    found = [
        one
        for one in profiles.values()
        if one.keyable
        and not sql.is_time(one.column.type)
        and 2 <= one.distinct <= max(2, one.rows // 10)
        and not one.missing
    ]
    return sorted(found, key=lambda one: (not _GROUPS.search(one.name), one.column.type == "BOOLEAN"))


def tell_apart(
    data: Data, begun: Sequence[str], profiles: Mapping[str, Profile], preferred: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the columns that, added to some, make all rows of the sample differ, or as many as can.

    Those that are preferred come first, then whichever tells most rows apart.
    """
    usable = [one.name for one in profiles.values() if one.keyable and not one.missing and not one.constant]
    taken = list(begun)
    for name in preferred:
        if name in usable and name not in taken and _distinct(data, taken, profiles) < data.sampled:
            taken.append(name)
    unique = [one.name for one in ids(profiles) if _IDS.search(one.name)]
    likely = {one.name for one in (*groups(profiles), *ids(profiles)[:2])}
    while len(taken) < MOST_TOGETHER + len(begun):
        best = _distinct(data, taken, profiles)
        if best == data.sampled:
            break
        left = [name for name in usable if name not in taken]
        # Of a wide table only some: groups and ids are likelier to be keys than what was measured.
        left.sort(key=lambda name: (name not in likely, profiles[name].column.type == "BOOLEAN"))
        found = left[:_TRIED]
        counted = {name: _distinct(data, [*taken, name], profiles) for name in found}
        # Of those that tell rows equally well apart, the one with the fewest values makes the shortest key.
        chosen = max(counted, key=lambda name: (counted[name], -profiles[name].distinct), default=None)
        if chosen is None or counted[chosen] <= best:
            break
        taken.append(chosen)
    if unique and unique[0] not in taken and _only_by_time(data, taken, profiles):
        # Two rows of one moment have not come yet; they will.
        taken.append(unique[0])
    return tuple(taken[len(begun) :])


def _only_by_time(data: Data, taken: Sequence[str], profiles: Mapping[str, Profile]) -> bool:
    rest = [name for name in taken if not sql.is_time(profiles[name].column.type)]
    return len(rest) < len(taken) and _distinct(data, rest, profiles) < data.sampled


def _distinct(data: Data, names: Sequence[str], profiles: Mapping[str, Profile]) -> int:
    if not names:
        return 1
    hashes = ", ".join(f"hash({profiles[name].column.sql})" for name in names)
    return int(data.one(f"SELECT count(*) FROM (SELECT DISTINCT {hashes} FROM {SAMPLE})"))


def field(profile: Profile, *, newest_first: bool | None = None) -> Field:
    """Return how a column is written in a key, so that its order is kept.

    Args:
        profile: The column.
        newest_first: Whether times, and ids that grow, are reversed; default: as they are.
    """
    kind, name, optional = profile.column.type, profile.name, profile.missing > 0
    if sql.is_time(kind):
        return Field(name, "reversed" if newest_first else "text", optional=optional)
    if sql.is_whole(kind) and profile.low is not None:
        least, most = int(profile.low), int(profile.high)
        # Room for what will come: ids grow, numbers of members do not.
        grows = profile.rows > 100 and profile.distinct > profile.rows // 10
        digits = max(len(str(max(abs(least), abs(most)))) + (2 if grows else 0), 10 if grows else 2)
        if least >= 0:
            return Field(name, "pad", min(digits, 38), optional)
        if digits <= 18:
            return Field(name, "signed", digits, optional)
    return Field(name, optional=optional)


def usual(data: Data, profiles: Mapping[str, Profile]) -> tuple[Query, ...]:
    """Return what is asked of such data as a rule: one row by its id, a range of time of one group."""
    found: list[Query] = []
    time = next(iter(times(profiles)), None)
    single = next(iter(ids(profiles)), None)
    natural: tuple[str, ...] = (single.name,) if single else ()
    group = next(iter(groups(profiles)), None)
    if single is None:
        first = [*([group.name] if group else []), *([time.name] if time and not time.missing else [])]
        natural = tell_apart(data, (), profiles, first)
    if natural:
        found.append(
            Query(tuple(Condition(name, equal=OPEN) for name in natural), weight=100 if single else 10)
        )
    if time is not None:
        within = Condition(time.name, low=OPEN, high=OPEN)
        if group is not None and single is None:
            found.append(Query((Condition(group.name, equal=OPEN), within), weight=5))
        else:
            found.append(Query((within,)))
    elif group is not None and natural:
        found.append(Query((Condition(group.name, equal=OPEN),), weight=5))
    return tuple(found) or (Query((Condition(next(iter(profiles)), equal=OPEN),)),)
