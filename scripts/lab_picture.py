"""Draws docs/images/lab.svg from a run of block-upload: scripts/lab_picture.py RUN."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from haulage.lab.analysis import analyse
from haulage.lab.report.charts import dressed
from haulage.lab.topics.sweep.chart import block_sweep

PICTURE = Path(__file__).parent.parent / "docs/images/lab.svg"


def main() -> None:
    """Write the first panel of the chart that the report calls "Block size"."""
    with tempfile.TemporaryDirectory() as folder:
        found = analyse(Path(sys.argv[1]), into=Path(folder)).results
    chart = block_sweep(found["improvement"], found.get("comparisons"), found.get("block_sizes"))
    panel = dressed(chart.vconcat[0].properties(title="", width=720, height=260))
    panel.properties(background="white").save(str(PICTURE))


if __name__ == "__main__":
    main()
