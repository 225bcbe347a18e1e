"""The judge gives the verdicts that it gave: on evidence of transfers and of jobs that was kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from haulage.causes.effects import Effect, Effects
from haulage.causes.evidence import Evidence, Phase
from haulage.causes.fit import Fit
from haulage.causes.rules import decide
from haulage.causes.vocabulary import code_of

ROOT = Path(__file__).parents[2]
#: Confirmed by an earlier rule: since then, half of the processors must be as fast (why-not-faster.md).
BY_EARLIER_RULE = {("none", 3)}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_transfers_with_injected_causes_are_judged_as_before() -> None:
    """The matrix of truth, case by case: what was seen in the record, and what the experiments made of it."""
    changed = set()
    for row in rows(ROOT / "benchmarks/results/truth-20261123.jsonl"):
        record, gave = row["record"], row["effects"]
        evidence = Evidence(**record | {"phases": tuple(Phase(**phase) for phase in record["phases"])})
        gave["of"] = {name: Effect(**one) for name, one in gave["of"].items()}
        gave["commit"] = gave["commit"] and Effect(**gave["commit"])
        seen, found = decide(evidence), decide(evidence, Effects(**gave))
        assert seen.status != "confirmed"
        # Busy processors were named on a path of which the record does not tell whether it was full.
        was = "undetermined" if row["seen"] == "cpu" else row["seen"]
        if (seen.cause, found.cause, found.status) != (was, row["named"], row["status"]):
            changed.add((row["name"], row["seed"]))
    assert changed == BY_EARLIER_RULE


@pytest.mark.parametrize("kept", rows(Path(__file__).with_name("kept_evidence.jsonl")))
def test_jobs_are_judged_as_before(kept: dict[str, Any]) -> None:
    values = kept["evidence"]
    if "fit" in values:
        values = values | {"fit": Fit(**values["fit"] | {"shown": frozenset(values["fit"]["shown"])})}
    found = decide(Evidence(subject="", **values))
    # Kept under the codes of that time.
    assert (found.cause, found.status) == (code_of(kept["cause"]), kept["status"])
    assert list(found.rivals) == [code_of(name) for name in kept["rivals"]]
