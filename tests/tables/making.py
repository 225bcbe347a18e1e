"""Rows whose good keys are known, and some whose keys are bad."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

#: What each data set is made with; `$rows` is how many.
SETS: Mapping[str, str] = {
    "weather": """SELECT 'st' || lpad((i % 50)::VARCHAR, 3, '0') AS station,
        TIMESTAMP '2024-01-01' + INTERVAL 4 HOUR * (i // 50) AS time, 10 + sin(i)::DOUBLE AS temperature""",
    "events": """SELECT md5(i::VARCHAR) AS id, TIMESTAMP '2024-01-01' + INTERVAL 7 SECOND * i AS time,
        ['info', 'warning', 'error'][1 + i % 3] AS level, 'message ' || i AS message""",
    "catalogue": """SELECT 'run' || (i // 1200) % 5 AS run, 'exp' || (i // 300) % 4 AS experiment,
        (1 + i // 10 % 30)::SMALLINT AS member,
        ['tas', 'pr', 'psl', 'ua', 'va', 'zg', 'hus', 'ts', 'uas', 'vas'][1 + i % 10] AS variable,
        1000 + hash(i) % 100000 AS size_bytes, 'data/' || i || '.nc' AS path""",
    # Nine rows in ten are of one station.
    "skewed": """SELECT CASE WHEN i % 10 THEN 'oslo' ELSE 'st' || i % 300 END AS station,
        TIMESTAMP '2024-01-01' + INTERVAL 1 SECOND * i AS time, 'one' AS network, i AS reading""",
    "growing": """SELECT 1000 + i AS id, 'text ' || i AS text""",
}


def make(folder: Path, name: str, rows: int) -> Path:
    """Write a data set as Parquet; return the file."""
    file = folder / f"{name}.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({SETS[name]} FROM range({rows}) AS made(i)) TO '{file}'").fetchall()
    return file
