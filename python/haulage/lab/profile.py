"""What a sweep says about an endpoint, as start values for the mover (``--profile NAME``)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from haulage.errors import NotFoundError, UsageError
from haulage.lab.chain import SUMS, require_unchanged, seal
from haulage.lab.store import RunStore, unlike, write_whole
from haulage.lab.toml_tables import to_toml
from haulage.lab.units import spell_size
from haulage.words.numbers import format_duration, format_rate

#: What is read of a run.
TABLES = ("cells.parquet", "attempts.parquet")
#: A level counts as good as the best if its rate is within this share of it.
FLAT_SHARE = 0.05
#: From so many observations on the 99th percentile can be bounded; below, the largest is taken.
TAIL_N = 368


@dataclass(frozen=True)
class Profile:
    """Start values for one direction of an endpoint; ``None`` where the run did not sweep it."""

    direction: str
    concurrency: int | None
    block_size_bytes: int | None
    single_put_max_bytes: int | None
    tail_ns: int | None  #: attempts that take longer than this are stragglers
    reasons: tuple[str, ...]

    @property
    def says_something(self) -> bool:
        """Whether there is a start value in it."""
        found = (self.concurrency, self.block_size_bytes, self.single_put_max_bytes)
        return any(value is not None for value in found)


def folder() -> Path:
    """Return where profiles lie that are known by name."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "haulage" / "profiles"


def measure(directory: Path) -> list[Profile]:
    """Return what a run says, a profile for each direction.

    Raises:
        NotFoundError: No run is there, or its tables are not.
        IntegrityError: A table is not as it was recorded.
        UsageError: A table is damaged.
    """
    manifest = RunStore.open(directory).manifest
    require_unchanged(directory, manifest, "read run", TABLES)
    for name in TABLES:
        if not (directory / name).is_file():
            raise NotFoundError(
                "read run", str(directory), f"has no {name}", "it stopped early: --continue it"
            )
    with _rates(directory) as database:
        found = database.execute("select distinct direction from rates order by all desc").fetchall()
        return [_measure(database, direction) for (direction,) in found]


@contextmanager
def _told(directory: Path) -> Iterator[None]:
    """Say of tables that cannot be read what they are of."""
    try:
        yield
    except duckdb.Error as error:
        raise unlike("read run", str(directory), error) from error


