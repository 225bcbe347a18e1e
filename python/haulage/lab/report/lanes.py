"""The lanes of a run: packed for the page's own code, and as a picture for those without JavaScript.

A column is 4-byte integers, split into planes of first bytes, second bytes and so on, then compressed
with the others: neighbours are alike in their high bytes, so a row costs about 15 bytes. The page
draws 100,000 rows within a frame; ``lanes_of_run.sql`` sees to it that there are no more.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from haulage.lab.analysis.model import Result
from haulage.lab.report.charts import TIMES, frame_of
from haulage.lab.report.lanes_picture import picture
from haulage.lab.report.palette import CATEGORIES, PHASES, distinct, themed
from haulage.lab.report.section import Drawn, script_safe
from haulage.words.numbers import counted, format_duration, round_size

#: Time in units of at least this; a chart of microseconds shows no less.
LEAST_QUANTUM_NS = 1000
HOW = (
    "Each row is a lane, a slot in flight; time runs to the right. A bar is one request, its colours what "
    "it waited for, white (the paper) an empty slot: the more paper between the first bar and the last, "
    "the more of the link was left unused for want of requests. Where several requests share a pixel it "
    "has the colour of what took most of it, paler the longer the slot stood empty; a red mark on top is a"
    " failed attempt. Requests that all wait (amber) at the same moment point to the server or the path, "
    "long blue or green bars to the rate of a connection."
)


@dataclass(frozen=True)
class Cell:
    """One cell of the run as the lanes name it."""

    number: int
    treatment: str
    label: str
    began_ns: int
    ended_ns: int
    weight: tuple[bool, int, int]  #: the greatest is shown first


def draw(result: Result, in_order: Result) -> Drawn:
    """Return the section of the lanes."""
    frame = result.frame.sort_values(["lane", "began_ns", "ended_ns"], kind="stable").reset_index(drop=True)
    cells = _cells(frame, frame_of(in_order))
    shown = max(cells, key=lambda cell: cell.weight)
    svg = picture(frame, shown.number, shown.began_ns, shown.ended_ns, f"Cell {shown.label}")
    packed = script_safe(json.dumps(_pack(frame, cells, shown), separators=(",", ":"), ensure_ascii=False))
    notes = []
    resolution = int(frame["resolution_ns"].max())
    if resolution:
        notes.append(
            f"{int(frame['attempts'].sum()):,} attempts in {counted(len(frame), 'row')}: attempts shorter "
            f"than {format_duration(resolution)} are drawn together, the phases of each group in one order. "
            "All are in attempts.parquet."
        )
    return Drawn("lanes", "Lanes over time", HOW, [result, in_order], svg, lanes=packed, notes=notes)


def _cells(frame: pd.DataFrame, in_order: pd.DataFrame) -> list[Cell]:
    extents = frame.groupby("cell").agg(
        began_ns=("began_ns", "min"), ended_ns=("ended_ns", "max"), attempts=("attempts", "sum")
    )
    cells = []
    for row in in_order.merge(extents, on="cell", suffixes=("", "_lanes")).to_dict("records"):
        size = f" · {row['files']} {TIMES} {round_size(row['size_bytes'])}" if row["size_bytes"] > 0 else ""
        warm = " · warm-up" if row["warmup"] else ""
        took = format_duration(row["ended_ns"] - row["began_ns_lanes"])
        number = int(row["cell"])
        cells.append(
            Cell(
                number,
                row["treatment"],
                f"{number} · {row['treatment']}{size} · {row['direction']} · replicate {row['replicate']}"
                f" · {took}{warm}",
                int(row["began_ns_lanes"]),
                int(row["ended_ns"]),
                (row["method"] == "adaptive" and not row["warmup"], int(row["bytes"]), int(row["attempts"])),
            )
        )
    return cells


def _pack(frame: pd.DataFrame, cells: list[Cell], shown: Cell) -> Mapping[str, Any]:
    quantum = max(LEAST_QUANTUM_NS, -(-int(frame["ended_ns"].max()) // 2**31))
    began = _quanta(frame["began_ns"], quantum)
    objects, object_names = _dictionary(frame["object"])
    apis, api_names = _dictionary(frame["api"])
    fates, fate_names = _dictionary(frame["fate"])
    treatments = list(dict.fromkeys(cell.treatment for cell in cells))
    columns: dict[str, NDArray[np.int64]] = {
        # Differences, which are small and alike; they begin anew, backwards, at each lane.
        "began": np.diff(began, prepend=0),
        "took": _quanta(frame["ended_ns"], quantum) - began,
        "lane": frame["lane"].to_numpy(np.int64),
        "cell": np.diff(frame["cell"].to_numpy(np.int64), prepend=0),
        **{phase: _quanta(frame[f"{phase}_ns"], quantum) for phase in PHASES},
        "attempts": frame["attempts"].to_numpy(np.int64),
        "kibibytes": (frame["size_bytes"].to_numpy(np.int64) + 1023) // 1024,
        "object": objects,
        "api": apis,
        "fate": fates,
        "status": frame["status"].fillna(0).to_numpy(np.int64),
    }
    return {
        "quantum_ns": quantum,
        "rows": len(frame),
        "lanes": int(frame["lane"].max()) + 1,
        "columns": list(columns),
        "data": _compressed(b"".join(map(_planes, columns.values()))),
        "objects": _compressed(json.dumps(object_names, ensure_ascii=False).encode()),
        "apis": api_names,
        "fates": fate_names,
        "treatments": treatments,
        "phases": [[key, label, themed_colour(colour)] for key, (label, colour) in PHASES.items()],
        "colours": [themed(colour) for colour in distinct(max(len(CATEGORIES), len(treatments)))],
        "cells": [
            [
                cell.number,
                treatments.index(cell.treatment),
                cell.label,
                cell.began_ns / quantum,
                cell.ended_ns / quantum,
            ]
            for cell in cells
        ],
        "shown": shown.number,
    }


def themed_colour(name: str) -> str:
    """Return the CSS variable of a colour."""
    return f"var(--{name})"


def _quanta(column: pd.Series[Any], quantum: int) -> NDArray[np.int64]:
    rounded: NDArray[np.int64] = (column.fillna(0).to_numpy(np.int64) + quantum // 2) // quantum
    return rounded


def _dictionary(column: pd.Series[Any]) -> tuple[NDArray[np.int64], list[str]]:
    codes, names = pd.factorize(column)
    return codes.astype(np.int64) + 1, ["", *map(str, names)]


def _planes(column: NDArray[np.int64]) -> bytes:
    # Wraps around below zero, which JavaScript undoes by adding in 32 bits.
    words = (column & 0xFFFFFFFF).astype("<u4")
    return words.view(np.uint8).reshape(-1, 4).T.tobytes()


def _compressed(plain: bytes) -> str:
    # The time of packing must not be in it, or two reports of one run would differ.
    return base64.b64encode(gzip.compress(plain, 6, mtime=0)).decode()
