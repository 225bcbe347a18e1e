"""Keys that are proposed: the known good ones, warnings of bad ones, and numbers that are counts."""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import duckdb
import pytest

from haulage.errors import UsageError
from haulage.tables.keys import parse
from haulage.tables.plan import Plan, choose, predict, propose
from haulage.tables.plan.measuring import Keys
from haulage.tables.plan.queries import parse_query
from tables.making import make

Row = Mapping[str, Any]

GOOD = [
    ("weather", ["station = ? and time between ? and ?"], ["{station}"], "{time:reversed}"),
    ("weather", ["station, time *10", "station, time within 7d"], ["{station}"], "{time:reversed}"),
    ("weather", ["station order by time desc limit 1"], ["{station}"], "{time:reversed}"),
    ("weather", ["station, time> order by time"], ["{station}"], "{time}"),
    ("weather", [], ["{station}"], "{time:reversed}"),
    ("events", ["id"], ["{id:hash16}", "{id:hash64}"], "{id}"),
    ("events", ["time within 1h order by time desc"], ["{time:day}", "{time:hour}"], "{time:reversed}_{id}"),
    ("events", [], ["{id:hash16}", "{id:hash64}"], "{id}"),
    (
        "catalogue",
        ["run, experiment", "run, experiment, member, variable *5"],
        ["{run}_{experiment}"],
        "{member:02}_{variable}",
    ),
    ("catalogue", ["run, experiment, member"], ["{run}_{experiment}"], "{member:02}_{variable}"),
    ("growing", ["id"], ["{id:hash16}", "{id:hash64}"], "{id:010}"),
]


#: Rows that make keys of each data set good.
ENOUGH = {"weather": 25_000, "catalogue": 6_000, "events": 20_000, "growing": 5_000}


@pytest.mark.parametrize(
    ("name", "queries", "partitions", "row"),
    GOOD,
    ids=[f"{name}: {'; '.join(queries) or 'no query'}" for name, queries, _, _ in GOOD],
)
def test_known_good_keys_are_proposed(
    tmp_path: Path, name: str, queries: list[str], partitions: list[str], row: str
) -> None:
    plan = propose(make(tmp_path, name, ENOUGH[name]), queries)
    assert str(plan.best.keys.partition) in partitions
    assert str(plan.best.keys.row) == row
    assert plan.best.spread.unique
    assert plan.assumed == (not queries)


def test_skew_is_told_with_numbers(tmp_path: Path) -> None:
    plan = propose(make(tmp_path, "skewed", 100_000), keys=("{station}", "{time:reversed}"))
    assert plan.best.spread.largest_share == 0.9
    told = next(text for text in plan.warnings if text.startswith("skew"))
    assert "90 % of the rows (90,000 of 100,000) are in the partition 'oslo', 28 times the average" in told
    assert "writing it takes 45.0 s at 2,000 rows/s, while evenly spread rows would take 5.0 s" in told
    assert any(text.startswith("same value in all rows: network;") for text in plan.warnings)
    assert "hot partition" not in " ".join(plan.warnings)


def test_skew_is_told_of_what_is_proposed(tmp_path: Path) -> None:
    plan = propose(make(tmp_path, "skewed", 5_000), ["station, time"])
    if plan.best.spread.largest_share >= 0.5:
        assert any(text.startswith("skew: 90 %") for text in plan.warnings)


def test_keys_in_the_order_of_writing_are_hot(tmp_path: Path) -> None:
    plan = propose(make(tmp_path, "events", 100_000), keys=("{time:month}", "{time:reversed}_{id}"))
    told = " ".join(plan.warnings)
    assert "one partition: all 100,000 rows would be in it, and it accepts 2,000 rows/s" in told
    plan = propose(make(tmp_path, "events", 100_000), keys=("{time:day}", "{time:reversed}_{id}"))
    assert plan.best.spread.newest_rate < 3_000
    assert plan.best.spread.rate == 18_000 or plan.best.spread.rate > 10_000
    assert any(
        re.match(r"hot partition: \d+ % of the newest rows are in one", text) for text in plan.warnings
    )


