"""Each series has a colour of its own and its whole name, and writes are not drawn as reads."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest

from haulage.lab.report.charts import category_colours, dressed, legend_columns
from haulage.lab.report.palette import distinct
from haulage.lab.report.section import picture
from haulage.lab.topics.crossover.chart import crossover
from haulage.lab.topics.sweep.chart import block_sweep

ALIKE = "blocks of a very long name that two treatments share up to their end, "


def latency(names: list[str], directions: list[str]) -> pd.DataFrame:
    rows = [
        (direction, name, size, replicate, size * (number + 1) * 1e3, 1)
        for direction in directions
        for number, name in enumerate(names)
        for size in (1_000, 10_000, 100_000)
        for replicate in range(3)
    ]
    return pd.DataFrame(
        rows, columns=["direction", "treatment", "size_bytes", "replicate", "duration_ns", "n"]
    )


def texts(chart: Any) -> set[str]:
    return set(re.findall(r"<text[^>]*>([^<]+)</text>", picture(dressed(chart).to_dict(), "x")))


@pytest.mark.parametrize("n", [1, 10, 14, 60, 300])
def test_no_two_series_share_a_colour(n: int) -> None:
    assert len(set(distinct(n))) == n
    scale = category_colours([str(number) for number in range(n)])["scale"].to_dict()
    assert len(set(scale["range"])) == n


def test_fourteen_names_that_differ_at_their_end_stand_whole_in_the_legend() -> None:
    names = [f"{ALIKE}x{number}" for number in range(14)]
    assert set(names) <= texts(crossover(latency(names, ["up"])))
    assert legend_columns(names) == 1
    assert legend_columns(["a", "b"]) == 6


def test_writes_and_reads_are_a_picture_each() -> None:
    found = texts(crossover(latency(["a", "b"], ["down", "up"])))
    assert {"Writes", "Reads", "duration of a write (ms)", "duration of a read (ms)"} <= found
    only = texts(crossover(latency(["a", "b"], ["down"])))
    assert "duration of a read (ms)" in only
    assert not any("write" in text for text in only)


def improvement() -> pd.DataFrame:
    rows = [
        {
            "direction": direction,
            "size_bytes": size,
            "block_size_bytes": block,
            "treatment": f"blocks {block}",
            "method": "blocks",
            "concurrency": 4,
            "n": 6,
            "times_as_fast": 2.0,
            "mean_times_as_fast": 2.0,
            "sd_times_as_fast": 0.1,
            "duration_saved_share": 0.5,
        }
        for direction in ("down", "up")
        for size in (1_000_000, 2_000_000)
        for block in (65536, 131072)
    ]
    return pd.DataFrame(rows)


def test_blocks_up_and_down_are_pictures_of_their_own() -> None:
    found = texts(block_sweep(improvement()))
    assert {"Improvement in rate by file size, up", "Improvement in rate by file size, down"} <= found


def test_without_intervals_there_is_no_layer_of_them() -> None:
    """Vega complained of an infinite extent in the browser's console."""
    sweep = block_sweep(improvement())
    assert "area" not in {mark["type"] for mark in marks(dressed(sweep).to_dict())}


def marks(spec: Any) -> list[dict[str, Any]]:
    if isinstance(spec, list):
        return [mark for part in spec for mark in marks(part)]
    if not isinstance(spec, dict):
        return []
    own = [spec["mark"]] if isinstance(spec.get("mark"), dict) else []
    return own + [mark for part in spec.values() for mark in marks(part)]
