"""Whoever can write to a log can write anything: it stops no reader and moves no cursor."""

from __future__ import annotations

import csv
import io
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from rich.console import Console

from command import Haul
from haulage.errors import HaulageError
from haulage.watch import state as states
from haulage.watch.line import NOTICED, Line, objects, of_log
from haulage.watch.lines import Lines
from haulage.watch.log import Log
from haulage.watch.places import Folder
from haulage.watch.reading import lines
from haulage.watch.rows import COLUMNS, CsvRows, ParquetRows
from haulage.watch.snapshot import snapshot
from haulage.watch.state import State
from haulage.watch.updates import apply, tick
from haulage.watch.views import Summary
from haulage.watch.workers import worker
from watch.writing import JOB, SECOND, T0, InFolder, Writer


def line_of(**fields: Any) -> Line | None:
    own = {"job": JOB, "node": "n", "stream": "00000001", "seq": 0, "time_unix_ns": T0, "event": "log"}
    return of_log({**own, **fields})


@pytest.mark.parametrize("depth", [900, 960, 975, 985, 2000])
@pytest.mark.parametrize("event", ["log", "warning", "summary", "job_started", "object", "uncaught"])
def test_a_value_that_is_nested_deeply_stops_nobody(depth: int, event: str, tmp_path: Path) -> None:
    nested = "[" * depth + "]" * depth
    fields = ("message", "sources", "exit_code", "objects_done", "failure", "source", "traceback", "level")
    text = f'{{"event": "{event}", ' + ", ".join(f'"{name}": {nested}' for name in fields) + "}\n"
    rows, state = CsvRows(tmp_path / "rows.csv"), State()
    for found in objects(text):
        line = line_of(**found) if found else None
        if line is not None:
            apply(state, line, T0)
            rows.add([line])
    rows.close()
    snapshot(state, T0, source="log")


