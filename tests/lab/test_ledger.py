"""The ledger closes to the nanosecond, and puts every nanosecond where a plain count puts it."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from haulage.errors import IntegrityError
from haulage.lab.analysis import ledger, query
from lab import made_runs
from lab.made_runs import SECOND, attempt, cell

PHASES = ("ready_ns", "connected_ns", "sent_ns", "first_byte_ns", "last_byte_ns", "committed_ns")


def books(folder: Path, cells: list[Any], attempts: dict[int, list[Any]]) -> dict[int, dict[str, int]]:
    run = query.open_run(made_runs.write(folder, cells, attempts))
    frame = {result.name: result.frame for result, _ in query.run(run, ["ledger"])}["ledger"]
    ledger.check(frame.to_dict("records"))
    return {
        int(number): dict(zip(rows["category"], rows["spent_ns"].astype(int), strict=True))
        for number, rows in frame.groupby("cell")
    }


def ms(spent: dict[str, int]) -> dict[str, float]:
    return {name: ns / 1e6 for name, ns in spent.items() if ns}


def test_an_upload_by_hand(tmp_path: Path) -> None:
    rows = [
        attempt(
            api="Begin",
            size_bytes=0,
            slot_ms=10,
            connected_ms=12,
            sent_ms=12,
            first_byte_ms=32,
            last_byte_ms=32,
            ended_ms=33,
        ),
        attempt(
            slot_ms=40,
            ready_ms=45,
            connected_ms=46,
            sent_ms=50,
            first_byte_ms=150,
            last_byte_ms=151,
            committed_ms=151,
            ended_ms=152,
        ),
        attempt(
            lane=1,
            slot_ms=100,
            ready_ms=101,
            connected_ms=111,
            sent_ms=121,
            first_byte_ms=141,
            last_byte_ms=141,
            committed_ms=141,
            ended_ms=141,
            connection_reused=False,
        ),
        attempt(
            api="PutBlockList",
            size_bytes=0,
            slot_ms=152,
            ready_ms=152,
            connected_ms=152,
            sent_ms=153,
            first_byte_ms=202,
            last_byte_ms=202,
            committed_ms=202,
            ended_ms=202,
        ),
    ]
    spent = ms(books(tmp_path, [cell(0, wall_ns=210_000_000)], {0: rows})[0])
    # The quickest answer is that of Begin: 20 ms.
    assert spent == pytest.approx(
        {
            "connect": 2 + 1 + 10,
            "disk": 5 + 1 - 0.00344,
            "hash": 0.00344,
            "send": 4 + 80 + 10 + 0,
            "server wait": 20 + 20 + 20,
            "receive": 1,
            "commit": 50,
            # Lane 1: to the first slot, and after the last; lane 0 the same.
            "no work": 10 * 2 + (210 - 202) + (210 - 152),
            "idle": 1 + 1 + (40 - 33) + (100 - 10) + (152 - 141),
        },
        abs=1e-3,
    )


def test_a_download_by_hand(tmp_path: Path) -> None:
    rows = [
        attempt(api="Begin", size_bytes=0, slot_ms=0, ended_ms=4),
        attempt(
            api="GetBlob",
            slot_ms=4,
            ready_ms=4,
            connected_ms=4,
            sent_ms=5,
            first_byte_ms=25,
            last_byte_ms=75,
            committed_ms=80,
            ended_ms=81,
        ),
        attempt(api="Commit", size_bytes=0, slot_ms=81, committed_ms=90, ended_ms=90),
    ]
    one = cell(0, wall_ns=90_000_000, direction="down")
    two = cell(1, wall_ns=90_000_000, direction="down", method="ranges")
    found = books(tmp_path, [one, two], {0: rows, 1: rows})
    expected = {"disk": 4 + 5, "send": 1, "server wait": 20, "receive": 50, "idle": 1, "commit": 9}
    assert ms(found[0]) == pytest.approx(expected)
    assert ms(found[1]) == pytest.approx(expected | {"disk": 4, "ordering": 5})


def test_refusals_hold_the_request_and_the_pause(tmp_path: Path) -> None:
    rows = [
        attempt(
            slot_ms=0,
            ready_ms=0,
            connected_ms=0,
            sent_ms=1,
            first_byte_ms=20,
            last_byte_ms=20,
            ended_ms=20,
            fate="busy",
            status=503,
            backoff_ms=100,
        ),
        attempt(
            lane=1,
            slot_ms=0,
            ready_ms=0,
            connected_ms=0,
            sent_ms=1,
            first_byte_ms=50,
            last_byte_ms=50,
            committed_ms=50,
            ended_ms=50,
        ),
        attempt(
            slot_ms=120,
            ready_ms=120,
            connected_ms=120,
            sent_ms=120,
            first_byte_ms=150,
            last_byte_ms=150,
            committed_ms=150,
            ended_ms=150,
            attempt=2,
            queued_ms=20,
        ),
    ]
    spent = ms(books(tmp_path, [cell(0, wall_ns=150_000_000)], {0: rows})[0])
    # Lane 0 waits from 20 to 120, lane 1 is empty meanwhile from 50 on; from 120 on it has no work.
    assert spent["throttled"] == pytest.approx(20 + 100 + 70)
    assert spent["no work"] == pytest.approx(30)


def test_a_cap_that_is_reached_is_pacing(tmp_path: Path) -> None:
    rows = [
        attempt(
            slot_ms=0,
            ready_ms=0,
            connected_ms=0,
            sent_ms=700,
            first_byte_ms=1000,
            last_byte_ms=1000,
            committed_ms=1000,
            ended_ms=1000,
            size_bytes=1_000_000,
        )
    ]
    for cap, reached in ((8_000_000, True), (80_000_000, False)):
        factors = f'{{"cap_bits_per_second": {cap}}}'
        spent = books(tmp_path / str(cap), [cell(0, factors=factors)], {0: rows})[0]
        assert (spent["pacing"] > 0) is reached
        assert (spent["send"] == 0) is reached


def random_attempts(draw: random.Random, wall: int) -> list[dict[str, Any]]:
    """Lanes full of attempts of all kinds, well and badly ended, with stamps missing as they do."""
    rows: list[dict[str, Any]] = []
    for lane in range(draw.randint(1, 5)):
        at = draw.randint(0, wall // 4)
        while True:
            api = draw.choice(["PutBlock", "PutBlock", "PutBlob", "PutBlockList", "Begin", "Digest"])
            took = [draw.randint(0, wall // 20) for _ in range(7)]
            if at + sum(took) > wall:
                break
            row = attempt(api=api, lane=lane, slot_ns=at, size_bytes=draw.randint(0, 5_000_000))
            moment = at
            reached = 0 if api == "Digest" else draw.choice([6, 6, 6, draw.randint(0, 5)])
            for name, ns in zip(PHASES[:reached], took, strict=False):
                moment += ns
                row[name] = moment
            moment += took[6]
            row["ended_ns"] = moment
            if reached < 6 and api != "Digest":
                row["fate"] = draw.choice(["busy", "connection"])
                row["backoff_ns"] = draw.choice([None, draw.randint(0, wall // 10)])
                row["attempt"] = draw.choice([1, 2])
            rows.append(row)
            at = moment + draw.randint(0, wall // 30)
    return rows


def count(rows: list[dict[str, Any]], wall: int) -> Counter[str]:
    """The same books, kept the slow way: attempt by attempt, and moment by moment for the empty slots."""
    spent: Counter[str] = Counter()
    ok = [row for row in rows if row["fate"] == "ok" and row["first_byte_ns"] and row["sent_ns"]]
    empty = [row for row in ok if row["api"] in ("Begin", "PutBlockList")]
    answer = min((row["first_byte_ns"] - row["connected_ns"] for row in empty or ok), default=0)
    for row in rows:
        known = [row[name] for name in PHASES]
        stamps, last = [], row["slot_ns"]
        for place, stamp in enumerate(known):
            later = any(other is not None for other in known[place + 1 :])
            last = stamp if stamp is not None else (last if later else row["ended_ns"])
            stamps.append(last)
        parts = dict(
            zip(
                ("read", "connect", "send", "wait", "receive", "written", "own"),
                (b - a for a, b in zip([row["slot_ns"], *stamps], [*stamps, row["ended_ns"]], strict=True)),
                strict=True,
            )
        )
        if row["connected_ns"] is None and row["api"] == "Digest":
            spent["hash"] += sum(parts.values())
            continue
        if row["connected_ns"] is None:
            spent["disk"] += sum(parts.values())
            continue
        hashed = min(parts["read"], round(row["size_bytes"] * 0.0172))
        spent["hash"] += hashed
        spent["disk"] += parts["read"] - hashed
        spent["connect"] += parts["connect"]
        rest = sum(parts[name] for name in ("send", "wait", "receive"))
        if row["fate"] == "busy":
            spent["throttled"] += rest + parts["written"] + parts["own"]
            continue
        spent["idle"] += parts["written"] + parts["own"]
        if row["api"] == "PutBlockList":
            spent["commit"] += rest
            continue
        wait = min(parts["wait"], answer) if row["api"] in ("PutBlob", "PutBlock") else parts["wait"]
        spent["send"] += parts["send"] + parts["wait"] - wait
        spent["commit" if row["api"] == "PutBlob" else "server wait"] += wait
        spent["receive"] += parts["receive"]
    lanes = max(row["lane"] for row in rows) + 1
    first = min(row["slot_ns"] for row in rows)
    last = max(row["slot_ns"] for row in rows if row["attempt"] == 1)
    waits = [
        (row["ended_ns"], min(row["ended_ns"] + row["backoff_ns"], wall))
        for row in rows
        if row["fate"] == "busy" and row["backoff_ns"]
    ]
    moments = {0, wall, first, last, *(at for wait in waits for at in wait)}
    moments |= {row[name] for row in rows for name in ("slot_ns", "ended_ns")}
    ordered = sorted(moments)
    for begin, end in itertools.pairwise(ordered):
        free = lanes - sum(row["slot_ns"] <= begin and row["ended_ns"] >= end for row in rows)
        why = "no work" if begin < first or begin >= last else "idle"
        if any(since <= begin and until >= end for since, until in waits):
            why = "throttled"
        spent[why] += free * (end - begin)
    return spent


def test_sql_and_a_plain_count_agree_on_random_records(tmp_path: Path) -> None:
    draw = random.Random(20)
    cells, attempts = [], {}
    for number in range(60):
        rows = random_attempts(draw, SECOND)
        if any(row["attempt"] == 1 for row in rows):
            # Another node each, so that the quickest answer is looked for in this cell alone.
            cells.append(cell(number, factors=f'{{"node": "{number}"}}'))
            attempts[number] = rows
    found = books(tmp_path, cells, attempts)
    assert len(found) > 50
    for number, spent in found.items():
        expected = count(attempts[number], SECOND)
        for name, ns in spent.items():
            # Rounding of the estimate of hashing is the only thing that may differ.
            slack = len(attempts[number]) if name in ("hash", "disk") else 0
            assert abs(ns - expected[name]) <= slack, (number, name)


def test_books_that_do_not_close_are_refused() -> None:
    frame = pd.DataFrame(
        {"cell": 0, "lanes": 1, "wall_ns": 10, "category": ledger.CATEGORIES, "spent_ns": [10] + [0] * 11}
    )
    ledger.check(frame.to_dict("records"))
    with pytest.raises(IntegrityError, match="ledger of cell 0"):
        ledger.check(frame.assign(spent_ns=[9] + [0] * 11).to_dict("records"))
    with pytest.raises(IntegrityError):
        ledger.check(frame.assign(spent_ns=[11, -1] + [0] * 10).to_dict("records"))
