"""Puts two runs side by side: the same treatment and size, as two independent samples."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import duckdb
import numpy as np
import pandas as pd

from haulage.errors import UsageError
from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.pipeline import margin_of
from haulage.lab.analysis.query import no_run
from haulage.lab.analysis.statistics import Floats
from haulage.lab.chain import MANIFEST, require_unchanged
from haulage.lab.report.charts import TIMES
from haulage.lab.store import RunStore, unlike
from haulage.words.numbers import counted, digits, format_rate, round_size

Says: TypeAlias = Literal["faster", "slower", "equal", "undetermined"]

CELLS = "cells.parquet"
#: What is one and the same in both runs.
GROUP = ["direction", "node", "treatment", "size_bytes", "files"]
#: What should be alike where a run is repeated.
ALIKE = ("plan_sha256", "seed", "target", "link", "faults", "versions", "host", "ceiling")
#: The load of a machine, and the measurements that a ceiling was found from.
NEVER_ALIKE = ("load_1min", "rounds")

_CELLS = """
    select direction, coalesce(factors->>'node', '') as node, treatment, files,
        size_bytes::double as size_bytes, replicate, 8e9 * bytes / wall_ns as rate
    from read_parquet(?)
    where not warmup and outcome = 'ok' and bytes > 0 and wall_ns > 0 and method <> 'ceiling'
    order by cell