def test_ids_that_grow_are_told(tmp_path: Path) -> None:
    file = make(tmp_path, "growing", 20_000)
    told = " ".join(propose(file, ["id"]).warnings)
    assert "id grows from row to row: in this order, new rows all go to the same place" in told
    assert "the hash in the PartitionKey spreads them" in told
    told = " ".join(propose(file, keys=("{id:010}", "{id:010}")).warnings)
    assert "a hash in front would spread them: {id:hash16}" in told


def test_keys_that_are_not_unique_are_counted(tmp_path: Path) -> None:
    plan = propose(make(tmp_path, "weather", 5_000), keys=("{station}", "{time:day}"))
    rows = 5_000 - 50 * 17  # 100 times of four hours are seventeen days
    assert plan.best.spread.surplus == rows
    assert plan.best.spread.duplicates[0].rows == 6
    assert plan.warnings[0].startswith(
        f"not unique: {rows:,} of 5,000 rows (83 %) would replace another row with the same keys; "
    )


def test_rows_without_a_key_are_counted() -> None:
    columns: dict[str, list[object]] = {"a": ["x", None, "y" * 600, "z"], "n": [1, 2, 3, 1000]}
    plan = propose(columns, keys=("{a}", "{n:03}"))
    assert (plan.best.spread.refused, plan.best.spread.too_long) == (2, 1)
    told = " ".join(plan.warnings)
    assert "no key for 2 rows, because a value is missing or does not fit" in told
    assert "keys longer than 1 KiB in 1 row, which" in told


# Numbers against a count in Python.


def rows_of(file: Path) -> list[Row]:
    with duckdb.connect() as connection:
        answer = connection.execute(f"SELECT * FROM '{file}'")
        names = [column[0] for column in answer.description]
        return [dict(zip(names, cells, strict=True)) for cells in answer.fetchall()]


def rendered(rows: Sequence[Row], keys: Keys) -> list[tuple[str, str]]:
    return [(keys.partition.render(row), keys.row.render(row)) for row in rows]


def reads(filter_: str) -> Callable[[str, str], bool]:
    """Return whether the service reads a row of these keys, by the part of a filter that is about keys."""
    found = re.findall(r"\b(PartitionKey|RowKey) (eq|ge|lt) '((?:[^']|'')*)'", filter_)
    single = any(name == "PartitionKey" and test == "eq" for name, test, _ in found)
    bounds = [
        (
            name == "RowKey",
            {"eq": operator.eq, "ge": operator.ge, "lt": operator.lt}[test],
            text.replace("''", "'"),
        )
        for name, test, text in found
        # Over several partitions all of their rows are read.
        if single or name == "PartitionKey"
    ]
    return lambda *key: all(test(key[place], text) for place, test, text in bounds)


KEYS = [
    ("{station}", "{time:reversed}"),
    ("{station}", "{time}"),
    ("{station}_{time:month}", "{time:iso}"),
    ("{time:day}", "{station}_{time:reversed}"),
    ("{station:hash16}", "{station}_{time}"),
    ("{time:hash8}", "{time:reversed}_{station}"),
    ("{time:month}_{station}", "{time:hour}_{temperature}"),
    ("all", "{station}_{time}"),
]
START = datetime(2024, 1, 1)
QUERIES: list[tuple[str, list[Any], Callable[[Row], bool]]] = [
    (
        "station = ? and time = ?",
        ["st007", START + timedelta(hours=32)],
        lambda row: row["station"] == "st007" and row["time"] == START + timedelta(hours=32),
    ),
    (
        "station, time between ? and ?",
        ["st049", START + timedelta(hours=18), START + timedelta(days=40)],
        lambda row: (
            row["station"] == "st049"
            and START + timedelta(hours=18) <= row["time"] <= START + timedelta(days=40)
        ),
    ),
    ("station", ["st003"], lambda row: row["station"] == "st003"),
    (
        "station = st011 and time > 2024-02-03T04:00:00",
        [],
        lambda row: row["station"] == "st011" and row["time"] > datetime(2024, 2, 3, 4),
    ),
    (
        "time between ? and ?",
        [START + timedelta(days=5, hours=3), START + timedelta(days=7)],
        lambda row: START + timedelta(days=5, hours=3) <= row["time"] <= START + timedelta(days=7),
    ),
    ("station like 'st01%'", [], lambda row: row["station"].startswith("st01")),
    ("station >= st040", [], lambda row: row["station"] >= "st040"),
    ("temperature > 10.9", [], lambda row: row["temperature"] > 10.9),
    ("station = none", [], lambda _row: False),
]


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("weather"), "weather", 13_000)


