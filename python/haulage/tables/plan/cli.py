"""The command ``haul table plan``: propose, render."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from haulage.commands.interrupts import interrupted_by_term
from haulage.commands.saying import echo
from haulage.errors import UsageError

#: Columns of what is printed where it goes to no terminal.
_WIDTH = 120


def plan(
    *,
    files: tuple[str, ...],
    queries: tuple[str, ...],
    table: str,
    partition_key: str | None,
    row_key: str | None,
    top: int,
    sample: int,
    draws: int,
    seed: int,
    memory: str,
    plot_file: str | None,
    as_json: bool,
    **_: Any,
) -> int:
    """Propose PartitionKey and RowKey for the rows of Parquet, CSV or JSON lines, and say what they cost."""
    from haulage.tables.plan import rendering
    from haulage.tables.plan.plotting import plot
    from haulage.tables.plan.proposing import propose

    if (partition_key is None) != (row_key is None):
        hint = "name both --partition-key and --row-key, or neither"
        raise UsageError("parse", "arguments", "one key without the other", hint)
    keys = None if partition_key is None or row_key is None else (partition_key, row_key)
    with interrupted_by_term():
        found = propose(
            files[0] if len(files) == 1 else files,
            queries,
            keys=keys,
            top=top,
            sample_rows=sample,
            draws=draws,
            seed=seed,
            memory=memory,
        )
    if plot_file is not None:
        plot(found, Path(plot_file))
    if as_json:
        echo(json.dumps(rendering.as_json(found, table=table), ensure_ascii=False, allow_nan=False))
    else:
        console = Console(highlight=False, markup=False, soft_wrap=True)
        if not console.is_terminal:
            console = Console(highlight=False, markup=False, soft_wrap=True, width=_WIDTH)
        rendering.show(found, console, table=table, choices=top)
    return 0 if found.best.spread.unique else 1
