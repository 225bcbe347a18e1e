"""Tables of a link that collapses: the rates before and after, and from which places it was seen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from haulage.lab.analysis import statistics as st
from haulage.lab.analysis.tables import Table, groups

#: A place has failed if its rate fell below this share of what it was.
FELL = 0.67
#: The fewest rates on a side of the step that have a density.
FEWEST = 6
#: This many parts of a job make the level beside a change.
LEVEL_PARTS = 5
#: A level varies by at most this share of the change beside it, on the logarithm.
VARIES = 0.15
#: A level slides by at most this share of the change beside it, on the logarithm.
FLAT = 0.05


def job_changes(parts: pd.DataFrame) -> pd.DataFrame:
    """Find steps and drift in the rate along each job."""
    rows = []
    for key, part in groups(parts, ["direction", "treatment", "files", "replicate"]):
        ordered = part.sort_values(["cell", "part"])
        reach = math.ceil(float((ordered["most_in_flight_bytes"] / ordered["size_bytes"]).max()))
        found = st.change_points(sharpened(ordered["rate_bits_per_second"].to_numpy(dtype=float), reach))
        base = key | {
            "says": found.says,
            "n": found.n,
            "drift_share": None if found.drift is None else found.drift.total,
        }
        steps: list[st.Step | None] = [*found.steps] or [None]
        for number, step in enumerate(steps, 1):
            rows.append(
                base
                | {
                    "step": 0 if step is None else number,
                    "part": None if step is None else step.index,
                    "bytes_before": None
                    if step is None
                    else float(ordered["size_bytes"].iloc[: step.index].sum()),
                    "before_bits_per_second": None if step is None else step.before,
                    "after_bits_per_second": None if step is None else step.after,
                    "factor": None if step is None else step.factor,
                }
            )
    return pd.DataFrame(rows)


def sharpened(rate: st.Floats, reach: int) -> st.Floats:
    """Return rates without the smear that requests leave which were in flight when the link changed.

    Of a request only its beginning and end are known, so a step looks like a slide over the parts that were
    in flight. A part between two levels, as they are beyond that reach on either side, is given the nearer
    one. A slide that is longer has no such levels, and stays one.
    """
    logs, found = np.log(rate), rate.copy()
    for place in range(len(rate)):
        before = logs[max(0, place - reach - LEVEL_PARTS) : max(0, place - reach)]
        after = logs[place + reach + 1 : place + reach + 1 + LEVEL_PARTS]
        # Near the ends a level is what is there, without the parts in which a job begins and runs out.
        if len(before) < 2:
            before = logs[1 : min(1 + LEVEL_PARTS, place)] if place > 2 else logs[: min(2, place)]
        if len(after) < 2:
            last = len(rate) - 1
            after = logs[max(place + 1, last - LEVEL_PARTS) : last] if place < last - 2 else logs[place + 1 :]
        if not len(before) or not len(after):
            continue
        left, right = float(np.median(before)), float(np.median(after))
        # A side that slides is not a level.
        slid = (_slid(before) + _slid(after)) / 2 * math.copysign(1, right - left)
        varies = max(np.ptp(before), np.ptp(after))
        if slid > FLAT * abs(left - right) or varies > VARIES * abs(left - right):
            continue
        between = min(left, right) < logs[place] < max(left, right)
        if between and abs(left - right) > -math.log(FELL):
            found[place] = math.exp(min((left, right), key=lambda level: abs(level - logs[place])))
    return found


def _slid(level: st.Floats) -> float:
    """Return by how much a level changes over its parts; their noise alone does not make a slide."""
    place = np.arange(len(level)) - (len(level) - 1) / 2
    return float(place @ level / max(float(place @ place), 1.0) * (len(level) - 1))


def before_after(parts: pd.DataFrame) -> pd.DataFrame:
    """Rates before and after the largest fall of each job, with mean and deviation as in 2009."""
    rows = []
    for key, sides in _falls(parts):
        for side, part in sides.items():
            rate = part["rate_bits_per_second"].to_numpy(dtype=float)
            rows.append(
                key
                | {
                    "side": side,
                    "n": len(rate),
                    "mean_bits_per_second": float(rate.mean()),
                    "sd_bits_per_second": float(rate.std(ddof=1)) if len(rate) > 1 else None,
                    "median_bits_per_second": float(np.median(rate)),
                    "bytes": float(part["size_bytes"].sum()),
                }
            )
    return pd.DataFrame(rows)


def before_after_density(parts: pd.DataFrame) -> pd.DataFrame:
    """Curves of the rates on each side of the fall, drawn apart so that neither hides the other."""
    rows: list[pd.DataFrame] = []
    for key, sides in _falls(parts):
        for side, part in sides.items():
            rate = part["rate_bits_per_second"].to_numpy(dtype=float)
            if len(rate) < FEWEST or len(np.unique(rate)) < FEWEST:
                continue
            found = st.density(np.log10(rate))
            curve = {"rate_bits_per_second": 10**found.x, "density_per_decade": found.y}
            rows.append(pd.DataFrame(key | {"side": side, "n": len(rate)} | curve))
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _falls(parts: pd.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, pd.DataFrame]]]:
    """Yield every job that has a fall, with its parts on both sides of the largest one."""
    found = job_changes(parts)
    keys = ["direction", "treatment", "files", "replicate"]
    jobs = {_name(key): part for key, part in groups(parts, keys)}
    for key, steps in groups(found[found["step"] > 0], keys):
        step = steps.loc[steps["factor"].astype(float).idxmin()]
        if float(step["factor"]) >= FELL:
            continue
        ordered, at = jobs[_name(key)].sort_values(["cell", "part"]), int(step["part"])
        yield key, {"before": ordered.iloc[:at], "after": ordered.iloc[at:]}


def _name(key: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a job is found by; a missing value equals another only as ``None``."""
    return tuple(None if pd.isna(value) else value for value in key.values())


