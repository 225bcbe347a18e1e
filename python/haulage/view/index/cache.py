"""What is known of files, kept in a folder of the cache by URL and version. It may be deleted at any time."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import struct
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from haulage.cached import cache_folder, keep
from haulage.view.index.model import FORMAT, Index

#: What the folder holds at most; what was not used for longest goes when a server starts.
FOLDER_BYTES = 256 << 20
#: Nodes of one file that are held in memory.
_NODES_BYTES = 6 << 20
#: Tables of one file that are held in memory; they are on the disk too.
_TABLES_BYTES = 32 << 20


def folder() -> Path:
    """Return ``$XDG_CACHE_HOME/haulage/view``, or that below ``~/.cache``."""
    return cache_folder("view")


def tidy(where: Path, limit: int = FOLDER_BYTES) -> None:
    """Remove what was not used for longest, until the folder holds no more than ``limit`` bytes."""
    with contextlib.suppress(OSError):
        files = [
            (path.stat().st_mtime, path.stat().st_size, path) for path in where.iterdir() if path.is_file()
        ]
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= limit:
                return
            path.unlink(missing_ok=True)
            total -= size


class Shelf:
    """The place in the cache for one version of one object."""

    def __init__(self, url: str, etag: str, where: Path | None = None) -> None:
        key = hashlib.sha256(f"{FORMAT} {url} {etag}".encode()).hexdigest()[:32]
        self._path = (where or folder()) / key

    def index(self) -> Index | None:
        """Return the index; ``None`` if there is none that can be read."""
        try:
            values = json.loads(self._path.with_suffix(".json").read_bytes())
            found = Index.from_json(values) if values.get("version") == FORMAT else None
            self._path.with_suffix(".json").touch()
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return found

    def keep(self, index: Index) -> None:
        """Keep an index; a disk that is full or may not be written costs nothing but time."""
        with contextlib.suppress(OSError, ValueError):
            keep(self._path.with_suffix(".json"), json.dumps(index.to_json()).encode())

    @property
    def nodes(self) -> Path:
        """The file of the nodes of its B-trees."""
        return self._path.with_suffix(".nodes")


class NodesKept:
    """Nodes of the B-trees of one file, in memory and on the disk. Threads may share it."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._nodes: OrderedDict[int, bytes] = OrderedDict()
        self._tables: dict[str, np.ndarray[Any, Any]] = {}
        self._size = 0
        if path is not None:
            self._load(path)

    def get(self, address: int) -> bytes | None:
        """Return the node at an address; ``None`` if it is not known."""
        with self._lock:
            return self._nodes.get(address)

    def put(self, address: int, body: bytes) -> None:
        """Keep a node."""
        self._hold(address, body)
        if self._path is not None:
            with contextlib.suppress(OSError), self._lock:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("ab") as file:
                    file.write(struct.pack("<QI", address, len(body)) + body)

    def table(self, path: str) -> np.ndarray[Any, Any] | None:
        """Return the table of a variable; ``None`` if it is not known."""
        with self._lock:
            return self._tables.get(path)

    def put_table(self, path: str, table: np.ndarray[Any, Any]) -> None:
        """Keep a table that HDF5's library has told."""
        self._hold_table(path, table)
        if self._path is not None:
            body = io.BytesIO()
            np.save(body, table, allow_pickle=False)
            with contextlib.suppress(OSError):
                keep(self._table_file(path), body.getvalue())

    def tables_of(self, path: str) -> None:
        """Look for the table of a variable on the disk."""
        if self._path is None or self.table(path) is not None:
            return
        with contextlib.suppress(OSError, ValueError):
            self._hold_table(path, np.load(self._table_file(path), allow_pickle=False))

    def _table_file(self, path: str) -> Path:
        assert self._path is not None
        return self._path.with_suffix(f".{hashlib.sha256(path.encode()).hexdigest()[:12]}.npy")

    def _load(self, path: Path) -> None:
        with contextlib.suppress(OSError, struct.error):
            body = path.read_bytes()
            at = 0
            while at + 12 <= len(body):
                address, size = struct.unpack_from("<QI", body, at)
                if at + 12 + size > len(body):
                    return
                self._hold(address, body[at + 12 : at + 12 + size])
                at += 12 + size

    def _hold_table(self, path: str, table: np.ndarray[Any, Any]) -> None:
        with self._lock:
            if sum(one.nbytes for one in self._tables.values()) + table.nbytes > _TABLES_BYTES:
                self._tables.clear()
            self._tables[path] = table

    def _hold(self, address: int, body: bytes) -> None:
        with self._lock:
            self._size += len(body) - len(self._nodes.get(address, b""))
            self._nodes[address] = body
            while self._size > _NODES_BYTES and len(self._nodes) > 1:
                self._size -= len(self._nodes.popitem(last=False)[1])