#: Those of the gate: a key of each form.
FORMS = (KEYS[0], KEYS[3], KEYS[4], KEYS[6])


@pytest.mark.parametrize(
    "templates",
    [pytest.param(one, marks=[] if one in FORMS else pytest.mark.long, id="/".join(one)) for one in KEYS],
)
def test_predictions_are_what_is_counted(weather: Path, templates: tuple[str, str]) -> None:
    rows = rows_of(weather)
    plan = propose(weather, ["station"], sample_rows=4_000, keys=templates)
    keys = [*zip(rows, rendered(rows, plan.best.keys), strict=True)]
    for query, values, wanted in QUERIES:
        found = predict(plan, query, values)
        stretches = [reads(text) for text in found.filters]
        read = [[holds(*key) for holds in stretches] for _, key in keys]
        assert all(sum(one) <= 1 for one in read), "no row is asked for twice"
        assert found.rows_read == sum(map(sum, read)), query
        assert found.rows_returned == sum(wanted(row) for row, _ in keys), query
        # None is missed.
        assert not [row for (row, _), one in zip(keys, read, strict=True) if wanted(row) and not any(one)]
        assert found.pieces == len(found.filters)


@pytest.mark.parametrize(
    ("query", "values", "returned"),
    [
        ("station = ? and date = ?", ["oslo", datetime(2021, 1, 2)], 1),
        ("station, date between ? and ?", ["oslo", date(2021, 1, 2), datetime(2021, 1, 3, 12)], 2),
        ("date >= 2021-01-03", [], 4),
        ("date = ?", [date(2022, 1, 1)], 0),
    ],
)
@pytest.mark.parametrize(
    "templates", [("{date}", "{station}"), ("{station}", "{date}"), ("{date:hash4}", "{date}{station}")]
)
def test_days_are_asked_for_as_keys_have_them(
    templates: tuple[str, str], query: str, values: list[Any], returned: int
) -> None:
    """Filters had the time of a day in them, found nothing, and such keys were the cheapest."""
    days = [date(2021, 1, day) for day in range(1, 5)]
    rows: dict[str, Sequence[object]] = {"station": ["oslo"] * 4 + ["bergen"] * 4, "date": days * 2}
    plan = propose(rows, ["station"], keys=templates)
    found = predict(plan, query, values)
    assert found.rows_returned == returned
    assert found.rows_read >= returned
    # Not by reading all of it.
    assert found.kind != "scan" or "hash" in templates[0] or not query.startswith("station")


def test_the_kinds_of_queries(weather: Path) -> None:
    plan = propose(weather, keys=("{station}", "{time:reversed}"))
    kinds = {
        "station, time": "point",
        "station, time>": "range",
        "station": "partition",
        "station >= st01": "partitions",
        "time": "scan",
    }
    for query, kind in kinds.items():
        values = {"station": "st001", "time": START}
        marks = [values[name] for name in re.findall(r"\w+", query) if name in values and ">= " not in query]
        assert predict(plan, query, marks).kind == kind, query


def test_the_newest_rows_come_first(weather: Path) -> None:
    plan = propose(weather, keys=("{station}", "{time:reversed}"))
    newest = predict(plan, "station order by time desc limit 3", ["st001"])
    assert (newest.rows_read, newest.rows_returned, newest.requests) == (3, 3, 1)
    oldest = predict(plan, "station order by time limit 3", ["st001"])
    assert (oldest.rows_read, oldest.rows_returned, oldest.requests) == (260, 3, 1)


def test_months_are_asked_for_one_by_one(weather: Path) -> None:
    plan = propose(weather, keys=("{station}_{time:month}", "{time:iso}"))
    found = predict(
        plan, "station, time between ? and ?", ["st001", datetime(2024, 1, 30), datetime(2024, 2, 10)]
    )
    assert (found.kind, found.pieces) == ("range", 2)
    assert found.rows_read == found.rows_returned == 11 * 6 + 1


