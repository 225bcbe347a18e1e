"""Analyses a run directory: queries, statistics on their rows, a verdict, and findings.

Nothing here moves bytes: the experiments are in :mod:`haulage.lab.experiments`. Names are imported when they
are first used: the processes of the experiments need no statistics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haulage.lab.analysis.model import (
        Analysis as Analysis,
        Finding as Finding,
        Result as Result,
        Status as Status,
        Verdict as Verdict,
    )
    from haulage.lab.analysis.pipeline import analyse as analyse

_HOMES = {
    "analyse": "pipeline",
    **dict.fromkeys(("Analysis", "Finding", "Result", "Status", "Verdict"), "model"),
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'haulage.lab.analysis' has no attribute {name!r}")
    value = getattr(import_module(f"haulage.lab.analysis.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
