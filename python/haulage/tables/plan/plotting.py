"""How rows spread over partitions, as a picture or a page that needs nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path

from haulage.errors import UsageError, missing_package
from haulage.tables.plan.proposing import Plan
from haulage.tables.plan.words import short
from haulage.words.numbers import counted

_KINDS = (".html", ".png", ".svg")


def plot(plan: Plan, file: Path) -> None:
    """Write bars of the largest partitions of each choice that was measured on all rows.

    Raises:
        UsageError: The name ends in something else than .html, .png or .svg.
        UnsupportedError: Altair is not there.
    """
    if file.suffix not in _KINDS:
        hint = "name a file that ends in .html, .png or .svg"
        raise UsageError("plot", str(file), "the format to write is unknown", hint)
    try:
        import altair
    except ModuleNotFoundError as error:
        raise missing_package("plot", str(file), error.name, "lab") from None
    charts = []
    for candidate in [one for one in plan.candidates if one.whole][:3]:
        bars = [
            {"partition": short(key), "rows": rows, "rank": rank}
            for rank, (key, rows) in enumerate(candidate.spread.bars, 1)
        ]
        chart = altair.Chart({"values": bars}).mark_bar()
        charts.append(
            chart.encode(
                x=altair.X("rows:Q", title="rows"),
                y=altair.Y("partition:N", sort=altair.SortField("rank"), title=None),
                tooltip=["partition:N", "rows:Q"],
            ).properties(
                title=[
                    f"{candidate.keys.partition} / {candidate.keys.row}",
                    f"the largest {len(bars)} of {counted(candidate.spread.partitions, 'partition')}",
                ]
            )
        )
    made = altair.hconcat(*charts)
    if file.suffix == ".html":
        made.save(str(file), inline=True)
    else:
        made.save(str(file))
