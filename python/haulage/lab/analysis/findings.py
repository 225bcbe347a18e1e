"""The cards: what each plan was made to find, as a sentence with its number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from haulage.lab.analysis import (
    collapse,
    formats,
    nodes,
    scaling,
    simulated_nodes,
    statistics as st,
    stragglers,
)
from haulage.lab.analysis.cards import (
    ALWAYS,
    Maker,
    Results,
    as_times,
    bounded,
    card_of,
    card_of_interval,
    ceiling,
    number,
    table,
)
from haulage.lab.analysis.founding import best_on_average
from haulage.lab.analysis.model import Finding
from haulage.lab.analysis.tables import groups
from haulage.words.numbers import digits, format_rate, round_size


def findings(plan: str, results: Results) -> list[Finding]:
    """Return the cards of a run, those of its plan first."""
    # A variant is called after its plan: failing-link-ramp.
    of_plan = next((makers for name, makers in OF_PLAN.items() if plan.startswith(name)), ())
    order = [*of_plan, *ALWAYS]
    made: list[Finding] = []
    for maker in order:
        made += [card for card in maker(results) if card.sentence not in {old.sentence for old in made}]
    return made


def speed_up(results: Results) -> Iterator[Finding]:
    """How much faster the adaptive arm, or else the best blocks, are at the size where they gain most."""
    rows = table(results, "comparisons")
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
        most = shown.loc[shown["times_as_fast"].astype(float).idxmax()].copy()
        # The largest of many is partly luck: its interval has to hold for whichever it would have been.
        most[["low", "high", "level"]] = _of_the_most(results, most, len(rows))
        chosen.append(("Speed-up, most", most))
    for title, row in chosen:
        size, times = number(row["size_bytes"]), float(row["times_as_fast"])
        bounds = bounded(row["low"], row["high"], as_times)
        of = "the files" if size is None else f"{round_size(size)}"
        sentence = (
            f"{row['treatment']} moves {of} {digits(times)} times{bounds} as fast as {row['baseline']}."
        )
        if row["says"] == "equivalent":
            sentence += " The difference does not matter."
        elif row["says"] != "different":
            sentence += f" Not shown: n = {int(row['n'])}{_missed(row)}."
        yield card_of(row, title, sentence, "times", "comparisons", ("times_as_fast", "low", "high"))


def _of_the_most(results: Results, row: pd.Series, asked: int) -> list[float | None]:
    """Return bounds of the largest of several ratios, and their level."""
    pairs = table(results, "paired")
    same = pd.Series(True, index=pairs.index)
    for name in ("direction", "node", "size_bytes", "files", "treatment"):
        missing = pd.isna(row[name])
        same &= pairs[name].isna() if missing else pairs[name] == row[name]
    logs = pairs.loc[same, "log_ratio"].to_numpy(dtype=float) if len(pairs) else []
    plain = st.Interval(
        float(row["times_as_fast"]), number(row["low"]), number(row["high"]), len(logs), st.LEVEL, ""
    )
    found = st.of_the_best(plain, logs, asked)
    return [found.low, found.high, found.level]


def _missed(row: pd.Series) -> str:
    """Say which difference such a design would not have found either."""
    share = number(row.get("missed_share"))
    return "" if share is None else f", and less than {share:.0%} would be missed half the time"


def block_size(results: Results) -> Iterator[Finding]:
    """Say which block size to take, by file size."""
    rows = table(results, "block_sizes")
    if len(rows):
        # Of the engine's own blocks where they were run, else of those of 2010.
        rows = rows.sort_values("method", kind="stable").drop_duplicates(["direction", "node", "size_bytes"])
        rows = rows.sort_values("size_bytes", kind="stable")
    for _, row in rows.iterrows():
        size, best = float(row["size_bytes"]), float(row["recommended_block_bytes"])
        region = ""
        if row["flat_high_bytes"] > row["flat_low_bytes"]:
            region = f" (as good: up to {round_size(row['flat_high_bytes'])})"
        times = number(row["times_as_fast"])
        if times is not None and times < 1.05 and (number(row["low"]) or 0) <= 1.05:
            sentence = (
                f"Files of {round_size(size)} gain nothing from blocks ({digits(times)} times the baseline)."
            )
            value: float | None = None
        else:
            gain = (
                ""
                if times is None
                else f"; {digits(times)}{bounded(row['low'], row['high'], as_times)} times the baseline"
            )
            sentence = f"Files of {round_size(size)}: use blocks of {round_size(best)}{region}{gain}."
            value = best
        # The flat region is no interval: it says which levels were as good, not where the best one lies.
        yield Finding(
            f"Blocks for {round_size(size)}",
            sentence,
            value,
            "bytes",
            None,
            None,
            int(row["n"]),
            st.LEVEL,
            "block_sizes",
            "no gain",
        )


def fault(results: Results) -> Iterator[Finding]:
    """Whether the rate stepped or drifted, and when."""
    for _, row in table(results, "changes").iterrows():
        if row["says"] in ("n too small", "steady"):
            continue
        who = row["treatment"] + (f", replicate {int(row['replicate'])}" if row["replicate"] >= 0 else "")
        if row["step"] > 0:
            at, low, high = int(row["transfer"]), int(row["earliest"]), int(row["latest"])
            before, after = float(row["before_bits_per_second"]), float(row["after_bits_per_second"])
            factor = before / after if after < before else after / before
            factor_down = after < before
            how = "slower" if factor_down else "faster"
            kind = "a fault and not a slow decline" if factor_down else "not a slow rise"
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
            title = "Fault" if factor_down else "Rise"
            # The range is of whole transfers, and holds the date at least as often as an interval would.
            yield Finding(title, sentence, at + 1, "transfer", None, None, int(row["n"]), st.LEVEL, "changes")
        else:
            share = float(row["drift_share"])
            sentence = (
                f"{who}: the rate drifted by {share:+.0%} over {int(row['n'])} transfers, without a step."
            )
            yield Finding("Drift", sentence, share, "share", None, None, int(row["n"]), st.LEVEL, "changes")


def sub_file(results: Results) -> Iterator[Finding]:
    """Whether downloads in pieces win or lose, and what reassembly costs."""
    phases = table(results, "phases_of_cells")
    for _, row in phases.iterrows():
        share = number(row["reassembly_share"])
        if share is None:
            continue
        sentence = (
            f"{row['treatment']}, {round_size(row['size_bytes'])}: joining the pieces took"
            f" {share:.0%} of the time, the network {1 - share:.0%}."
        )
        yield Finding(
            "Reassembly", sentence, share, "share", None, None, int(row["n"]), st.LEVEL, "phases_of_cells"
        )
    rows = table(results, "comparisons")
    if rows.empty:
        return
    kinds = {"ranges": "Pieces of a file", "whole-files": "Several whole files", "blocks": "Blocks"}
    for method, title in kinds.items():
        chosen = rows[(rows["method"] == method) & rows["times_as_fast"].notna()]
        for _, row in chosen.iterrows():
            times, bounds = float(row["times_as_fast"]), bounded(row["low"], row["high"], as_times)
            verb = {"different": "win" if times > 1 else "lose", "equivalent": "neither win nor lose"}.get(
                row["says"], "may win or lose"
            )
            where = f" ({row['direction']}{', ' + row['node'] if row['node'] else ''})"
            sentence = (
                f"{title} {verb}: {row['treatment']}{where} has {digits(times)}{bounds} times the rate of"
                f" {row['baseline']}."
            )
            yield card_of(row, title, sentence, "times", "comparisons", ("times_as_fast", "low", "high"))


def whole_or_pieces(results: Results) -> Iterator[Finding]:
    """Whether several whole files at once beat files one by one in pieces, replicate by replicate."""
    rows = table(results, "paired")
    if rows.empty:
        return
    for key, part in groups(rows, ["direction", "node", "size_bytes"]):
        rates = part.pivot_table(
            index="replicate", columns=["method", "treatment"], values="rate_bits_per_second", observed=True
        )
        if not {"whole-files", "ranges"} <= set(rates.columns.get_level_values(0)):
            continue
        whole, pieces = (
            rates[method][rates[method].median().idxmax()] for method in ("whole-files", "ranges")
        )
        both = pd.concat([pieces, whole], axis=1, join="inner").to_numpy(dtype=float)
        ratio = st.compare(both[:, 0], both[:, 1]).ratio
        # Both are the best of their kind: any of the pairs could have been shown.
        asked = math.prod(rates[method].shape[1] for method in ("whole-files", "ranges"))
        found = st.of_the_best(ratio, np.log(both[:, 1] / both[:, 0]), asked)
        if found.value is None:
            continue
        bounds = bounded(found.low, found.high, as_times)
        sentence = (
            f"{whole.name} moves files of {round_size(key['size_bytes'])} {digits(found.value)} times{bounds}"
            f" as fast as {pieces.name} ({key['direction']})."
        )
        yield card_of_interval(found, "Whole files or pieces", sentence, "times", "paired")


def per_file(results: Results) -> Iterator[Finding]:
    """How much slower each file is when several travel at once."""
    rows = table(results, "rate_by_transfer")
    if rows.empty:
        return
    well = rows[rows["outcome"].isin(["ok", "copied"])]
    for key, part in groups(well, ["direction", "node", "size_bytes"]):
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
            bounds = bounded(found.low, found.high, as_times)
            slower = 1 - found.value
            says = "as fast as alone" if abs(slower) < 0.02 else f"{abs(slower):.0%} "
            says += "" if abs(slower) < 0.02 else ("slower" if slower > 0 else "faster")
            sentence = (
                f"{treatment} ({key['direction']}): a file has {digits(found.value)}{bounds} times the rate"
                f" that it has alone: {says}."
            )
            yield card_of_interval(found, "Each file", sentence, "times", "rate_by_transfer")


def crossing(results: Results) -> Iterator[Finding]:
    """From which size on blocks beat one request."""
    rows = table(results, "crossovers")
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
            same = others[
                others["smaller_favours"].isin((row["smaller_favours"], row["larger_favours"]))
                & others["larger_favours"].isin((row["smaller_favours"], row["larger_favours"]))
            ]
            for _, one in same.iterrows():
                card = card_of(
                    one,
                    "Crossover",
                    _crossing_words(one, str(direction)),
                    "bytes",
                    "crossovers",
                    ("crossover_bytes", "low_bytes", "high_bytes"),
                )
                yield replace(card, no_value="none found")


def _crossing_words(row: pd.Series, direction: str) -> str:
    value, first, second = number(row["crossover_bytes"]), row["smaller_favours"], row["larger_favours"]
    if value is not None:
        bounds = bounded(row["low_bytes"], row["high_bytes"], round_size)
        return f"{first} is quicker up to {round_size(value)}{bounds}, {second} above ({direction})."
    clear, sizes = int(row["clear_sizes"]), int(row["sizes"])
    if not clear:
        return f"No difference between {first} and {second} was shown at any of {sizes} sizes ({direction})."
    start = f"{second} is quicker than {first}"
    if clear == sizes:
        ends = round_size(row["smallest_bytes"]), round_size(row["largest_bytes"])
        return f"{start} at every size ({direction}), from {ends[0]} to {ends[1]}."
    ends = round_size(row["first_clear_bytes"]), round_size(row["last_clear_bytes"])
    where = f"at {ends[0]}" if ends[0] == ends[1] else f"from {ends[0]} to {ends[1]}"
    beyond = [
        f"{word} {end}"
        for word, end, open_end in (
            ("below", ends[0], row["first_clear_bytes"] > row["smallest_bytes"]),
            ("above", ends[1], row["last_clear_bytes"] < row["largest_bytes"]),
        )
        if open_end
    ]
    more = f"; {' and '.join(beyond)} no winner was shown, so they may change places there" if beyond else ""
    return f"{start} {where} ({direction}){more}."


def knee(results: Results) -> Iterator[Finding]:
    """From how many requests in flight more give nothing."""
    rows = table(results, "knees")
    several = len(rows) > 0 and rows["direction"].nunique() > 1
    for _, row in rows.iterrows():
        title = f"Knee, {row['direction']}" if several else "Knee"
        at, rate = number(row["knee"]), number(row["rate_bits_per_second"])
        low, high = number(row["knee_low"]), number(row["knee_high"])
        what = f"{row['method']}" + (
            "" if pd.isna(row["size_bytes"]) else f", {round_size(row['size_bytes'])}"
        )
        best = "" if rate is None else f" The fastest was {format_rate(rate)} at {int(row['best'])}."
        if at is not None:
            bounds = "" if low == high else f" (knee between {low:.0f} and {high:.0f})"
            sentence = (
                f"{what} {row['direction']}: {at:.0f} in flight are enough{bounds}; more give less than 5 %."
            )
        elif low is None:
            sentence = f"{what} {row['direction']}: the knee is not determined from n = {int(row['n'])}."
        elif low >= row["most"]:
            sentence = f"{what} {row['direction']}: the rate still rises at {int(row['most'])} in flight."
        else:
            sentence = (
                f"{what} {row['direction']}: the knee is not determined; at least {low:.0f} in flight are"
                f" needed, and up to {int(row['most'])} none is shown to be enough."
            )
        yield card_of(
            row, title, sentence + best, "requests in flight", "knees", ("knee", "knee_low", "knee_high")
        )


def carried(results: Results) -> Iterator[Finding]:
    """How much the path carries, from the cells that were made to find out."""
    rows = table(results, "cells_in_order")
    rows = rows[(rows["method"] == "ceiling") & (rows["outcome"] == "ok") & ~rows["warmup"]]
    for direction, part in rows[~rows["treatment"].str.contains("-again")].groupby("direction"):
        by_treatment = part.groupby("treatment")["rate_bits_per_second"]
        best = by_treatment.median().idxmax()
        rates = by_treatment.get_group(best).to_numpy(dtype=float)
        found = st.of_the_best(st.median_interval(rates), np.log(rates), len(by_treatment))
        if found.value is None:
            continue
        bounds = bounded(found.low, found.high, format_rate)
        sentence = f"The path carries {format_rate(found.value)}{bounds} {direction}, with {best}."
        yield card_of_interval(found, "Ceiling", sentence, "bits per second", "cells_in_order")


#: What the question of each plan is answered by.
OF_PLAN: dict[str, tuple[Maker, ...]] = {
    "block-upload": (speed_up, best_on_average, block_size),
    "failing-link": (collapse.fault_of, fault, collapse.fell, collapse.lost, speed_up),
    "node-size": (nodes.larger_node, nodes.network_alone, sub_file, per_file, speed_up),
    "whole-file": (whole_or_pieces, nodes.larger_node, nodes.network_alone, sub_file, per_file, speed_up),
    "small-blob": (crossing, speed_up),
    "concurrency": (knee,),
    "ceiling": (carried, ceiling),
    "table-formats": (formats.cards, formats.widest),
    "scale-out": (
        scaling.missing,
        scaling.together,
        scaling.cap,
        scaling.linear_until,
        stragglers.cards,
        stragglers.alike,
        scaling.starts,
        simulated_nodes.error,
        simulated_nodes.pacing,
    ),
}
