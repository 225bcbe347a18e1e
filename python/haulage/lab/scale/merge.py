"""The requests of all nodes of a cell in one table, on one clock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

from haulage.records.columns import joined
from haulage.records.quoting import literal


def merge(folder: Path, record: Path, shifts: Mapping[int, int]) -> int:
    """Write one record from ``folder/NN.parquet`` of each node; return the lanes of all of them.

    Lanes, connections and objects of different nodes get numbers of their own: node after node.

    Args:
        folder: Where each node has left its file; one that was lost has left none.
        record: What to write; nothing if no node has left anything.
        shifts: For each node the nanoseconds from the cell's time zero to that of the node's job.
    """
    # One that was killed while it wrote has left no whole file, and is not among the shifts.
    kept = [path for path in sorted(folder.glob("*.parquet")) if int(path.stem) in shifts]
    if not kept:
        return 0
    with duckdb.connect() as database:
        database.execute("create table shift (place integer, shift bigint)")
        database.executemany("insert into shift values (?, ?)", [list(item) for item in shifts.items()])
        names = [str(path) for path in kept]
        database.execute(
            "create table own as select *, cast(parse_filename(filename, true) as integer) as place"
            " from read_parquet(?, filename = true, union_by_name = true)",
            [names],
        )
        columns = [row[0] for row in database.execute("describe own").fetchall()]
        most = database.execute(
            "select max(lane) + 1, max(connection) + 1, max(object_id) + 1 from own"
        ).fetchone()
        lanes, connections, objects = (int(value or 0) for value in most or (0, 0, 0))
        words = ", ".join(
            _on_one_clock(name, lanes, connections, objects)
            for name in columns
            if name not in ("filename", "place")
        )
        database.execute(
            f"copy (select {words} from own join shift using (place) order by place, queued_ns)"
            f" to {literal(record)} (format parquet, compression zstd)"
        )
        used = database.execute("select sum(n) from (select max(lane) + 1 as n from own group by place)")
        found = used.fetchone()
    return int(found[0] or 0) if found else 0


def _on_one_clock(column: str, lanes: int, connections: int, objects: int) -> str:
    if column == "node":
        return "printf('node-%02d', place) as node"
    if column == "lane":
        return f"(lane + (place - 1) * {lanes})::uinteger as lane"
    before = "(place - 1) *"
    return joined(column, shift="shift", connections=f"{before} {connections}", objects=f"{before} {objects}")
