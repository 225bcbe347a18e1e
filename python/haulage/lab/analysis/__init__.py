"""Analyses a run directory: queries, statistics on their rows, a verdict, and findings.

Nothing here moves bytes: the experiments are in :mod:`haulage.lab.experiments`. Names are imported when they
are first used: the processes of the experiments need no statistics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from haulage.lazy import importing

if TYPE_CHECKING:
    from haulage.causes.verdict import Status as Status, Verdict as Verdict
    from haulage.lab.analysis.model import Analysis as Analysis, Finding as Finding, Result as Result
    from haulage.lab.analysis.pipeline import analyse as analyse

__all__ = ["Analysis", "Finding", "Result", "Status", "Verdict", "analyse"]

__getattr__ = importing(
    __name__,
    {
        "haulage.lab.analysis.pipeline": "analyse",
        "haulage.lab.analysis.model": "Analysis Finding Result",
        "haulage.causes.verdict": "Status Verdict",
    },
)