@contextmanager
def _rates(directory: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the tables of a run, with ``rates``: the median of each setting, by what took effect of it."""
    with _told(directory), duckdb.connect() as database:
        database.execute("set enable_progress_bar = false")
        for name in TABLES:
            database.read_parquet(str(directory / name)).create_view(name.removesuffix(".parquet"))
        # With fewer blocks than requests the file is the limit, not the link; settings that came to the same
        # number in flight are one.
        database.execute(
            """create view rates as
            with settings as (
                select *, factors->>'client' as client,
                    max(nullif(lanes, 0)) over (partition by direction, treatment, size_bytes, files) as seen,
                    files * greatest(1, ceil(size_bytes / nullif(block_size_bytes, 0))) as pieces
                from cells
                where not warmup and outcome = 'ok' and size_bytes is not null
                    and coalesce(factors->>'again', 'false') = 'false'
                    -- What so many nodes have in flight together is no setting of one of them.
                    and factors->>'node_count' is null
            )
            select direction, method, block_size_bytes, size_bytes, client,
                cast(least(concurrency, coalesce(pieces, concurrency), coalesce(seen, concurrency))
                    as integer) as concurrency,
                min(concurrency) as asked,
                median(bytes * 8e9 / wall_ns) as rate, median(wall_ns / files) as wall_ns
            from settings group by all"""
        )
        yield database


def _measure(database: duckdb.DuckDBPyConnection, direction: str) -> Profile:
    reasons: list[str] = []
    knee = _sweep(database, direction, "concurrency", "block_size_bytes")
    block = _sweep(database, direction, "block_size_bytes", "asked")
    if knee:
        level, rate, best, most = knee
        more = ", and more were not tried" if level == most else ""
        reasons.append(
            f"{level} connections give {format_rate(rate)}, the best number {format_rate(best)}{more}"
        )
    if block:
        level, rate, best, _ = block
        reasons.append(
            f"blocks of {spell_size(level)} give {format_rate(rate)}, the best size {format_rate(best)}"
        )
    single = _threshold(database, direction, reasons)
    tail = _tail(database, direction, block[0] if block else None, reasons)
    return Profile(
        direction,
        knee[0] if knee else None,
        block[0] if block else None,
        single,
        tail,
        tuple(reasons),
    )


def _sweep(
    database: duckdb.DuckDBPyConnection, direction: str, level: str, held: str
) -> tuple[int, float, float, int] | None:
    """Return the smallest level that is as good as the best, its rate, the best one, and the largest level.

    Taken from the largest files, where what is swept matters most, and from the engine's own blocks.
    """
    rows = database.execute(
        f"""with swept as (
            select size_bytes, {held}, {level} as level, rate,
                count(*) over (partition by size_bytes, {held}) as levels
            from rates where direction = ? and method in ('blocks', 'ceiling') and client = 'engine'
                and {level} is not null
        )
        select level, rate from swept where levels >= 3
        qualify size_bytes = max(size_bytes) over () and levels = max(levels) over ()
        order by level""",
        [direction],
    ).fetchall()
    if not rows:
        return None
    best = max(rate for _, rate in rows)
    found, rate = next(row for row in rows if row[1] >= best * (1 - FLAT_SHARE))
    return int(found), float(rate), float(best), int(rows[-1][0])


def _threshold(database: duckdb.DuckDBPyConnection, direction: str, reasons: list[str]) -> int | None:
    """Return the largest size up to which one put is as quick as the best way in blocks."""
    rows = database.execute(
        """select size_bytes,
            min(wall_ns) filter (method in ('single-put', 'baseline')) as whole,
            min(wall_ns) filter (method = 'blocks' and block_size_bytes < size_bytes) as blocks
        from rates where direction = ? and client = 'engine' and coalesce(concurrency, 1) = 1
            or direction = ? and client = 'engine' and method = 'blocks'
        group by size_bytes order by size_bytes""",
        [direction, direction],
    ).fetchall()
    # Where one was not tried, the other says nothing.
    both = [(size, whole, blocks) for size, whole, blocks in rows if whole is not None]
    found = None
    for size, whole, blocks in both:
        if blocks is not None and whole > blocks * (1 + FLAT_SHARE):
            break
        found = int(size)
    if found is not None and found < max(size for size, *_ in both):
        reasons.append(f"up to {spell_size(found)} one request is as quick as blocks")
        return found
    return None


def _tail(
    database: duckdb.DuckDBPyConnection,
    direction: str,
    block: int | None,
    reasons: list[str],
) -> int | None:
    """Return the time above which a block of the chosen size is a straggler: the 99th percentile."""
    row = database.execute(
        """with took as (
            select ended_ns::bigint - slot_ns::bigint as ns
            from attempts as attempt join cells as cell using (cell)
            where fate = 'ok' and api in ('PutBlock', 'GetBlob', 'UploadPart', 'GetObject')
                and direction = ? and not warmup
                and method = 'blocks' and block_size_bytes = coalesce(?, block_size_bytes)
        ) select quantile_disc(ns, 0.99), max(ns), count(*) from took""",
        [direction, block],
    ).fetchone()
    if row is None or not row[2]:
        return None
    quantile, largest, n = row
    words = "99 % of" if n >= TAIL_N else "all (too few for a percentile) of"
    value = int(quantile if n >= TAIL_N else largest)
    of_size = f" of {spell_size(block)}" if block else ""
    reasons.append(f"{words} {n} blocks{of_size} took at most {format_duration(value)}")
    return value


def why_none(directory: Path) -> str:
    """Return in words why :func:`write` finds nothing to write: what was swept, and what came of it."""
    with _rates(directory) as database:
        for level, what in (
            ("concurrency", "numbers of requests in flight"),
            ("block_size_bytes", "block sizes"),
        ):
            row = database.execute(
                f"""with asked as (
                    select direction, size_bytes, count(distinct {level}) as n from cells
                    where method in ('blocks', 'ceiling') group by all
                ), took as (
                    select direction, size_bytes, count(distinct {level}) as n from rates
                    where method in ('blocks', 'ceiling') and client = 'engine' group by all
                ) select max(asked.n), max(took.n) from asked join took using (direction, size_bytes)"""
            ).fetchone()
            if row and row[0] and row[0] > 1:
                if row[1] == row[0]:
                    return f"it has {row[1]} {what}, and a sweep needs 3"
                few = "the files have too few blocks"
                return f"of {row[0]} {what} only {row[1]} took effect, and a sweep needs 3: {few}"
    return "the run sweeps neither block sizes nor connections"


def text_of(directory: Path, profiles: list[Profile]) -> str:
    """Return the profile as TOML, with the reason for each value beside it."""
    manifest = RunStore.open(directory).manifest
    values: dict[str, Any] = {
        "endpoint": manifest.get("target"),
        "run": manifest.get("run"),
        "plan": manifest["plan"],
        "measured_unix_ns": manifest.get("created_unix_ns"),
    }
    # Each direction has its own; for both, uploads come first, they need blocks most.
    for profile in sorted(profiles, key=lambda profile: profile.direction):
        values |= {key: value for key, value in _start(profile).items() if value is not None}
    values |= {profile.direction: _values(profile) for profile in profiles}
    return "# Where the mover begins; it goes on following the link.\n" + to_toml(values)


def _start(profile: Profile) -> dict[str, Any]:
    block, single = profile.block_size_bytes, profile.single_put_max_bytes
    return {
        "concurrency": profile.concurrency,
        "block_size": None if block is None else spell_size(block),
        "single_put_max": None if single is None else spell_size(single),
    }


def _values(profile: Profile) -> dict[str, Any]:
    return _start(profile) | {"reasons": list(profile.reasons)}


def write(directory: Path, *, name: str | None = None) -> Path | None:
    """Write the profile of a run into its folder, or where the mover finds it by name.

    Args:
        directory: Of the run.
        name: What the mover is to call it; default: ``profile.toml`` in the run's folder.

    Returns:
        The path; ``None`` if the run swept nothing.

    Raises:
        UsageError: The name cannot be a file's.
    """
    profiles = [profile for profile in measure(directory) if profile.says_something]
    if not profiles:
        return None
    if name is None:
        path = directory / "profile.toml"
    elif not name.strip() or Path(name).name != name or name.startswith(".") or not name.isprintable():
        raise UsageError("write profile", name, "not a name", "letters, digits, - and _ will do")
    else:
        path = folder() / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text_of(directory, profiles))
    # In the run's folder it is one of the files that the report has hashed.
    if name is None and (directory / SUMS).is_file():
        seal(directory)
    return path


def as_json(directory: Path) -> str:
    """Return what :func:`measure` found, as one line of JSON."""
    return json.dumps([vars(profile) for profile in measure(directory)])
