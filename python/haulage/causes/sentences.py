"""What the evidence says, and a verdict on it, in sentences with numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping

from haulage.causes.effects import LEVEL
from haulage.causes.evidence import SLOPE_SPREAD, Evidence
from haulage.causes.verdict import Verdict
from haulage.causes.vocabulary import CAUSES, cause_words
from haulage.words.numbers import format_rate, format_time


def sentences(evidence: Evidence, parts: Mapping[str, float]) -> list[str]:
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
    if parts["commit"] >= 0.1 and evidence.commit_ns:
        said.append(f"A commit took {format_time(evidence.commit_ns)}.")
    return said


def rivals_words(verdict: Verdict) -> list[str]:
    """Return a sentence that lists what else may have been; none where the cause is known."""
    others = [cause_words(cause) for cause in verdict.rivals if cause != verdict.cause]
    if not others:
        return []
    either = " or ".join(filter(None, (", ".join(others[:-1]), others[-1])))
    return [f"It may {'be' if verdict.cause == 'undetermined' else 'also be'} {either}."]


def found_words(verdict: Verdict) -> str:
    """Return the cause of a verdict and how sure that is."""
    if verdict.cause not in CAUSES:
        return cause_words(verdict.cause)
    return f"{cause_words(verdict.cause)}, {verdict.status}"


def shares_words(verdict: Verdict) -> str:
    """Return the shares of a mixed verdict with their bounds; nothing where one cause holds all."""
    if not verdict.shares:
        return ""
    parts = [
        f"{middle:.0%} {cause_words(cause)} ({low:.0%} to {high:.0%})"
        for cause, (middle, low, high) in largest_first(verdict)
    ]
    return f"Of a request's time: {', '.join(parts)}; intervals at {LEVEL:.0%}."


def largest_first(verdict: Verdict) -> list[tuple[str, tuple[float, float, float]]]:
    """Return the shares of a mixed verdict, each with its bounds, the largest first."""
    return sorted(verdict.shares.items(), key=lambda item: -item[1][0])


def phases_words(verdict: Verdict) -> list[str]:
    """Return a sentence for each phase of a path that changed; none where it did not."""
    return [
        f"{phase.during.from_share:.0%} to {phase.during.to_share:.0%} of the time:"
        f" {format_rate(phase.during.rate_bits_per_second)}, {found_words(phase)}."
        for phase in verdict.phases
        if phase.during is not None
    ]


def lines(verdict: Verdict) -> list[str]:
    """Return the verdict for a terminal, a line each for the cause, its shares and its phases."""
    shares = shares_words(verdict)
    return [
        f"{verdict.subject}: {found_words(verdict)}",
        *([f"  {shares}"] if shares else []),
        *(f"  {phase}" for phase in phases_words(verdict)),
    ]
