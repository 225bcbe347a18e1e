"""A made-up run with its report, for the tests that look at one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from haulage.lab.report.page import write
from lab import synthetic

KEPT = (
    "baseline",
    "baseline-again",
    "blocks 256KiB x16",
    "blocks 1024KiB x16",
    "whole-files x2",
    "whole-files x8",
    "adaptive",
)
TREATMENTS = [treatment for treatment in synthetic.TREATMENTS if treatment.name in KEPT]
SIZES = [synthetic.SIZES[index] for index in (0, 2, 4)]


def make_run(folder: Path, **more: Any) -> Path:
    """Write a small run."""
    settings: dict[str, Any] = {"attempts": 3000, "treatments": TREATMENTS, "sizes": SIZES}
    return synthetic.write(folder, **(settings | more))


def make_report(folder: Path, **more: Any) -> Path:
    """Write a small run and its report."""
    write(make_run(folder, **more))
    return folder


def copied(source: Path, folder: Path) -> Path:
    """Return a copy of a run's directory that a test may spoil."""
    return Path(shutil.copytree(source, folder))


def rewritten(path: Path, change: Callable[[duckdb.DuckDBPyConnection], object]) -> None:
    """Change the table ``rows`` of a Parquet file by SQL."""
    with duckdb.connect() as database:
        database.execute(f"create table rows as from '{path}'")
        change(database)
        database.execute(f"copy rows to '{path}' (format parquet, compression zstd)")
