"""A run's directory: the manifest, one file a finished cell, and the tables merged from them.

Whatever happens, what is there is whole: every file is written under another name and renamed.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from haulage.errors import ExistsError, HaulageError, LocalIOError, NotFoundError, UsageError
from haulage.lab.chain import LAYOUT, MANIFEST, require_known, to_record, unseal
from haulage.lab.files import sha256 as sha256, write_whole as write_whole
from haulage.lab.planfile import tables_of, text_at
from haulage.records.quoting import literal

CELL_COLUMNS = {
    "cell": "INTEGER",
    "replicate": "INTEGER",
    "treatment": "VARCHAR",
    "method": "VARCHAR",
    "direction": "VARCHAR",
    "size_bytes": "UBIGINT",
    "files": "INTEGER",
    "concurrency": "INTEGER",
    "block_size_bytes": "UBIGINT",
    "factors": "VARCHAR",
    "warmup": "BOOLEAN",
    "seed": "UBIGINT",
    "intended_unix_ns": "BIGINT",
    "began_unix_ns": "BIGINT",
    "ended_unix_ns": "BIGINT",
    "wall_ns": "UBIGINT",
    "idle_before_ns": "UBIGINT",
    "bytes": "UBIGINT",
    "wire_bytes": "UBIGINT",
    "requests": "UINTEGER",
    "retries": "UINTEGER",
    "lanes": "UINTEGER",
    "chosen": "VARCHAR",
    "outcome": "VARCHAR",
    "cause": "VARCHAR",
    "recorded": "BOOLEAN",
    "cpu_ns": "UBIGINT",
    "phase_network_ns": "UBIGINT",
    "phase_reassembly_ns": "UBIGINT",
    "monotonic_offset_ns": "BIGINT",
}
TRANSFER_COLUMNS = {
    "cell": "INTEGER",
    "transfer": "INTEGER",
    "object": "VARCHAR",
    "size_bytes": "UBIGINT",
    "began_ns": "UBIGINT",
    "ended_ns": "UBIGINT",
    "duration_ns": "UBIGINT",
    "outcome": "VARCHAR",
    "method": "VARCHAR",
    "attempts": "INTEGER",
}
#: A row for every node that was declared, in a cell of many. Times count from the agreed moment.
NODE_COLUMNS = {
    "cell": "INTEGER",
    "node": "INTEGER",
    "name": "VARCHAR",
    "host": "VARCHAR",
    "pid": "INTEGER",
    "link": "VARCHAR",
    "outcome": "VARCHAR",
    "cause": "VARCHAR",
    "offset_ns": "BIGINT",
    "offset_bound_ns": "UBIGINT",
    "began_ns": "UBIGINT",
    "ended_ns": "UBIGINT",
    "files": "INTEGER",
    "bytes_declared": "UBIGINT",
    "bytes": "UBIGINT",
    "wire_bytes": "UBIGINT",
    "requests": "UINTEGER",
    "retries": "UINTEGER",
    "first_transfer": "INTEGER",
    "transfers": "INTEGER",
    "cpu_ns": "UBIGINT",
    "recorded": "BOOLEAN",
}
HOST_COLUMNS = {
    "unix_ns": "BIGINT",
    "cell": "INTEGER",
    "cpu_user_share": "DOUBLE",
    "cpu_system_share": "DOUBLE",
    "cpu_idle_share": "DOUBLE",
    "cpu_steal_share": "DOUBLE",
    "process_cpu_share": "DOUBLE",
    "memory_available_bytes": "UBIGINT",
    "nic_rx_bytes": "UBIGINT",
    "nic_tx_bytes": "UBIGINT",
    "disk_read_bytes": "UBIGINT",
    "disk_write_bytes": "UBIGINT",
}
#: Attempts that only asked what there is, before there was an object: no part of what a run measures.
ASKED_BESIDE = (
    "object_id is null and api in ('GetBlobProperties', 'ListBlobs', 'ListContainers',"
    " 'HeadObject', 'ListObjectsV2', 'ListBuckets')"
)
#: The engine's columns, for a run that recorded no attempt at all.
ATTEMPT_COLUMNS = {
    "object_id": "UBIGINT",
    "object": "VARCHAR",
    "api": "VARCHAR",
    "offset_bytes": "UBIGINT",
    "size_bytes": "UBIGINT",
    "attempt": "UINTEGER",
    "lane": "UINTEGER",
    "connection": "UBIGINT",
    "connection_reused": "BOOLEAN",
    "fate": "VARCHAR",
    "status": "USMALLINT",
    "cause": "VARCHAR",
    "request_id": "VARCHAR",
    "node": "VARCHAR",
    "remote": "VARCHAR",
    "proxied": "BOOLEAN",
    "tcp_retransmits": "UINTEGER",
    **{
        f"{phase}_ns": "UBIGINT"
        for phase in (
            "queued",
            "slot",
            "ready",
            "connected",
            "sent",
            "first_byte",
            "last_byte",
            "committed",
            "ended",
            "backoff",
            "dns",
            "proxy",
            "tls",
            "retry_after",
            "tcp_rtt",
            "tcp_busy",
            "tcp_rwnd_limited",
            "tcp_sndbuf_limited",
        )
    },
}
#: What entries of a manifest are, where they are there; others are only shown.
_MANIFEST_KINDS: dict[str, tuple[type, ...]] = {
    "plan": (str,),
    "plan_sha256": (str,),
    "run": (str,),
    "state": (str,),
    "target": (str,),
    "faults": (str, type(None)),
    "stopped_because": (str, type(None)),
    "created_unix_ns": (int,),
    "ended_unix_ns": (int, type(None)),
    "cells_planned": (int,),
    "cells_done": (int,),
    "files": (dict,),
    "host": (dict,),
    "ceiling": (dict, type(None)),
    "scheduler": (str, type(None)),
    "scheduler_file": (str, type(None)),
}
#: Moments are below this, and so in the years that dates have.
_MOST_NS = 1 << 63
#: The reader's buffers are as large as the largest file, and never smaller than this.
_LEAST_BUFFER_BYTES = 1 << 20


class RunStore:
    """Reads and writes the directory of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest: dict[str, Any] = {}

    @classmethod
    def create(cls, folder: Path, plan_text: str, manifest: Mapping[str, Any]) -> RunStore:
        """Make the directory of a new run.

        Raises:
            ExistsError: There is something already.
            LocalIOError: It cannot be made.
        """
        try:
            if folder.is_symlink() or folder.exists():
                if not folder.is_dir():
                    raise ExistsError(
                        "write run", str(folder), "not a folder", "give --out a folder that is new or empty"
                    )
                if any(folder.iterdir()):
                    raise ExistsError(
                        "write run",
                        str(folder),
                        "there is something already",
                        "give another --out, or --continue it",
                    )
            for name in ("cells", "attempts"):
                (folder / name).mkdir(parents=True, exist_ok=True)
        except HaulageError:
            raise
        except OSError as error:
            raise LocalIOError(
                "write run", str(folder), error.strerror or str(error), "give --out a folder that can be made"
            ) from None
        store = cls(folder)
        write_whole(folder / "plan.toml", plan_text)
        store.update(manifest)
        return store

    @classmethod
    def open(cls, folder: Path) -> RunStore:
        """Open the directory of a run that was begun.

        Raises:
            NotFoundError: No run is there.
            UsageError: Its manifest cannot be read, or a newer version wrote it.
        """
        store = cls(folder)
        path = folder / "manifest.json"
        if not path.is_file():
            raise NotFoundError("read run", str(folder), "no manifest.json there", "name the folder of a run")
        try:
            store.manifest = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            hint = "restore it from a copy, or repeat the run"
            raise UsageError("read run", str(path), f"not JSON: {error}", hint) from None
        # Other programs call files so, too.
        if not isinstance(store.manifest, dict) or "plan" not in store.manifest:
            raise UsageError("read run", str(path), "not the manifest of a run", "name the folder of a run")
        require_known(folder, store.manifest, "read run")
        for name, kinds in _MANIFEST_KINDS.items():
            value = store.manifest.get(name)
            if name in store.manifest and not _is_one(value, kinds):
                raise store._damaged(f"{name} cannot be {json.dumps(value)[:40]}")
        return store

    def need(self, *names: str) -> None:
        """Refuse a manifest without entries of these names.

        Raises:
            UsageError: One is missing.
        """
        for name in names:
            if name not in self.manifest:
                raise self._damaged(f"{name} is missing")

    def _damaged(self, cause: str) -> UsageError:
        hint = "restore it from a copy, or repeat the run"
        return UsageError("read run", str(self.folder / MANIFEST), cause, hint)

    @property
    def plan_values(self) -> dict[str, Any]:
        """The plan as it was resolved, not checked again.

        Raises:
            NotFoundError: There is none.
            UsageError: It is damaged.
        """
        path = self.folder / "plan.toml"
        if not path.is_file():
            hint = "restore it from a copy, or repeat the run"
            raise NotFoundError("read run", str(path), "no such file", hint)
        return tables_of(text_at(path), str(path))

    def update(self, values: Mapping[str, Any]) -> None:
        """Change entries of the manifest and write it; what was made from the former one no longer counts."""
        unseal(self.folder)
        self.manifest |= values
        write_whole(self.folder / MANIFEST, json.dumps(self.manifest, indent=1) + "\n")

    def record(self, *paths: Path) -> None:
        """List files of the folder in the manifest, each with its hash: they are part of the run."""
        added = {path.relative_to(self.folder).as_posix(): {"sha256": sha256(path)} for path in paths}
        self.update({"files": self.manifest.get("files", {}) | added})

    def done(self) -> dict[int, dict[str, Any]]:
        """Return the rows of the cells that are finished, by their number."""
        found = {}
        for path in self._cells():
            try:
                row = json.loads(path.read_text(encoding="utf-8"))["cell"]
                found[int(row["cell"])] = row
            except (ValueError, TypeError, LookupError):
                hint = "remove it: the run makes this cell again"
                raise UsageError("read run", str(path), "not a cell of a run", hint) from None
        return found

    def record_path(self, cell: int) -> Path:
        """Return where the engine's record of a cell goes."""
        return self.folder / "attempts" / f"{cell:04}.parquet"

    def nodes_folder(self, cell: int) -> Path:
        """Return where each of many nodes leaves its own record of a cell, on its own clock."""
        return self.folder / "nodes" / f"{cell:04}"

    def keep(
        self,
        row: Mapping[str, Any],
        transfers: Sequence[Mapping[str, Any]],
        host: Sequence[Mapping[str, Any]],
        nodes: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Write a finished cell down; from then on it counts as done."""
        unknown = set(row) ^ set(CELL_COLUMNS)
        assert not unknown, f"columns of cells.parquet: {sorted(unknown)}"
        content = {"cell": row, "transfers": transfers, "host": host} | (
            {} if nodes is None else {"nodes": nodes}
        )
        write_whole(self.folder / "cells" / f"{row['cell']:04}.json", json.dumps(content))

    def merge(self) -> None:
        """Write the four tables from what the cells have left, and every file's hash into the manifest."""
        # Also of a mover that was stopped amid a cell, and takes its own away as it ends.
        for left in self.folder.rglob("*.partial"):
            left.unlink(missing_ok=True)
        rows = self.write_tables(self.folder)
        files: dict[str, dict[str, Any]] = {}
        for name in to_record(self.folder):
            files[name] = {"sha256": sha256(self.folder / name)}
            if name in rows:
                files[name]["rows"] = rows[name]
        self.update({"lab": LAYOUT, "files": files})

    def write_tables(self, into: Path) -> dict[str, int]:
        """Write the tables from what the cells have left; return how many rows each has."""
        counts = {}
        with duckdb.connect() as database:
            database.execute("set enable_progress_bar = false")
            tables = {
                "cells.parquet": self._of_cells(database, "cell", CELL_COLUMNS, "cell"),
                "transfers.parquet": self._of_cells(
                    database, "transfers", TRANSFER_COLUMNS, "cell, transfer"
                ),
                "host.parquet": self._of_cells(database, "host", HOST_COLUMNS, "unix_ns"),
                "attempts.parquet": self._attempts(),
            }
            if self._of_many_nodes():
                tables["nodes.parquet"] = self._of_cells(database, "nodes", NODE_COLUMNS, "cell, node")
            for name, query in tables.items():
                path = into / name
                partial = path.with_suffix(".partial")
                database.execute(f"copy ({query}) to {literal(partial)} (format parquet, compression zstd)")
                partial.replace(path)
                found = database.execute(f"select count(*) from {literal(path)}").fetchone()
                counts[name] = found[0] if found else 0
        return counts

    def _cells(self) -> list[Path]:
        return sorted((self.folder / "cells").glob("*.json"))

    def _of_many_nodes(self) -> bool:
        return any("nodes" in json.loads(path.read_text(encoding="utf-8")) for path in self._cells()[:1])

    def _of_cells(
        self, database: duckdb.DuckDBPyConnection, part: str, columns: Mapping[str, str], order: str
    ) -> str:
        struct = "STRUCT(" + ", ".join(f'"{name}" {kind}' for name, kind in columns.items()) + ")"
        kind = struct if part == "cell" else f"{struct}[]"
        if not self._cells():
            return _empty(columns)
        largest = max(path.stat().st_size for path in self._cells())
        buffer = max(_LEAST_BUFFER_BYTES, 2 * largest)
        source = (
            f"read_json({literal(f'{_pattern(self.folder)}/cells/*.json')}, columns={{{part}: '{kind}'}},"
            f" maximum_object_size={buffer})"
        )
        # Read once into a table: hundreds of small files are slow to read twice.
        database.execute(f"create or replace temp table rows_of_{part} as select {part} from {source}")
        inner = f"select {part} as item" if part == "cell" else f"select unnest({part}) as item"
        return f"select * from (select item.* from ({inner} from rows_of_{part})) order by {order}"

    def _attempts(self) -> str:
        paths = sorted((self.folder / "attempts").glob("*.parquet"))
        finished = {path.stem for path in self._cells()}
        # A cell that was interrupted left a record but is no cell.
        names = [literal(path) for path in paths if path.stem in finished]
        if not names:
            return _empty({"cell": "INTEGER", **ATTEMPT_COLUMNS})
        return (
            "select cast(parse_filename(filename, true) as integer) as cell, * exclude (filename)"
            f" from read_parquet([{', '.join(names)}], filename = true, union_by_name = true)"
            f" where not ({ASKED_BESIDE}) order by cell, queued_ns"
        )


def unlike(operation: str, what: str, error: duckdb.Error) -> UsageError:
    """Return what to say of tables that are not what a run of this version writes."""
    hint = "a run of another version, or a damaged file; haul lab verify says which"
    return UsageError(operation, what, str(error).split("\n")[0], hint)


def _is_one(value: Any, kinds: tuple[type, ...]) -> bool:
    """Return whether an entry of a manifest is of one of the kinds."""
    return isinstance(value, kinds) and (not isinstance(value, int) or 0 <= value < _MOST_NS)


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> None:
    """Write rows as Parquet with these columns."""
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        source = Path(folder) / "rows.json"
        source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        kinds = ", ".join(f"{name}: '{kind}'" for name, kind in columns.items())
        query = (
            f"select * from read_json({literal(source)}, format='newline_delimited', columns={{{kinds}}})"
            if rows
            else _empty(columns)
        )
        database.execute(f"copy ({query}) to {literal(path)} (format parquet, compression zstd)")


def _empty(columns: Mapping[str, str]) -> str:
    words = ", ".join(f'cast(null as {kind}) as "{name}"' for name, kind in columns.items())
    return f"select {words} where false"


def _pattern(path: Path) -> str:
    """Return a path before a pattern: what is special in patterns stands for itself."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))