def places(parts: pd.DataFrame) -> pd.DataFrame:
    """From which places the rate fell, and what they have in common that the others have not."""
    seen = parts[parts["node"].notna() & parts["path"].notna()]
    if seen["node"].nunique() < 2:
        return pd.DataFrame()
    found = job_changes(seen)
    rows = []
    arms = [str(name).rsplit(" @", 1)[0] for name in seen["treatment"]]
    for key, part in groups(seen.assign(arm=arms), ["direction", "arm"]):
        fell: dict[str, bool] = {}
        of_place = []
        for treatment, own in part.groupby("treatment", sort=True):
            steps = found[(found["treatment"] == treatment) & (found["direction"] == key["direction"])]
            replicates = max(1, own["replicate"].nunique())
            down = steps[steps["factor"].astype(float) < FELL]
            # Where files were lost nothing is left of which a rate could fall.
            gone = own[own["lost_in_cell"] > 0]["replicate"]
            times = len(set(down["replicate"]) | set(gone))
            slid = sum(_lower_at_its_end(job) for _, job in own.groupby("replicate")) - times
            first = own.iloc[0]
            fell[str(first["node"])] = times == replicates
            of_place.append(
                {
                    "place": first["node"],
                    "client_side": first["client_side"],
                    "path": first["path"],
                    "n": len(own),
                    "replicates": replicates,
                    "is_too_few": not times and bool((steps["says"] == "n too small").any()),
                    "replicates_that_fell": times,
                    "replicates_that_slid": max(0, slid),
                    "factor": float(down["factor"].astype(float).median()) if len(down) else None,
                    "median_bits_per_second": float(own["rate_bits_per_second"].median()),
                }
            )
        fault, why = whose(of_place)
        rows += [key | row | {"fault": fault, "why": why} for row in of_place]
    return pd.DataFrame(rows)


def _lower_at_its_end(job: pd.DataFrame) -> bool:
    """Whether the last quarter of a job was as slow as after a fall, whatever lies between."""
    rate = job.sort_values(["cell", "part"])["rate_bits_per_second"].to_numpy(dtype=float)
    quarter = max(1, len(rate) // 4)
    return bool(np.median(rate[-quarter:]) < FELL * np.median(rate[:quarter]))


def whose(of_place: list[dict[str, Any]]) -> tuple[str, str]:
    """Return whose fault a fall is, and why; "undetermined" with what would decide it.

    A place without a fall clears the service, its client and its path. What all places with one share, and no
    other has, is at fault. Where nothing is shared and all fell, the service is.
    """
    some = [row for row in of_place if 0 < row["replicates_that_fell"] < row["replicates"]]
    if some:
        names = _names(some)
        return "undetermined", f"{names} fell in some replicates only; run more replicates"
    slid = [row for row in of_place if row["replicates_that_slid"]]
    if slid:
        return "undetermined", f"the rate from {_names(slid)} slid as far as a fall; run a longer job"
    few = [row for row in of_place if row["is_too_few"]]
    if few:
        return "undetermined", f"too few parts from {_names(few)} to see a fall; run a longer job"
    bad = [row for row in of_place if row["replicates_that_fell"]]
    good = [row for row in of_place if not row["replicates_that_fell"]]
    if not bad:
        return "none", "the rate fell at no place"
    suspects = {
        name: shared
        for name, column in (("client", "client_side"), ("path", "path"))
        if len(shared := {row[column] for row in bad}) == 1 and not shared & {row[column] for row in good}
    }
    if not good:
        if not suspects:
            return "service", f"it fell at all {len(bad)} places, which share neither client nor path"
        missing = " and ".join(f"another {name}" for name in suspects)
        return "undetermined", f"it fell at every place, but all share one; add a place with {missing}"
    if len(suspects) == 1:
        [(name, shared)] = suspects.items()
        what = "the client" if name == "client" else "the path"
        return (
            name,
            f"all that fell share {what} '{min(shared)}', which {_names(good)} has not, and did not fall",
        )
    if suspects:
        return (
            "client or path",
            f"{_names(good)} did not fall, which clears the service; add a place with the client of"
            f" {_names(bad)} and another path",
        )
    return "undetermined", f"nothing is shared by {_names(bad)} that {_names(good)} has not"


def _names(rows: list[dict[str, Any]]) -> str:
    return ", ".join(sorted(str(row["place"]) for row in rows))


TABLES = [
    Table(
        "job_changes",
        "rate_in_job",
        "Fault or drift, along a job",
        "Did the rate of a job fall at a moment, slide, or neither?",
        "As changes, on the rate of each fortieth of a job's bytes, without the smear that requests leave"
        " which were in flight when the link changed.",
        job_changes,
    ),
    Table(
        "before_after",
        "rate_in_job",
        "Before and after the drop",
        "How fast was it before the link failed, and how fast after?",
        "The parts of a job on either side of the largest fall found by PELT; mean and standard deviation,"
        " as 2009 gave them, beside the median.",
        before_after,
    ),
    Table(
        "before_after_density",
        "rate_in_job",
        "Density of the rates before and after the fall",
        "How do the rates lie on either side?",
        "Gaussian kernel density of the logarithm of the rate on each side of the largest fall, from six"
        " files a side on.",
        before_after_density,
    ),
    Table(
        "places",
        "rate_in_job",
        "Whose fault, by place",
        "Is it the client's side, the path, or the service?",
        "A place failed where every replicate has a fall below two thirds, or lost files. One that did not"
        " clears the service, its client and its path. What all that failed share is at fault; where they"
        " share neither client nor path and all failed, the service is.",
        places,
    ),
]
