"""What is said of changes while the run went on."""

from __future__ import annotations

from collections.abc import Iterator

from haulage.lab.analysis.cards import Results, card, number, table
from haulage.lab.analysis.model import Finding
from haulage.words.numbers import digits, format_rate


def steady(results: Results) -> Iterator[Finding]:
    """Say whether the path stayed the same during the run."""
    rows = table(results, "run_order")
    if rows.empty:
        return
    says, n = str(rows["says"].iloc[0]), len(rows)
    steps = rows[rows["is_step"]]
    if says == "steady":
        sentence = f"No step and no drift of the path was found over {n} cells."
    else:
        words = [
            f"at cell {int(row['cell'])} by a factor of {digits(row['factor'])}"
            for _, row in steps.iterrows()
        ]
        drift = "" if says == "step" else f" a drift of {float(rows['drift_share'].iloc[0]):+.0%}"
        sentence = f"The path changed during the run ({says}): {', '.join(words)}{drift}."
    wider = float(rows["median_intervals_widened"].iloc[0])
    if wider > 1:
        p = float(rows["replicates_alike_p"].iloc[0])
        alike = "are" if rows["replicates_alike_is_shown"].iloc[0] else "may be"
        sentence += (
            f" Replicates {alike} alike from one to the next (p = {p:.2g}), so intervals of medians were made"
            f" {wider:.2g} times as wide; ratios within a run are not affected."
        )
    yield card("Path over time", sentence, float(len(steps)), "steps", n, "run_order")


def fault(results: Results) -> Iterator[Finding]:
    """Say whether the rate stepped or drifted, and when."""
    for _, row in table(results, "changes").iterrows():
        if row["says"] in ("n too small", "steady"):
            continue
        who = row["treatment"] + (f", replicate {int(row['replicate'])}" if row["replicate"] >= 0 else "")
        if row["step"] > 0:
            at, low, high = int(row["transfer"]), int(row["earliest"]), int(row["latest"])
            before, after = float(row["before_bits_per_second"]), float(row["after_bits_per_second"])
            fell = after < before
            factor, how = (before / after, "slower") if fell else (after / before, "faster")
            kind = "a fault and not a slow decline" if fell else "not a slow rise"
            drift = number(row["drift_share"]) if row["says"] == "step and drift" else None
            besides = (
                f" No drift was found, so this is {kind}."
                if drift is None
                else f" It also drifted by {drift:+.0%} over the run."
            )
            sentence = (
                f"{who}: a step at transfer {at + 1} of {int(row['n'])}: from {format_rate(before)} to"
                f" {format_rate(after)}, {digits(factor)} times {how}.{besides}"
            )
            if low < high:
                sentence += f" It may be anywhere from transfer {low + 1} to {high + 1}."
            # The range is of whole transfers, and holds the date at least as often as an interval would.
            yield card("Fault" if fell else "Rise", sentence, at + 1, "transfer", int(row["n"]), "changes")
        else:
            share = float(row["drift_share"])
            sentence = (
                f"{who}: the rate drifted by {share:+.0%} over {int(row['n'])} transfers, without a step."
            )
            yield card("Drift", sentence, share, "share", int(row["n"]), "changes")
