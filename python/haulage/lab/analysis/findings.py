"""The cards: what each plan was made to find, as a sentence with its number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.model import Finding, Result
from haulage.lab.analysis.tables import groups
from haulage.lab.analysis.words import rate_words, size_words

Results = Mapping[str, Result]


def findings(plan: str, results: Results) -> list[Finding]:
    """Return the cards of a run, those of its plan first."""
    order = [*OF_PLAN.get(plan, ()), *ALWAYS]
    made: list[Finding] = []
    for maker in order:
        made += [card for card in maker(results) if card.sentence not in {old.sentence for old in made}]
    return made


def _rows(results: Results, name: str) -> pd.DataFrame:
    return results[name].frame if name in results else pd.DataFrame()


def _value(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)


def _bounded(low: Any, high: Any, show: Callable[[float], str]) -> str:
    first, last = _value(low), _value(high)
    return "" if first is None or last is None else f" ({show(first)} to {show(last)})"


def _times(value: float) -> str:
    return f"{value:.3g}"


def _card(
    row: pd.Series, title: str, sentence: str, unit: str, query: str, columns: tuple[str, str, str]
) -> Finding:
    value, low, high = (_value(row[name]) for name in columns)
    level = _value(row.get("level")) or st.LEVEL
    return Finding(title, sentence, value, unit, low, high, int(row["n"]), level, query)


def speed_up(results: Results) -> Iterator[Finding]:
    """How much faster the adaptive arm, or else the best blocks, are at the size where they gain most."""
    rows = _rows(results, "comparisons")
    if rows.empty:
        return
    rows = rows[~rows["is_again"] & rows["times_as_fast"].notna()]
    adaptive = rows[rows["treatment"].str.startswith("adaptive")]
    pool = adaptive if len(adaptive) else rows
    if pool.empty:
        return
    largest = pool.loc[pool["size_bytes"].fillna(0).astype(float).idxmax()]
    shown = rows[rows["says"] == "different"]
    chosen = [("Speed-up, largest file", largest)]
    if len(shown):
        chosen.append(("Speed-up, most", shown.loc[shown["times_as_fast"].astype(float).idxmax()]))
    for title, row in chosen:
        size, times = _value(row["size_bytes"]), float(row["times_as_fast"])
        bounds = _bounded(row["low"], row["high"], _times)
        of = "the files" if size is None else f"{size_words(size)}"
        sentence = f"{row['treatment']} moves {of} {times:.3g} times{bounds} as fast as {row['baseline']}."
        if row["says"] == "equivalent":
            sentence += " That is no difference."
        elif row["says"] != "different":
            sentence += f" Not shown: n = {int(row['n'])}."
        yield _card(row, title, sentence, "times", "comparisons", ("times_as_fast", "low", "high"))


def block_size(results: Results) -> Iterator[Finding]:
    """Say which block size to take, by file size."""
    rows = _rows(results, "block_sizes")
    for _, row in rows.iterrows():
        size, best = float(row["size_bytes"]), float(row["recommended_block_bytes"])
        region = ""
        if row["flat_high_bytes"] > row["flat_low_bytes"]:
            region = f" (as good: up to {size_words(row['flat_high_bytes'])})"
        times = _value(row["times_as_fast"])
        if times is not None and times < 1.05 and (_value(row["low"]) or 0) <= 1.05:
            sentence = (
                f"Files of {size_words(size)} gain nothing from blocks ({times:.3g} times the baseline)."
            )
            value: float | None = None
        else:
            gain = (
                ""
                if times is None
                else f"; {times:.3g}{_bounded(row['low'], row['high'], _times)} times the baseline"
            )
            sentence = f"Files of {size_words(size)}: take blocks of {size_words(best)}{region}{gain}."
            value = best
        level = _value(row["level"]) or st.LEVEL
        low, high = (float(row["flat_low_bytes"]), float(row["flat_high_bytes"])) if value else (None, None)
        yield Finding(
            f"Blocks for {size_words(size)}",
            sentence,
            value,
            "bytes",
            low,
            high,
            int(row["n"]),
            level,
            "block_sizes",
        )


def fault(results: Results) -> Iterator[Finding]:
    """Whether the rate stepped or drifted, and when."""
    for _, row in _rows(results, "changes").iterrows():
        if row["says"] in ("n too small", "steady"):
            continue
        who = row["treatment"] + (f", replicate {int(row['replicate'])}" if row["replicate"] >= 0 else "")
        if row["step"] > 0:
            at, low, high = int(row["transfer"]), int(row["earliest"]), int(row["latest"])
            before, after = float(row["before_bits_per_second"]), float(row["after_bits_per_second"])
            factor = before / after if after < before else after / before
            how = "slower" if after < before else "faster"
            drift = _value(row["drift_share"]) if row["says"] == "step and drift" else None
            besides = (
                " The rate did not drift besides, so this is a fault and no slow decline."
                if drift is None
                else f" Besides, it drifted by {drift:+.0%} over the run."
            )
            sentence = (
                f"{who}: a step at transfer {at + 1} of {int(row['n'])}: from {rate_words(before)} to"
                f" {rate_words(after)}, {factor:.3g} times {how}.{besides}"
            )
            yield Finding(
                "Fault", sentence, at + 1, "transfer", low + 1, high + 1, int(row["n"]), st.LEVEL, "changes"
            )
        else:
            share = float(row["drift_share"])
            sentence = (
                f"{who}: the rate drifted by {share:+.0%} over {int(row['n'])} transfers, without a step."
            )
            yield Finding("Drift", sentence, share, "share", None, None, int(row["n"]), st.LEVEL, "changes")


def steady(results: Results) -> Iterator[Finding]:
    """Whether the path stayed the same while the run went on."""
    rows = _rows(results, "run_order")
    if rows.empty:
        return
    says, n = str(rows["says"].iloc[0]), len(rows)
    steps = rows[rows["is_step"]]
    if says == "steady":
        sentence = f"The path stayed the same: no step and no drift over {n} cells."
    else:
        words = [
            f"at cell {int(row['cell'])} by a factor of {row['factor']:.3g}" for _, row in steps.iterrows()
        ]
        drift = "" if says == "step" else f" a drift of {float(rows['drift_share'].iloc[0]):+.0%}"
        sentence = f"The path changed while the run went on ({says}): {', '.join(words)}{drift}."
    yield Finding(
        "Path over time", sentence, float(len(steps)), "steps", None, None, n, st.LEVEL, "run_order"
    )


def sub_file(results: Results) -> Iterator[Finding]:
    """Whether downloads in pieces win or lose, and what reassembly costs."""
    phases = _rows(results, "phases_of_cells")
    for _, row in phases.iterrows():
        share = _value(row["reassembly_share"])
        if share is None:
            continue
        sentence = (
            f"{row['treatment']}, {size_words(row['size_bytes'])}: putting the pieces together took"
            f" {share:.0%} of the time, the network {1 - share:.0%}."
        )
        yield Finding(
            "Reassembly", sentence, share, "share", None, None, int(row["n"]), st.LEVEL, "phases_of_cells"
        )
    rows = _rows(results, "comparisons")
    if rows.empty:
        return
    kinds = {"ranges": "Pieces of a file", "whole-files": "Several whole files", "blocks": "Blocks"}
    for method, title in kinds.items():
        chosen = rows[(rows["method"] == method) & rows["times_as_fast"].notna()]
        for _, row in chosen.iterrows():
            times, bounds = float(row["times_as_fast"]), _bounded(row["low"], row["high"], _times)
            verb = {"different": "win" if times > 1 else "lose", "equivalent": "neither win nor lose"}.get(
                row["says"], "may win or lose"
            )
            where = f" ({row['direction']}{', ' + row['node'] if row['node'] else ''})"
            sentence = (
                f"{title} {verb}: {row['treatment']}{where} has {times:.3g}{bounds} times the rate of"
                f" {row['baseline']}."
            )
            yield _card(row, title, sentence, "times", "comparisons", ("times_as_fast", "low", "high"))


def per_file(results: Results) -> Iterator[Finding]:
    """How much slower each file is when several travel at once."""
    rows = _rows(results, "rate_by_transfer")
    if rows.empty:
        return
    well = rows[rows["outcome"].isin(["ok", "copied"])]
    for key, part in groups(well, ["direction", "size_bytes"]):
        base = part[(part["method"] == "baseline") & ~part["treatment"].str.contains("-again")]
        for treatment, several in part[part["method"] == "whole-files"].groupby("treatment"):
            if base.empty:
                continue
            a = base.groupby("replicate")["rate_bits_per_second"].median()
            b = several.groupby("replicate")["rate_bits_per_second"].median()
            both = pd.concat([a, b], axis=1, join="inner").to_numpy(dtype=float)
            found = st.compare(both[:, 0], both[:, 1]).ratio
            if found.value is None:
                continue
            bounds = _bounded(found.low, found.high, _times)
            slower = 1 - found.value
            says = "as fast as alone" if abs(slower) < 0.02 else f"{abs(slower):.0%} "
            says += "" if abs(slower) < 0.02 else ("slower" if slower > 0 else "faster")
            sentence = (
                f"{treatment} ({key['direction']}): a file has {found.value:.3g}{bounds} times the rate"
                f" that it has alone: {says}."
            )
            yield Finding(
                "Each file",
                sentence,
                found.value,
                "times",
                found.low,
                found.high,
                found.n,
                found.level,
                "rate_by_transfer",
            )


def crossing(results: Results) -> Iterator[Finding]:
    """From which size on blocks beat one request."""
    rows = _rows(results, "crossovers")
    if rows.empty:
        return
    for direction, part in rows.groupby("direction"):
        singles = part[part["smaller_method"].isin(("single-put", "baseline"))]
        for method in ("blocks", "stream"):
            others = singles[singles["larger_method"] == method]
            if others.empty:
                continue
            # The plainest of each kind, by its name; the others stand in the table.
            row = others.loc[(others["smaller_favours"] + others["larger_favours"]).str.len().idxmin()]
            value = _value(row["crossover_bytes"])
            first, second = row["smaller_favours"], row["larger_favours"]
            if value is None:
                ahead, behind = (second, first) if row["ratio_at_smallest"] > 1 else (first, second)
                sentence = (
                    f"{ahead} is quicker than {behind} at every size ({direction}), from"
                    f" {size_words(row['smallest_bytes'])} to {size_words(row['largest_bytes'])}."
                )
            else:
                bounds = _bounded(row["low_bytes"], row["high_bytes"], size_words)
                sentence = (
                    f"{first} is quicker up to {size_words(value)}{bounds}, {second} above ({direction})."
                )
            yield _card(
                row,
                "Crossover",
                sentence,
                "bytes",
                "crossovers",
                ("crossover_bytes", "low_bytes", "high_bytes"),
            )


def knee(results: Results) -> Iterator[Finding]:
    """From how many requests in flight more give nothing."""
    for _, row in _rows(results, "knees").iterrows():
        at, rate = int(row["knee"]), _value(row["rate_bits_per_second"])
        what = f"{row['method']}" + (
            "" if pd.isna(row["size_bytes"]) else f", {size_words(row['size_bytes'])}"
        )
        best = "" if rate is None else f" The best is {rate_words(rate)} at {int(row['best'])}."
        if bool(row["is_bounded"]):
            sentence = f"{what} {row['direction']}: {at} in flight are enough; more give less than 5 %.{best}"
        else:
            sentence = (
                f"{what} {row['direction']}: the rate still rises at {int(row['most'])} in flight.{best}"
            )
        yield Finding(
            "Knee", sentence, float(at), "requests in flight", None, None, int(row["n"]), st.LEVEL, "knees"
        )


def ceiling(results: Results) -> Iterator[Finding]:
    """Which share of the ceiling the best treatment used."""
    rows = _rows(results, "efficiency")
    if rows.empty:
        return
    for direction, part in rows.groupby("direction"):
        like = part.groupby(["treatment", "size_bytes"], dropna=False)["efficiency_share"].median()
        treatment, size = like.idxmax()
        same = part["size_bytes"].isna() if pd.isna(size) else part["size_bytes"] == size
        found = st.median_interval(
            part[(part["treatment"] == treatment) & same]["efficiency_share"].to_numpy(float)
        )
        if found.value is None:
            continue
        of = "" if pd.isna(size) else f", {size_words(float(size))},"
        top = float(part["ceiling_bits_per_second"].median())
        bounds = _bounded(found.low, found.high, lambda v: f"{v:.0%}")
        sentence = (
            f"{treatment}{of} used {found.value:.0%}{bounds} of the ceiling of {rate_words(top)} {direction}."
        )
        yield Finding(
            "Ceiling",
            sentence,
            found.value,
            "share",
            found.low,
            found.high,
            found.n,
            found.level,
            "efficiency",
        )


def a_a(results: Results) -> Iterator[Finding]:
    """Whether the baseline differs from itself."""
    rows = _rows(results, "comparisons")
    again = rows[rows["is_again"]] if len(rows) else rows
    if again.empty:
        return
    wrong = int((again["says"] == "different").sum())
    band = again["band_log_ratio"].max()
    reach = "" if pd.isna(band) else f" At worst it lies {math.expm1(float(band)):.1%} from itself."
    if wrong:
        sentence = (
            f"The baseline differs from itself at {wrong} of {len(again)} sizes: distrust small differences."
        )
    else:
        sentence = f"The baseline does not differ from itself (A/A, {len(again)} sizes).{reach}"
    yield Finding(
        "A/A",
        sentence,
        None if pd.isna(band) else float(band),
        "log ratio",
        None,
        None,
        int(again["n"].sum()),
        st.LEVEL,
        "comparisons",
    )


def odd_cells(results: Results) -> Iterator[Finding]:
    """How many cells lie far out, with and without them."""
    rows = _rows(results, "outlier_cells")
    if rows.empty:
        return
    worst = rows.loc[rows["modified_z"].abs().idxmax()]
    times = float(worst["wall_ns"]) / float(worst["median_ns"])
    sentence = (
        f"{len(rows)} of the cells lie far out; farthest is cell {int(worst['cell'])} ({worst['treatment']}),"
        f" {times:.3g} times the median of its kind. They stay in every number; rate_intervals shows both."
    )
    yield Finding(
        "Outliers", sentence, float(len(rows)), "cells", None, None, len(rows), st.LEVEL, "outlier_cells"
    )


Maker = Callable[[Results], Iterator[Finding]]
#: What the question of each plan is answered by.
OF_PLAN: dict[str, tuple[Maker, ...]] = {
    "block-upload": (speed_up, block_size),
    "failing-link": (fault, speed_up),
    "node-size": (sub_file, per_file, speed_up),
    "whole-file": (sub_file, per_file, speed_up),
    "small-blob": (crossing, speed_up),
    "concurrency": (knee,),
    "ceiling": (ceiling,),
}
#: What every run says, as far as it can.
ALWAYS: tuple[Maker, ...] = (ceiling, a_a, steady, odd_cells)
