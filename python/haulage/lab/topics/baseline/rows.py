"""The table of each treatment beside the baseline."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import Table, groups


def comparisons(paired: pd.DataFrame, margin: float = st.MARGIN) -> pd.DataFrame:
    """Each treatment against the baseline, corrected for their number, with what would have been missed."""
    rows = []
    shifts: list[st.Interval] = []
    for key, part in groups(paired, ["direction", "node", "size_bytes", "files"]):
        repeated = part[part["is_again"]].groupby("replicate")["rate_bits_per_second"].median()
        for treatment, pairs in part.groupby("treatment", sort=True):
            is_again = bool(pairs["is_again"].iloc[0])
            again = (
                None if is_again or repeated.empty else repeated.reindex(pairs["replicate"]).to_numpy(float)
            )
            a = pairs["baseline_bits_per_second"].to_numpy(dtype=float)
            b = pairs["rate_bits_per_second"].to_numpy(dtype=float)
            found = st.compare(a, b, again)
            ratio, logs = found.ratio, np.log(b / a)
            shifts.append(found.shift)
            rows.append(
                key
                | {
                    "treatment": treatment,
                    "method": pairs["method"].iloc[0],
                    "baseline": pairs["baseline"].iloc[0],
                    "is_again": is_again,
                    "n": ratio.n,
                    "times_as_fast": ratio.value,
                    "low": ratio.low,
                    "high": ratio.high,
                    "level": ratio.level,
                    "p": found.p,
                    "spread_log": float(logs.std(ddof=1)) if len(logs) > 1 else None,
                    "note": ratio.note,
                }
            )
    frame = pd.DataFrame(rows)
    if frame.empty:
        return frame
    # The A/A arm is no question that was asked of the run, so it is not counted among them.
    frame["q"] = frame["p"]
    for asked in (~frame["is_again"], frame["is_again"]):
        frame.loc[asked, "q"] = st.benjamini_hochberg(frame.loc[asked, "p"].tolist())
    own = _own_difference(frame)
    keys = frame[["direction", "node"]].astype(object).apply(tuple, axis=1)
    frame["says"] = [
        st.verdict(shift, q, margin=margin, own=0.0 if is_again else own.get(key, 0.0))
        for shift, q, is_again, key in zip(shifts, frame["q"], frame["is_again"], keys, strict=True)
    ]
    frame["band_log_ratio"] = _bands(frame)
    frame["missed_share"] = _missed(frame)
    return frame


def _own_difference(frame: pd.DataFrame) -> dict[tuple[Any, ...], float]:
    """Return by how much the baseline was shown to differ from itself, where it was."""
    again = frame[frame["is_again"] & frame["low"].notna()]
    shown = again[((again["low"] > 1) | (again["high"] < 1)) & (again["q"] < 0.05)]
    return {
        key: float(np.abs(np.log(part["times_as_fast"].astype(float))).max())
        for key, part in shown.groupby(["direction", "node"], dropna=False)
    }


def _bands(frame: pd.DataFrame) -> list[float | None]:
    """Return how far the baseline may lie from itself: the farther bound of its own interval."""
    keys = ["direction", "node", "size_bytes", "files"]
    far = {}
    for _, row in frame[frame["is_again"] & frame["low"].notna()].iterrows():
        far[str(list(row[keys]))] = max(abs(math.log(row["low"])), abs(math.log(row["high"])))
    return [far.get(str(list(row[keys]))) for _, row in frame.iterrows()]


def _missed(frame: pd.DataFrame) -> list[float | None]:
    """Return the share by which a treatment must be faster to be found half of the time, alone in its run."""
    questions = max(int((~frame["is_again"]).sum()), 1)
    squares = (frame["n"] - 1).clip(lower=0) * frame["spread_log"].fillna(0.0).astype(float) ** 2
    found: list[float | None] = []
    for _, row in frame.iterrows():
        # One spread for all treatments of a size: six pairs alone give it only to within a third.
        like = (frame["size_bytes"] == row["size_bytes"]) & (frame["direction"] == row["direction"])
        freedom = float((frame.loc[like, "n"] - 1).clip(lower=0).sum())
        spread = math.sqrt(float(squares[like].sum()) / freedom) if freedom else 0.0
        again = bool((like & frame["is_again"]).any())
        share = (
            st.detectable(int(row["n"]), spread, questions=questions, again=again) if freedom else math.inf
        )
        found.append(share if math.isfinite(share) else None)
    return found


TABLES = [
    Table(
        "comparisons",
        "paired",
        "Each treatment against the baseline",
        "Which differences are real?",
        "Hodges-Lehmann shift of the paired log ratios, signed-rank interval; exact permutation test within"
        " replicates, in which the baseline's second time takes part; q by Benjamini and Hochberg."
        " Different: the interval leaves out 1, q is below 0.05, and it is more than 1 % and more than the"
        " baseline was shown to differ from itself. Equivalent: the interval lies within the plan's margin"
        " (5 % if it states none), as two one-sided tests ask. missed_share is the difference that would be"
        " missed half the time, were it the only one. The band is the interval of the baseline against"
        " itself (A/A).",
        comparisons,
    ),
]
