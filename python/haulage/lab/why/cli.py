"""The command ``haul why``: one call, render."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from haulage.commands.saying import echo
from haulage.errors import LocalIOError
from haulage.lab.cli.output import STDERR

#: Columns where the output is no terminal.
WIDTH = 110


def why(*, record: str, html: str | None, as_json: bool, quiet: bool, **_: Any) -> None:
    """Say where the time of a job went, what limited it, how sure that is, and what would settle it."""
    from haulage.lab.why.answer import as_dict
    from haulage.lab.why.drawing import page
    from haulage.lab.why.experiment import experiment
    from haulage.lab.why.explaining import explain
    from haulage.lab.why.text import show
    from haulage.lab.why.words import paragraph, title
    from haulage.outputs import check_page

    if html is not None:
        # Before the work, not after it.
        check_page(html, [record])
    found = explain(record)
    if html is not None:
        try:
            Path(html).write_text(page(found), encoding="utf-8")
        except OSError as error:
            hint = "name another file for the page"
            raise LocalIOError("write page", html, error.strerror or str(error), hint) from None
        if not quiet:
            STDERR.print(f"page written: {html}")
    if as_json:
        echo(json.dumps(as_dict(found), ensure_ascii=True))
    elif quiet:
        settle = experiment(found)
        echo(" ".join([f"{title(found.whole, found.phases)}.", *paragraph(found)]))
        if settle is not None:
            echo(f"To settle it: {settle.command}: {settle.outcome}")
    elif html is None:
        console = Console(highlight=False, markup=False)
        # Through a pipe there is no width to keep to but that of a page.
        show(found, console if console.is_terminal else Console(highlight=False, markup=False, width=WIDTH))
