"""From a run directory to an analysis: queries, statistics on their rows, a verdict, findings."""

from __future__ import annotations

import json
from pathlib import Path

from haulage.causes.effects import Effects, effects_of
from haulage.causes.rules import decide, nothing_recorded
from haulage.lab.analysis import evidence, ledger, tables
from haulage.lab.analysis.cards import findings
from haulage.lab.analysis.model import Analysis, Result
from haulage.lab.analysis.query import index_entry, open_run, run
from haulage.lab.analysis.statistics import MARGIN
from haulage.lab.store import RunStore, write_whole
from haulage.lab.toml_tables import Table


def analyse(directory: Path, *, into: Path | None = None) -> Analysis:
    """Run every query that applies to a run, and what statistics make of their rows.

    Writes ``results/NAME.parquet`` for each and ``results/index.json``. Where the run holds
    ``confirmations.json`` (see :mod:`~haulage.lab.experiments.confirm`), the verdict is made from it too.

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
    for result, _ in run(files, into=folder):
        results[result.name] = result
        entries.append(index_entry(result))
    if "ledger" in results:
        ledger.check(results["ledger"].frame.to_dict("records"))
    for made in tables.make_all(results, folder, margin_of(directory)):
        results[made.name] = made
        entries.append(index_entry(made))
    write_whole(folder / "index.json", json.dumps(entries, indent=1) + "\n")
    subjects = evidence.gather(results)
    effects = _effects(directory)
    verdicts = [decide(one.evidence) for one in subjects]
    main = evidence.main_subject(subjects)
    verdict = nothing_recorded() if main is None else decide(main.evidence, effects)
    return Analysis(directory, results, verdict, findings(files.plan, results), verdicts)


def margin_of(directory: Path) -> float:
    """Return the share by which rates of equivalent things may differ, as the plan of a run states it."""
    plan = RunStore(directory).plan_values if (directory / "plan.toml").is_file() else {}
    return Table(plan, "plan").share("margin", MARGIN)


def _effects(directory: Path) -> Effects | None:
    path = directory / "confirmations.json"
    if not path.is_file():
        return None
    # The rows are what is kept; effects are made of them each time anew. Older runs kept effects alone.
    return effects_of(json.loads(path.read_text(encoding="utf-8")).get("trials", ()))
