"""Records that are odd or damaged: they are refused in words, or replayed without what is missing."""

from __future__ import annotations

import json
import random
from pathlib import Path

import duckdb
import pytest

from command import Haul
from haulage.errors import IntegrityError
from haulage.watch.following import Failed, Follower
from haulage.watch.line import Line
from haulage.watch.record import Record
from sentences import Sentence


def written(path: Path, columns: str, rows: int = 1) -> Path:
    """Write a record of requests with these columns."""
    with duckdb.connect() as database:
        database.execute(f"copy (select {columns} from range({rows}) of(n)) to '{path}' (format parquet)")
    return path


@pytest.mark.parametrize(
    "columns",
    [
        "'a' as object, 'ok' as fate, 1 as size_bytes, 'soon' as ended_ns",
        "'a' as object, 'ok' as fate, 'large' as size_bytes, 1 as ended_ns",
        "'a' as object, 'ok' as fate, 1 as size_bytes, 1 as ended_ns, 'first' as attempt",
        "'a' as object, 'ok' as fate, 1 as size_bytes, 1e30 as ended_ns",
        "'a' as object, 'ok' as fate, [1] as size_bytes, 1 as ended_ns",
    ],
)
@pytest.mark.parametrize("speed", ["0", "60"])
def test_columns_of_another_kind_are_damage(
    tmp_path: Path, columns: str, speed: str, sentence: Sentence
) -> None:
    written(tmp_path / "odd.parquet", columns)
    said = Haul(tmp_path)("watch", "--record", "odd.parquet", "--speed", speed, "--json", code=5)
    sentence(said.hints)
    assert "Traceback" not in said.stderr


def test_a_record_with_bytes_that_were_changed_is_damaged(tmp_path: Path, sentence: Sentence) -> None:
    columns = "md5(n::varchar) as object, 'ok' as fate, n as size_bytes, n as ended_ns, n as object_id"
    path = written(tmp_path / "run.parquet", columns, 20_000)
    whole, dice = path.read_bytes(), random.Random(7)
    bad = bytearray(whole)
    for _ in range(2_000):
        bad[dice.randrange(4, len(whole) - 4_000)] ^= 0xFF
    path.write_bytes(bad)
    sentence(Haul(tmp_path)("watch", "--record", "run.parquet", "--once", code=5).hints)


def test_what_cannot_be_read_later_on_ends_the_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record(
        str(written(tmp_path / "a", "'a' as object, 'ok' as fate, 1 as size_bytes, 1 as ended_ns")),
        lambda: None,
    )

    def fail(_: int) -> Line:
        raise duckdb.InvalidInputException("a page is damaged")

    monkeypatch.setattr(record, "_lines", map(fail, [1]))
    follower = Follower(record, lambda: 0, patient=True)
    heard = follower.get(10)
    follower.stop()
    assert isinstance(heard, Failed)
    assert isinstance(heard.error, IntegrityError)
    assert record.ended
    record.close()


def test_numbers_that_are_missing_are_left_out(tmp_path: Path) -> None:
    columns = (
        "'o' || n as object, if(n = 0, 'ok', 'timeout') as fate, if(n = 2, 7, null) as size_bytes,"
        " n as object_id, if(n = 3, null, n) as ended_ns, null as slot_ns, null as node, null as cause"
    )
    written(tmp_path / "run.parquet", columns, 4)
    said = Haul(tmp_path)("watch", "--record", "run.parquet", "--once", "--json", "--csv", "rows.csv", code=1)
    totals = json.loads(said.text)["totals"]
    assert (totals["objects_done"], totals["objects_failed"], totals["bytes_done"]) == (3, 2, 0)


def test_a_folder_for_what_is_too_large_may_have_any_name(tmp_path: Path) -> None:
    (folder := tmp_path / "it's here").mkdir()
    written(
        tmp_path / "run.parquet",
        "'a' as object, 'ok' as fate, 5 as size_bytes, 1 as ended_ns, 1 as object_id",
    )
    haul = Haul(tmp_path, {"TMPDIR": str(folder)})
    assert (
        json.loads(haul("watch", "--record", "run.parquet", "--once", "--json").text)["totals"]["bytes_done"]
        == 5
    )
