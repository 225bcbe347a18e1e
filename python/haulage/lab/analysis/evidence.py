"""Gathers what the queries say of each treatment and size into the evidence that a verdict needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from haulage.causes.evidence import Evidence
from haulage.lab.analysis import ledger as books
from haulage.lab.analysis.model import Result
from haulage.lab.analysis.phases import phases_of
from haulage.lab.analysis.tables import groups
from haulage.words.numbers import counted, round_size

#: What evidence is gathered from.
EVIDENCE = ("evidence", "ledger", "host_load", "efficiency", "rate_over_time")


@dataclass(frozen=True)
class Subject:
    """A treatment at one size, and its evidence."""

    treatment: str
    method: str
    direction: str
    size_bytes: int | None
    moved_bytes: int
    cells: tuple[int, ...]
    evidence: Evidence


def gather(results: Mapping[str, Result]) -> list[Subject]:
    """Return a subject for every treatment and size that was recorded and ended well."""
    if "evidence" not in results or "ledger" not in results:
        return []
    rows = results["evidence"].frame
    rows = rows[rows["outcome"] == "ok"]
    ledger = results["ledger"].frame
    by_cell = dict(list(ledger.groupby("cell")))
    idle = _by_cell(results.get("host_load"), "cpu_idle_share")
    ceiling = _by_cell(results.get("efficiency"), "efficiency_share")
    least = _by_cell(results.get("efficiency"), "efficiency_low_share")
    over_time = results["rate_over_time"].frame if "rate_over_time" in results else None
    found = []
    for key, part in groups(rows, ["direction", "method", "treatment", "size_bytes", "files"]):
        cells = [int(cell) for cell in part["cell"] if int(cell) in by_cell]
        if not cells:
            continue
        of_cells = pd.concat([by_cell[cell] for cell in cells])
        size = _number(key["size_bytes"])
        subject = (
            f"{key['treatment']}, {_files(str(key['method']), size, int(key['files']))} {key['direction']}"
        )
        steepest = part.loc[part["judged"].fillna(0).astype(float).idxmax()]
        evidence = Evidence(
            subject=subject,
            shares=books.shares(of_cells.to_dict("records")),
            lanes=int(of_cells["lanes"].max()),
            rate_bits_per_second=float(part["rate_bits_per_second"].median()),
            cpu_idle_share=_mean(idle, cells),
            cpu_share_of_one_core=_number(part["cpu_share_of_one_core"].median()),
            refused_share=float(part["refused"].sum() / max(part["attempts"].sum(), 1)),
            answer_ns=_number(part["answer_ns"].min()),
            is_of_empty_request=bool(part["is_of_empty_request"].fillna(False).all()),
            took_ns=_number(part["took_ns"].median()),
            commit_ns=_number(part["commit_ns"].median()),
            usual_bytes=_number(part["usual_bytes"].median()),
            slope=_number(steepest["slope"]),
            spread=_number(steepest["spread"]) or 1.0,
            judged=int(_number(steepest["judged"]) or 0),
            ceiling_share=None if (_mean(least, cells) or 0.0) > 1 else _mean(ceiling, cells),
            ceiling_wrong=_mean(ceiling, cells) if (_mean(least, cells) or 0.0) > 1 else None,
            checksum=str(part["checksum"].iloc[0]),
            phases=phases_of(over_time, cells),
            direction=str(key["direction"]),
            commits_share=float(part["commits"].sum() / max(part["attempts"].sum(), 1)),
        )
        whole = None if size is None else int(size)
        found.append(
            Subject(
                str(key["treatment"]),
                str(key["method"]),
                str(key["direction"]),
                whole,
                int(part["bytes"].sum()),
                tuple(cells),
                evidence,
            )
        )
    return found


def main_subject(subjects: list[Subject]) -> Subject | None:
    """Return the one that matters most: the adaptive treatment, else the quickest, at its largest size."""
    if not subjects:
        return None
    pool = [one for one in subjects if one.method == "adaptive"] or [
        one for one in subjects if one.method not in ("baseline", "ceiling")
    ]
    return max(
        pool or subjects,
        key=lambda one: (one.moved_bytes / len(one.cells), one.evidence.rate_bits_per_second),
    )


def _files(method: str, size: float | None, count: int) -> str:
    if method == "table-rows":
        return counted(count, "row")
    if size is None:
        return counted(count, "file")
    return round_size(size) if count == 1 else f"{count} files of {round_size(size)}"


def _by_cell(result: Result | None, column: str) -> dict[int, float]:
    if result is None:
        return {}
    return {
        int(cell): float(value)
        for cell, value in zip(result.frame["cell"], result.frame[column], strict=True)
        if pd.notna(value)
    }


def _mean(values: Mapping[int, float], cells: list[int]) -> float | None:
    there = [values[cell] for cell in cells if cell in values]
    return sum(there) / len(there) if there else None


def _number(value: Any) -> float | None:
    if value is None or pd.isna(value):
        return None
    number = float(value)
    return number if math.isfinite(number) else None
