"""What the rows of a case come to, and whether that meets the case's targets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from cases import GO, Case, Target
from links import parse

Row = dict[str, Any]
#: Rows by case and arm.
Groups = Mapping[tuple[str, str], list[Row]]
BASE = "haul"


def grouped(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """Gather rows by case and arm, in the order they come in."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["case"], row["arm"]].append(row)
    return dict(groups)


def good(rows: Iterable[Row]) -> list[Row]:
    """Return the runs that did their work."""
    return [row for row in rows if row["exit_code"] == 0 and row.get("same", True)]


def verdict(case: Case, target: Target, groups: Groups) -> str:
    """Say in words whether ``target`` is met."""
    found = figure(case, target, groups)
    want, met = "", False
    if target.most is not None:
        want, met = f"at most {target.most:.3g}", found is not None and found <= target.most
    elif target.least is not None:
        want, met = f"at least {target.least:.3g}", found is not None and found >= target.least
    than = f" ({target.than})" if target.than else ""
    name = f"{target.figure}{than} {want}"
    if found is None:
        return f"{name}: not measured"
    return f"{name}: {'met' if met else '**missed**'}, {found:.3g}"


def figure(case: Case, target: Target, groups: Groups) -> float | None:
    """Return a target's figure of haul's runs: a median, but the most memory, and all failures."""
    every = groups.get((case.name, BASE), [])
    ours = good(every)
    if target.figure == "failed":
        return len(every) - len(ours) if every else None
    if not ours:
        return None
    size: int = ours[0]["task"]["size_bytes"]
    gib = size / 2**30
    if target.figure == "memory, MiB":
        return float(max(row["max_rss_mib"] for row in ours))
    if target.figure == "wall, s":
        return _median(ours, "wall_s")
    if target.figure == "CPU, s":
        return _median(ours, "cpu_s")
    if target.figure == "CPU, s/GiB":
        return _median(ours, "cpu_s") / gib
    if target.figure == "CPU over http, s/GiB":
        base = good(groups.get((target.than, BASE), []))
        return (_median(ours, "cpu_s") - _median(base, "cpu_s")) / gib if base else None
    if target.figure == "share of the link":
        return median([share(case.link, size * 8, row["wall_s"]) for row in ours])
    if target.figure == "attempts timed out":
        return float(sum(row["requests"]["fates"].get("stalled", 0) for row in ours))
    if target.figure == "requests to needed":
        needed: list[float] = [row["requests"]["requests"] / row["requests"]["fates"]["ok"] for row in ours]
        return median(needed)
    return _against(case, target, groups)


def _against(case: Case, target: Target, groups: Groups) -> float | None:
    column = "cpu_s" if target.figure == "CPU to theirs" else "wall_s"
    if target.than == "best":
        arm = best(case, groups)
    elif target.than == "go":
        arm = best(case, groups, GO, column)
    else:
        arm = target.than
    if arm is None:
        return None
    pairs = ratios(groups.get((case.name, arm), []), groups[case.name, BASE], column)
    if not pairs:
        return None
    return median(pairs) if target.figure == "times faster" else 1 / median(pairs)


def best(case: Case, groups: Groups, arms: Sequence[str] | None = None, column: str = "wall_s") -> str | None:
    """Return the peer, if need be one of ``arms``, with the least median: of wall time, or what is named."""
    seen = {
        arm: _median(good(rows), column)
        for (name, arm), rows in groups.items()
        if name == case.name and arm != BASE and good(rows) and (arms is None or arm in arms)
    }
    return min(seen, key=seen.__getitem__, default=None)


def ratios(theirs: list[Row], ours: list[Row], column: str = "wall_s") -> list[float]:
    """Divide theirs by ours, round by round, so that what slowed both does not count."""
    base = {row["round"]: row[column] for row in good(ours)}
    return [row[column] / base[row["round"]] for row in good(theirs) if base.get(row["round"])]


def share(spec: str, bits: float, seconds: float) -> float:
    """Return how much of what the link could carry in this time was payload."""
    return bits / parse(spec).carries(seconds)


def _median(rows: list[Row], column: str) -> float:
    values: list[float] = [row[column] for row in rows]
    return median(values)
