"""What the evidence says, in sentences with numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping

from haulage.causes.evidence import SLOPE_SPREAD, Evidence
from haulage.words.numbers import format_time


def sentences(evidence: Evidence, scores: Mapping[str, float]) -> list[str]:
    """Say what the record holds, with numbers."""
    held = sorted(evidence.held.items(), key=lambda item: -item[1])
    most = ", ".join(f"{name} {share:.0%}" for name, share in held[:3] if share >= 0.01)
    said = [f"Time in flight: {most or 'none'}."]
    empty = evidence.shares.get("no work", 0.0) + evidence.shares.get("idle", 0.0)
    if empty >= 0.25:
        said.append(f"Slots were empty for {empty:.0%} of the lane time ({evidence.lanes} lanes).")
    if evidence.cpu_idle_share is not None:
        said.append(f"Processors were {1 - evidence.cpu_idle_share:.0%} busy.")
    if evidence.refused_share > 0:
        said.append(f"{evidence.refused_share:.1%} of the requests were refused.")
    if evidence.answer_ns and evidence.took_ns:
        said.append(
            f"A request took {format_time(evidence.took_ns)};"
            f" the quickest answer {format_time(evidence.answer_ns)}."
        )
    if evidence.slope is not None and math.isfinite(evidence.slope) and evidence.spread >= SLOPE_SPREAD:
        said.append(
            f"The rate of a request scales with the number in flight to the power {evidence.slope:.2f},"
            f" n = {evidence.judged}."
        )
    if evidence.ceiling_share is not None:
        said.append(f"{evidence.ceiling_share:.0%} of the measured ceiling.")
    if evidence.ceiling_wrong is not None:
        said.append(
            f"The rate is {evidence.ceiling_wrong:.0%} of the measured ceiling: that measurement is wrong,"
            " and is no evidence here."
        )
    if scores["commit"] >= 0.1 and evidence.commit_ns:
        said.append(f"A commit took {format_time(evidence.commit_ns)}.")
    return said