@pytest.mark.parametrize("name", ["weather", "skewed"])
def test_the_spread_is_what_is_counted(tmp_path: Path, name: str) -> None:
    file = make(tmp_path, name, 20_000)
    plan = propose(file, keys=("{station}", "{time:reversed}"))
    spread = plan.best.spread
    rows = rows_of(file)
    counts = Counter(row["station"] for row in rows)
    sizes = sorted(counts.values())
    total = sum(place * size for place, size in enumerate(sizes, 1))
    assert spread.partitions == len(counts)
    assert spread.largest_rows == sizes[-1]
    assert spread.gini == pytest.approx(
        2 * total / (len(sizes) * 20_000) - (len(sizes) + 1) / len(sizes), abs=1e-5
    )
    assert spread.transactions == sum(math.ceil(size / 100) for size in sizes)
    weights = [weight(row, *key) for row, key in zip(rows, rendered(rows, plan.best.keys), strict=True)]
    assert spread.total_bytes == sum(weights)
    assert spread.entity_bytes == max(weights)


def weight(row: Row, partition_key: str, row_key: str) -> int:
    """The service's formula."""

    def of(value: object) -> int:
        match value:
            case str():
                return 4 + len(value.encode("utf-16-le"))
            case bytes():
                return 4 + len(value)
            case bool():
                return 1
            case _:
                return 8

    kept = {name: value for name, value in row.items() if value is not None}
    keys = 2 * (len(partition_key) + len(row_key))
    return 4 + keys + sum(8 + 2 * len(name) + of(value) for name, value in kept.items())


def test_entities_that_are_too_large() -> None:
    columns: dict[str, list[object]] = {"id": ["a", "b"], "text": ["x" * 600_000, "y"], "emoji": ["🌍", None]}
    columns |= {f"c{number}": [1, 2] for number in range(252)}
    plan = propose(columns, ["id"])
    told = " ".join(plan.warnings)
    assert "too large: 1 row of more than 1 MiB" in told
    assert "too many columns: 255, and a row can have 252" in told
    assert "text longer than 64 KiB in text" in told


