"""A verdict in sentences: its cause, the shares where causes mix, its phases where the path changed."""

from __future__ import annotations

from haulage.causes.effects import LEVEL
from haulage.causes.verdict import Verdict
from haulage.causes.vocabulary import CAUSES, cause_words
from haulage.words.numbers import format_rate


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
