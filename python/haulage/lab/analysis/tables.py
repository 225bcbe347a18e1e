"""Tables that need statistics, each made from the rows of one query, and what those that make them share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.model import Result
from haulage.lab.analysis.query import statistic
from haulage.lab.topics import TOPICS


@dataclass(frozen=True)
class Table:
    """A statistic: from which query, what it says of itself, and the function that makes its rows."""

    name: str
    source: str
    title: str
    question: str
    method: str
    make: Callable[..., pd.DataFrame]


def make_all(results: Mapping[str, Result], folder: Path, margin: float) -> Iterator[Result]:
    """Yield every table whose query was run and that has rows.

    Args:
        results: Of the queries.
        folder: Where ``NAME.parquet`` of each goes.
        margin: The share by which what is equivalent may differ.
    """
    for table in _tables():
        source = results.get(table.source)
        if source is None or source.frame.empty:
            continue
        make = partial(table.make, margin=margin) if table.name == "comparisons" else table.make
        frame = make(source.frame)
        if len(frame):
            yield statistic(table.name, table.title, table.question, table.method, frame, source, folder)


@cache
def source_of(name: str) -> str:
    """Return the function that makes a table, and where it stands; empty for what SQL alone makes."""
    for table in _tables():
        if table.name == name:
            where = f"# {table.make.__module__}, with haulage.lab.analysis.statistics as st"
            return f"{where}\n{inspect.getsource(table.make)}"
    return ""


def _tables() -> Iterator[Table]:
    for topic in TOPICS:
        yield from topic.tables


def groups(frame: pd.DataFrame, keys: list[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the rows of each combination of ``keys``, missing values being a value like any other."""
    for values, part in frame.groupby(keys, dropna=False, sort=True):
        yield dict(zip(keys, values if isinstance(values, tuple) else (values,), strict=True)), part


def well(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that ended well and are no warm-up."""
    kept = (frame["outcome"] == "ok") & ~frame["warmup"] & (frame["method"] != "ceiling")
    return frame[kept & frame["rate_bits_per_second"].gt(0)]


#: Cells of one kind are replicates of each other.
KIND = ["direction", "size_bytes", "files", "treatment"]


def replicates_alike(cells: pd.DataFrame) -> st.Serial:
    """Return how alike replicates are to the ones before, over all treatments that were repeated."""
    like = cells.groupby(KIND, dropna=False)["rate_bits_per_second"]
    repeated = cells[like.transform("size") >= 2]
    logs = pd.DataFrame(
        {
            "kind": repeated.groupby(KIND, dropna=False).ngroup(),
            "replicate": repeated["replicate"],
            "log": np.log(repeated["rate_bits_per_second"].astype(float)),
        }
    )
    return st.serial(logs.pivot_table(index="kind", columns="replicate", values="log").to_numpy())


def by_replicate(part: pd.DataFrame, level: str) -> pd.DataFrame:
    """Return rates with a row for each replicate that has every level, and a column for each level."""
    table = part.pivot_table(
        index="replicate", columns=level, values="rate_bits_per_second", aggfunc="median", observed=True
    )
    whole = table.dropna()
    return whole if len(whole) else table.dropna(axis=1, how="all")
