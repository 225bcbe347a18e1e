"""From a run directory to an analysis: queries, statistics on their rows, a verdict, findings."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path

from haulage.lab.analysis import evidence, ledger, over_time, sweeps, tables
from haulage.lab.analysis.causes import Effects
from haulage.lab.analysis.findings import findings
from haulage.lab.analysis.model import Analysis, Result, Verdict
from haulage.lab.analysis.query import index_entry, open_run, run
from haulage.lab.analysis.statistics import MARGIN
from haulage.lab.analysis.verdict import decide
from haulage.lab.store import write_whole


def analyse(directory: Path, *, into: Path | None = None) -> Analysis:
    """Run every query that applies to a run, and what statistics make of their rows.

    Writes ``results/NAME.parquet`` for each and ``results/index.json``. Where the run holds
    ``confirmations.json`` (see :mod:`~haulage.lab.analysis.confirm`), the verdict is made from it too.

    Args:
        directory: Of the run; it may have been stopped half-way.
        into: Where the results go; default ``results`` in the run directory.

    Raises:
        NotFoundError: The directory holds no run.
        IntegrityError: The ledger does not close.
        UsageError: A file of the run is damaged.
    """
    files = open_run(directory)
    folder = into or directory / "results"
    entries = []
    results: dict[str, Result] = {}
    for result, seconds in run(files, into=folder):
        results[result.name] = result
        entries.append(index_entry(result, seconds))
    if "ledger" in results:
        ledger.check(results["ledger"].frame)
    began = time.monotonic()
    stated = tables.with_margin(margin_of(directory))
    for made in tables.make_all(results, [*stated, *over_time.TABLES, *sweeps.TABLES], folder):
        results[made.name] = made
        entries.append(index_entry(made, time.monotonic() - began))
        began = time.monotonic()
    write_whole(folder / "index.json", json.dumps(entries, indent=1) + "\n")
    subjects = evidence.gather(results)
    effects = _effects(directory)
    verdicts = [decide(one.evidence) for one in subjects]
    main = evidence.main_subject(subjects)
    verdict = _nothing() if main is None else decide(main.evidence, effects)
    return Analysis(directory, results, verdict, findings(files.plan, results), verdicts)


def margin_of(directory: Path) -> float:
    """Return the share by which rates of equivalent things may differ, as the plan of a run states it."""
    path = directory / "plan.toml"
    plan = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return float(plan.get("margin", MARGIN))


def _effects(directory: Path) -> Effects | None:
    path = directory / "confirmations.json"
    if not path.is_file():
        return None
    values = json.loads(path.read_text(encoding="utf-8"))
    return Effects(**values["effects"] | {"made": tuple(values["effects"].get("made", ()))})


def _nothing() -> Verdict:
    return Verdict(
        "undetermined",
        "undetermined",
        ["No treatment of this run was recorded and ended well."],
        "needs the engine's record of attempts",
        "Run a plan with an arm of the engine.",
    )
