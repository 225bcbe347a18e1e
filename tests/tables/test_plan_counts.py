"""What a plan predicts of queries is what the endpoint counts, with the rows under the keys proposed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import haulage
from endpoints import TableEndpoint
from haulage import _engine
from haulage.tables.moving import import_table
from haulage.tables.plan import predict, propose
from tables.making import make
from tables.moving import at, fresh

ROWS = 6000


@pytest.fixture(scope="module")
def emulated() -> Iterator[haulage.Emulator]:
    with haulage.Emulator() as emulator:
        yield emulator


@pytest.mark.parametrize(
    ("name", "query", "values"),
    [
        (
            "weather",
            "station = ? and time between ? and ?",
            ["st007", datetime(2024, 1, 2), datetime(2024, 1, 9)],
        ),
        ("weather", "station = ?", ["st011"]),
        ("weather", "time between ? and ?", [datetime(2024, 1, 2), datetime(2024, 1, 3)]),
        ("catalogue", "run = ? and experiment = ?", ["run2", "exp1"]),
        ("events", "id = ?", ["c81e728d9d4c2f636f067f89cc14862c"]),
        ("skewed", "station = ?", ["oslo"]),
    ],
)
def test_predictions_are_what_the_endpoint_counts(
    emulated: haulage.Emulator, tmp_path: Path, name: str, query: str, values: list[Any]
) -> None:
    path = make(tmp_path, name, ROWS)
    plan = propose(path, [query])
    keys = plan.best.keys
    table = at(TableEndpoint("emulator", emulated.endpoint), fresh())
    done = import_table(path, table, partition_key=str(keys.partition), row_key=str(keys.row), create=True)
    assert (done.written, done.refused) == (ROWS, 0)
    predicted = predict(plan, query, values)
    before = emulated.stats()
    returned = 0
    for stretch in predicted.filters:
        asked, place = _engine.Table(table), None
        while True:
            body, _, place = asked.page(filter=stretch or None, next=place)
            returned += body.count(b'"RowKey"')
            if place is None:
                break
    after = emulated.stats()
    assert after["rows_read"] - before["rows_read"] == predicted.rows_read
    assert returned == predicted.rows_returned
    requests = after["requests"]["QueryEntities"] - before["requests"].get("QueryEntities", 0)
    assert predicted.requests <= requests <= predicted.requests + predicted.pieces