@pytest.mark.parametrize("event", sorted(NOTICED))
@pytest.mark.parametrize("fields", [{}, {"outcome": "failed", "kind": "x", "message": "forged", "lost": 9}])
def test_what_is_only_noticed_here_is_not_believed_of_others(
    event: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    line = line_of(event=event, **fields)
    assert line is not None
    (tmp_path / "lines.jsonl").write_text(json.dumps({"event": event, "job": "x", **fields}) + "\n")
    with closing(Lines(str(tmp_path / "lines.jsonl"), lambda: T0)) as file:
        by_file = [one for batch in file.read() for one in batch.lines]
    rows, state = CsvRows(tmp_path / "rows.csv"), State()
    for one in (line, *by_file):
        assert apply(state, one, T0) is None
        rows.add([one])
    rows.close()
    shown = snapshot(state, T0, source="log")
    assert (shown["queues"], shown["problems"], shown["lines_lost"]) == ([], [], 0)
    assert (tmp_path / "rows.csv").read_text().count("\n") == 1


@pytest.mark.parametrize("event", sorted(NOTICED))
def test_no_field_of_what_is_noticed_is_taken_on_trust(event: str, tmp_path: Path) -> None:
    odd: list[Any] = [None, -1, 10**30, "text", [], {}, float("nan")]
    names = (
        "health",
        "messages",
        "messages_per_second",
        "eta_ns",
        "running",
        "heard_ns",
        "object",
        "message",
    )
    state, rows = State(), CsvRows(tmp_path / "rows.csv")
    for values in ({}, *(dict.fromkeys((*names, "outcome", "expected", "keep"), one) for one in odd)):
        noticed = Line("j", "n", "s", None, T0, event, {"event": event, **values})
        apply(state, noticed, T0)
        rows.add([noticed])
    rows.close()
    json.dumps(snapshot(state, T0, source="log"))


def test_a_worker_may_say_an_event_of_any_name(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    with worker(log, program="regrid", spool=str(tmp_path / "spool")) as handler:
        for event in sorted(NOTICED):
            handler.say(event, {"n": 1})
    said = [line["event"] for line in lines(log) if line["event"] != "progress"]
    assert said == ["worker_started", *sorted(NOTICED), "worker_ended"]
    assert "regrid" in Haul(tmp_path)("watch", log, "--once", "--csv", "rows.csv").text


@pytest.mark.parametrize(
    "fields",
    [
        {"level": "AB\rCD\0"},
        {"level": {"a": 1}, "file": "a\r\n.py", "line": [1]},
        {"event": "object", "started_ns": -(1 << 63), "ended_ns": (1 << 63) - 1},
        {"event": "object", "size_bytes": 1 << 63, "attempts": "many", "started_ns": 10**30, "ended_ns": 1},
        {"event": "attempt", "fate": "busy", "slot_ns": -(1 << 63), "ended_ns": (1 << 63) - 1, "status": 1.5},
        {"event": "summary", "bytes_done": -(10**30), "elapsed_ns": 10**30, "exit_code": "\r"},
        {"event": "worker_started", "program": "\r\0", "pid": 10**30},
    ],
)
def test_no_line_breaks_the_rows(fields: dict[str, Any], tmp_path: Path) -> None:
    line = line_of(**fields)
    assert line is not None
    rows = ParquetRows(tmp_path / "rows.parquet")
    # As lines of haul cp --json come, whose job is not looked at so closely.
    rows.add([line, line._replace(job="a\rb\0", time_unix_ns=10**30)])
    rows.close()
    found = duckdb.read_parquet(str(tmp_path / "rows.parquet")).fetchall()
    assert [row[1] for row in found] == [T0, None]


def test_times_beyond_all_measure_are_not_those_of_a_job(tmp_path: Path) -> None:
    started = {"event": "job_started", "job": "x", "started_unix_ns": 10**30}
    ended = {"event": "object", "outcome": "copied", "source": "a", "ended_ns": 10**30}
    (tmp_path / "lines.jsonl").write_text(f"{json.dumps(started)}\n{json.dumps(ended)}\n")
    rows = ParquetRows(tmp_path / "rows.parquet")
    with closing(Lines(str(tmp_path / "lines.jsonl"), lambda: T0)) as file:
        for batch in file.read():
            rows.add(batch.lines)
    rows.close()
    found = duckdb.read_parquet(str(tmp_path / "rows.parquet")).fetchall()
    assert [row[1] for row in found] == [T0, T0]


def test_no_name_moves_the_cursor() -> None:
    assert line_of(job="\x1b[2J\x1b[2J\x1b[2J") is None
    assert line_of(node="n" * 300) is None
    assert line_of(stream="s" * 300) is None
    state = State()
    # As the lines of haul cp --json come, which are not looked at so closely.
    apply(state, Line("\x1b[2J", "n", "s", None, T0, "log", {"event": "log", "message": "x"}), T0)
    shown = io.StringIO()
    view = Summary(Console(file=shown, highlight=False, markup=False, width=100))
    view.draw(snapshot(state, T0, source="log"), last=True)
    view.close()
    assert "\x1b" not in shown.getvalue()


def test_a_return_alone_parts_no_row(tmp_path: Path) -> None:
    line = line_of(message="10 %\r20 %\r\n30 %", node="a\rb")
    assert line is not None
    rows = CsvRows(tmp_path / "rows.csv")
    rows.add([line])
    rows.close()
    with (tmp_path / "rows.csv").open(newline="") as file:
        header, row = csv.reader(file)
    assert header == list(COLUMNS)
    assert dict(zip(header, row, strict=True))["message"] == "10 %\n20 %\n\n30 %"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x")'])
def test_a_spreadsheet_runs_no_formula_of_a_log(text: str, tmp_path: Path) -> None:
    line = line_of(message=text, node=text, logger=text)
    assert line is not None
    read = {}
    for kind in (CsvRows, ParquetRows):
        rows: CsvRows | ParquetRows = kind(tmp_path / kind.__name__)
        rows.add([line])
        rows.close()
    with (tmp_path / "CsvRows").open(newline="") as file:
        (read["csv"],) = csv.DictReader(file)
    found = duckdb.read_parquet(str(tmp_path / "ParquetRows"))
    read["parquet"] = dict(zip(found.columns, found.fetchall()[0], strict=True))
    kept = text.replace("\r", "\n")
    for name in ("message", "node", "kind"):
        assert (read["csv"][name], read["parquet"][name]) == (f"'{kept}", kept), name
    assert read["csv"]["time_unix_ns"] == str(T0)


def test_one_file_that_cannot_be_read_hides_no_other(
    folder: InFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Writer(folder, "node-1"), Writer(folder, "node-2")
    one.start()
    other.start()
    place = Folder(folder.root)
    reads = place.read

    def refuses(name: str, start: int, length: int) -> bytes:
        if "node-1" in name:
            raise HaulageError("read", name, "permission denied", None)
        return reads(name, start, length)

    monkeypatch.setattr(place, "read", refuses)
    log = Log(place, one._now)
    assert [line.node for batch in log.read() for line in batch.lines] == ["node-2"]
    monkeypatch.setattr(place, "read", reads)
    assert [line.node for batch in log.read() for line in batch.lines] == ["node-1"]
    log.close()


def test_a_clock_that_is_set_back_makes_nobody_silent() -> None:
    state, now = State(), T0
    job = Writer(
        lambda _, data: [apply(state, of_log(json.loads(text)), now) for text in data.splitlines()],  # type: ignore[arg-type]
        now=lambda: now - wrong,
    )
    wrong = 0
    job.start()
    for done in range(20):
        now += SECOND
        wrong = 600 * SECOND if done > 5 else 0
        job.progress(done, 20)
    states.read(state, now)
    assert tick(state, now) == []