"""


@dataclass(frozen=True)
class Pair:
    """One treatment at one size in both runs.

    Attributes:
        treatment: Its name.
        direction: ``up`` or ``down``.
        node: The stand-in for a machine it ran on; empty if there is none.
        size_bytes: Of each file; ``None`` where sizes are mixed.
        files: How many.
        n: Replicates of the run that has fewer.
        a_bits_per_second: Median rate in the first run.
        b_bits_per_second: Median rate in the second run.
        ratio: Second over first (Hodges-Lehmann); 1.2 is a fifth faster.
        low: Lower bound of the ratio; ``None`` where ``n`` cannot bound it.
        high: Upper bound.
        level: Of the interval, as achieved.
        q: p of Mann and Whitney's test, corrected for the number of pairs.
        missed: Share by which it would have to differ to be noticed half of the time; ``None`` where no
            difference would be, however large.
        says: The second run is faster, slower, equal, or it cannot be told.
        note: Why it cannot, such as ``n too small``.
    """

    treatment: str
    direction: str
    node: str
    size_bytes: int | None
    files: int
    n: int
    a_bits_per_second: float
    b_bits_per_second: float
    ratio: float
    low: float | None
    high: float | None
    level: float
    q: float
    missed: float | None
    says: Says
    note: str


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        a: Folder of the first run.
        b: Folder of the second.
        pairs: What both have.
        only_a: Treatments and sizes that only the first has.
        only_b: Treatments and sizes that only the second has.
        differences: What the manifests do not have in common, where a repeated run should.
    """

    a: Path
    b: Path
    pairs: list[Pair]
    only_a: list[str]
    only_b: list[str]
    differences: list[str]

    @property
    def frame(self) -> pd.DataFrame:
        """The pairs as a data frame."""
        return pd.DataFrame([vars(pair) for pair in self.pairs], columns=list(Pair.__dataclass_fields__))

    def counts(self) -> dict[Says, int]:
        """Return how many pairs say what."""
        kinds: tuple[Says, ...] = ("faster", "slower", "equal", "undetermined")
        return {kind: sum(pair.says == kind for pair in self.pairs) for kind in kinds}

    def __str__(self) -> str:
        """Return a small table for people."""
        head = ["treatment", "files", self.a.name, self.b.name, "ratio", "interval", "n", self.b.name + " is"]
        lines = [head, *(_line(pair) for pair in self.pairs)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
        text = "\n".join(
            "  ".join(
                word.ljust(width) if column in (0, 1, 7) else word.rjust(width)
                for column, (word, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.counts().items() if count)
        tail = [f"{counted(len(self.pairs), 'pair')}: {kinds or 'none'}.", *self._power()]
        tail += [f"Only in {self.a.name}: {', '.join(self.only_a)}."] if self.only_a else []
        tail += [f"Only in {self.b.name}: {', '.join(self.only_b)}."] if self.only_b else []
        tail += [f"Not alike: {difference}." for difference in self.differences]
        return "\n".join([text, "", *tail])

    def _power(self) -> list[str]:
        n, known = min(pair.n for pair in self.pairs), [pair.missed for pair in self.pairs]
        found = [share for share in known if share is not None]
        with_n = counted(n, "replicate")
        if len(found) < len(known):
            return [f"With {with_n} a single difference could not be shown, however large."]
        return [f"With {with_n} a difference below {max(found):.1%} would be missed half the time."]


def compare(a: Path, b: Path) -> Comparison:
    """Compare the rates of two runs, treatment by treatment and size by size.

    Replicates of two runs are no pairs, whatever their number: nothing was alike between them. So it is the
    test of Mann and Whitney and the shift of Hodges and Lehmann, of the replicates of each run. A treatment
    is faster or slower if its interval leaves out 1, the corrected p is below 0.05 and the ratio is beyond
    1 %; equal if the interval lies within the plan's margin of 1 (5 %); else undetermined.

    Args:
        a: Folder of the first run.
        b: Folder of the second.

    Raises:
        NotFoundError: One of them is no run.
        IntegrityError: A file of one of them is not as it was recorded.
        UsageError: They have no treatment and size in common, or a file is damaged.
    """
    manifests = _manifest(a), _manifest(b)
    first, second = _cells(a), _cells(b)
    both = list(_common(first, second))
    if not both:
        raise UsageError(
            "compare",
            f"{a} and {b}",
            "they have no treatment and size in common",
            "compare two runs of one plan",
        )
    # The stricter of two plans that differ.
    margin = min(margin_of(a), margin_of(b))
    compared = [(key, left, right, st.compare_unpaired(left, right)) for key, left, right in both]
    corrected = st.benjamini_hochberg([found.p for *_, found in compared])
    pairs = [
        _pair(key, left, right, found, q, len(compared), margin)
        for (key, left, right, found), q in zip(compared, corrected, strict=True)
    ]
    return Comparison(a, b, pairs, _only(first, second), _only(second, first), _differences(*manifests))


def _manifest(directory: Path) -> dict[str, Any]:
    """Return the manifest of a run whose cells and plan are as they were recorded."""
    if not (directory / CELLS).is_file():
        # One that was killed has no tables yet.
        manifest = RunStore.open(directory).manifest if (directory / MANIFEST).is_file() else {}
        require_unchanged(directory, manifest, "compare", (CELLS,))
        raise no_run("compare", directory, f"no {CELLS} there")
    manifest = RunStore.open(directory).manifest
    require_unchanged(directory, manifest, "compare", (CELLS, "plan.toml"))
    return manifest


def _cells(directory: Path) -> pd.DataFrame:
    path = directory / CELLS
    try:
        with duckdb.connect() as database:
            frame = database.execute(_CELLS, [str(path)]).df()
    except duckdb.Error as error:
        raise unlike("compare", str(path), error) from error
    # Missing sizes must meet each other.
    return frame.assign(size_bytes=frame["size_bytes"].fillna(-1.0))


def _common(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[tuple[dict[str, Any], Floats, Floats]]:
    """Yield what both runs have, with the rate of each replicate in each of them."""
    order = ["direction", "node", "size_bytes", "files", "treatment"]
    left, right = (
        # Cells of one replicate are alike, so they are one observation.
        frame.groupby([*order, "replicate"])["rate"].median().groupby(level=order)
        for frame in (first, second)
    )
    others = dict(iter(right))
    for values, group in left:
        if values in others:
            rates = group.to_numpy(dtype=float), others[values].to_numpy(dtype=float)
            yield dict(zip(order, values, strict=True)), *rates


def _pair(
    key: dict[str, Any],
    left: Floats,
    right: Floats,
    found: st.Comparison,
    q: float,
    asked: int,
    margin: float,
) -> Pair:
    ratio, n = found.ratio, min(len(left), len(right))
    return Pair(
        treatment=key["treatment"],
        direction=key["direction"],
        node=key["node"],
        size_bytes=int(key["size_bytes"]) if key["size_bytes"] >= 0 else None,
        files=int(key["files"]),
        n=n,
        a_bits_per_second=float(np.median(left)),
        b_bits_per_second=float(np.median(right)),
        ratio=ratio.value if ratio.value is not None else float(np.median(right) / np.median(left)),
        low=ratio.low,
        high=ratio.high,
        level=ratio.level,
        q=q,
        missed=_missed(left, right, asked),
        says=_says(found.shift, q, margin),
        note=ratio.note,
    )


def _missed(left: Floats, right: Floats, asked: int) -> float | None:
    freedom = len(left) + len(right) - 2
    if min(len(left), len(right)) < 2:
        return None
    square = sum(float(((np.log(rates) - np.log(rates).mean()) ** 2).sum()) for rates in (left, right))
    share = st.detectable(
        min(len(left), len(right)), math.sqrt(square / freedom), questions=asked, paired=False
    )
    return share if math.isfinite(share) else None


def _says(shift: st.Interval, q: float, margin: float) -> Says:
    says = st.verdict(shift, q, margin=margin)
    if says == "different" and shift.value is not None:
        return "faster" if shift.value > 0 else "slower"
    return "equal" if says == "equivalent" else "undetermined"


def _line(pair: Pair) -> list[str]:
    bounds = (
        f"{digits(pair.low)} to {digits(pair.high)}"
        if pair.low is not None and pair.high is not None
        else "none"
    )
    node = f" on {pair.node}" if pair.node else ""
    return [
        pair.treatment + node,
        f"{_files(pair.files, pair.size_bytes)} {pair.direction}",
        format_rate(pair.a_bits_per_second),
        format_rate(pair.b_bits_per_second),
        digits(pair.ratio),
        bounds,
        str(pair.n),
        pair.says + (f" ({pair.note})" if pair.note else ""),
    ]


def _files(count: float, size_bytes: float | None) -> str:
    size = round_size(size_bytes) if size_bytes is not None and size_bytes >= 0 else "mixed sizes"
    return f"{count:.0f} {TIMES} {size}"


def _only(these: pd.DataFrame, those: pd.DataFrame) -> list[str]:
    keys = {tuple(row) for row in those[GROUP].drop_duplicates().itertuples(index=False)}
    return [
        f"{row.treatment} {_files(row.files, row.size_bytes)} {row.direction}"
        for row in these[GROUP].drop_duplicates().itertuples(index=False)
        if tuple(row) not in keys
    ]


def _differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    found = []
    for key in ALIKE:
        left, right = first.get(key), second.get(key)
        if isinstance(left, dict) or isinstance(right, dict):
            # What one of them does not have at all differs in each part.
            ours, theirs = (side if isinstance(side, dict) else {} for side in (left, right))
            found += [
                f"{key}.{part}: {_word(ours.get(part))} and {_word(theirs.get(part))}"
                for part in dict.fromkeys([*ours, *theirs])
                if part not in NEVER_ALIKE and _differ(ours.get(part), theirs.get(part))
            ]
        elif left != right:
            found.append(f"{key}: {_word(left)} and {_word(right)}")
    return found


def _word(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _differ(left: object, right: object) -> bool:
    if isinstance(left, (int, float)) and isinstance(right, (int, float)) and left and right:
        return not 0.9 < left / right < 1.1
    return left != right
