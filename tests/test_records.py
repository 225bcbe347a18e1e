"""What is known of a record's columns, by whoever reads several as one."""

from __future__ import annotations

from pathlib import Path

import duckdb

from haulage.lab.arms import engine
from haulage.records.quoting import literal


def test_the_records_of_a_sequence_are_one_on_the_clock_of_the_first(tmp_path: Path) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    parts = []
    for number in range(2):
        part = folder / f"{number}.parquet"
        duckdb.execute(
            "copy (select 7::ubigint as sent_ns, null::ubigint as committed_ns, 3::ubigint as tls_ns,"
            " 4::ubigint as tcp_rtt_ns, 0::ubigint as object_id, 1::ubigint as connection)"
            f" to {literal(part)} (format parquet)"
        )
        parts.append((1000 * number, part))
    engine._join(parts, folder / "all.parquet")
    rows = duckdb.read_parquet(str(folder / "all.parquet")).order("sent_ns")
    assert rows.fetchall() == [(7, None, 3, 4, 0, 1), (1007, None, 3, 4, 1, 2)]