def test_types_that_the_table_has_not(tmp_path: Path) -> None:
    file = tmp_path / "types.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"""COPY (SELECT 'a' AS id, 1.5::DECIMAL(9, 2) AS price, 1::UBIGINT AS big,
            DATE '2024-01-01' AS day, [1, 2] AS list, {{'a': 1}} AS nested, 1 AS "odd name",
            TIMESTAMP_NS '2024-01-01' AS moment, 1 AS "RowKey") TO '{file}'"""
        )
    plan = propose(file, ["id"])
    notes = {one.column: (one.edm, one.note) for one in plan.types}
    assert notes["price"] == ("Edm.String", "as decimal digits, because Double would round")
    assert notes["big"] == ("Edm.Int64", "rows with a value that does not fit into it are refused")
    assert notes["day"] == ("Edm.DateTime", "as midnight UTC")
    assert notes["list"] == notes["nested"] == ("", "a table cannot store this type; it is left out")
    assert plan.command().endswith(" --exclude list --exclude nested --exclude 'odd name'")
    assert notes["moment"][1] == "in units of 100 ns"
    told = " ".join(plan.warnings)
    assert "column odd name: the service does not allow this name" in told
    assert "column RowKey: the service uses this name itself" in told


def test_indexes_are_weighed(tmp_path: Path) -> None:
    plan = propose(make(tmp_path, "events", 20_000), ["time within 1h *100", "id"])
    index = next(index for index in plan.indexes if index.column == "id")
    assert index.worth
    assert (index.entries, index.rows_read, index.requests) == (20_000, 2, 2)
    assert index.saved > 0.99
    assert plan.command("events").endswith(" --index id")


def test_a_sample_ranks_and_all_rows_are_counted(tmp_path: Path) -> None:
    file = make(tmp_path, "weather", 60_000)
    plan = propose(file, ["station, time within 7d"], sample_rows=10_000)
    assert 8_000 < plan.sampled < 12_000
    assert plan.best.whole
    assert str(plan.best.keys) == "{station} / {time:reversed}"
    assert plan.best.spread.rows == 60_000
    assert plan.best.costs[0].rows_read == plan.best.costs[0].rows_returned == 43
    again = propose(file, ["station, time within 7d"], sample_rows=10_000)
    assert again == plan


def test_duplicates_that_the_sample_misses_are_found(tmp_path: Path) -> None:
    file = tmp_path / "rare.parquet"
    with duckdb.connect() as connection:
        # One moment of one station is there twice.
        connection.execute(
            f"""COPY (SELECT 's' || i % 20 AS station, TIMESTAMP '2024-01-01' + INTERVAL 1 SECOND *
            (CASE i WHEN 29980 THEN 0 ELSE i END) AS time, i AS n
            FROM range(30000) AS made(i)) TO '{file}'"""
        )
    plan = propose(file, ["station, time"], sample_rows=1_000)
    lost = [one for one in plan.candidates if one.whole and str(one.keys) == "{station} / {time:reversed}"]
    assert [one.spread.surplus for one in lost] == [1]
    assert plan.best.spread.unique


def test_choose(tmp_path: Path) -> None:
    partition, row, why = choose(make(tmp_path, "weather", 20_000))
    assert (partition, row) == ("{station}", "{time:reversed}")
    assert why == (
        "each of 20,000 rows has its own key; 50 partitions with at most 400 rows each",
        "no queries were given, so the keys are for queries that are typical for such data:",
        "  rows with a given station and time: reads 1 row",
        "  rows with a given station, in a range of time: reads 4 rows",
    )
    assert choose({"id": ["a", "b"]}, ["id"])[2][1:] == (
        "the keys are for these queries:",
        "  rows with a given id: reads 1 row",
    )


def test_queries_are_said_in_english() -> None:
    said = {
        "a, b = 1 and c between ? and ?": "rows with a given a and b, in a range of c",
        "path like 'run1/%' limit 20": "the first 20 rows with a path that begins with a given text",
        "time within 7d order by time": "rows in a range of time, the smallest time first",
        "order by n desc limit 1": "the first row, the largest n first",
    }
    assert {query: parse_query(query).in_words for query in said} == said


def test_choose_refuses_rows_that_are_alike() -> None:
    with pytest.raises(UsageError) as caught:
        choose({"a": [1, 1, 2], "b": ["x", "x", "y"]})
    assert caught.value.hint == (
        "name the keys with --partition-key and --row-key; haul table plan shows what each loses"
    )


def test_separators_that_values_hold_are_not_used() -> None:
    columns: dict[str, list[object]] = {"a": ["x_y", "x"], "b": ["z", "y_z"], "n": [1, 2]}
    plan = propose(columns, ["a, b"], keys=("{a}_{b}", "{a}"))
    assert plan.best.spread.partitions == 1, "both would be x_y_z"
    made = [str(one.keys) for one in propose(columns, ["a, b"]).candidates]
    assert any("|" in keys for keys in made)
    assert not any("_" in keys for keys in made)


def test_buckets_are_crc32(tmp_path: Path) -> None:
    plan = propose(make(tmp_path, "events", 1_000), keys=("{id:hash16}", "{id}"))
    found = predict(plan, "id", ["abc"])
    assert found.filters == (f"PartitionKey eq '{crc32(b'abc') % 16:02}' and RowKey eq 'abc'",)
    assert parse("{id:hash16}").render({"id": "abc"}) in found.filters[0]


def test_all_files_of_a_kind(tmp_path: Path) -> None:
    made = make(tmp_path, "weather", 500)
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM '{made}') TO '{tmp_path}/w.csv'")
        connection.execute(f"COPY (FROM '{made}') TO '{tmp_path}/w.jsonl' (FORMAT json)")
    plans: list[Plan] = [propose(tmp_path / name) for name in ("weather.parquet", "w.csv", "w.jsonl")]
    assert {str(plan.best.keys) for plan in plans} == {"{station} / {time:reversed}"}
    assert propose([made]).rows == 500
