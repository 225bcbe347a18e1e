"""Draws an explanation as a page: one file, no network, readable without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import jinja2

import haulage
from haulage.lab.why.asking import query_of
from haulage.lab.why.experiment import experiment, unknown
from haulage.lab.why.explaining import Explanation, Part
from haulage.lab.why.plain import shown
from haulage.lab.why.text import MEANS, parts, tables
from haulage.lab.why.words import paragraph, title
from haulage.words.numbers import digits, format_rate, percent, time_words

#: The queries whose SQL the page shows.
_ASKED = (
    "ledger",
    "answers",
    "requests",
    "sample",
    "gaps",
    "wire",
    "openings",
    "remotes",
    "rate_over_time",
    "lost",
    "objects",
    "slowest",
)
_WIDTH, _HEIGHT = 960, 160


def page(found: Explanation) -> str:
    """Return the page."""
    # The report brings all that draws charts; only the page needs its colours.
    from haulage.lab.report.palette import COLOURS

    folder = resources.files("haulage.lab.why")
    template = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        (folder / "page.html").read_text(encoding="utf-8")
    )
    return template.render(
        name=shown(found.name, 200),
        title=title(found.whole, found.phases),
        status=found.whole.cause.status,
        paragraph=paragraph(found),
        experiment=experiment(found),
        ledgers=[_ledger(name, part) for part, name in parts(found) if sum(part.ledger.values())],
        chart=_chart(found) if len(found.rates) else None,
        signs=[sign.said for sign in found.signs],
        tables=list(tables(found)),
        unknown=unknown(found),
        queries=[query_of(name) for name in _ASKED] if found.facts.attempts else [],
        light={name: light for name, (light, _) in COLOURS.items()},
        dark={name: dark for name, (_, dark) in COLOURS.items()},
        version=haulage.__version__,
    )


def _ledger(name: str, part: Part) -> dict[str, object]:
    from haulage.lab.report.palette import LEDGER

    whole = sum(part.ledger.values())
    spent = sorted(((category, ns) for category, ns in part.ledger.items() if ns), key=lambda item: -item[1])
    return {
        "name": name,
        "whole": f"{part.evidence.lanes} slots x {time_words(part.window.wall_ns)}, split exactly",
        "rows": [
            {
                "category": category,
                "share": percent(ns / whole),
                "width": f"{100 * ns / whole:.3f}",
                "time": time_words(ns),
                "means": MEANS[category],
                "colour": LEDGER["disk" if category == "source" else category],
            }
            for category, ns in spent
        ],
    }


def _chart(found: Explanation) -> dict[str, object]:
    """Return the rate, and the number in flight, as points of an SVG."""
    rates = [float(row["rate_bits_per_second"]) for row in found.rates]
    flight = [float(row["in_flight"]) for row in found.rates]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "rate": _steps(rates),
        "most_rate": format_rate(max(rates)),
        "flight": _steps(flight),
        "most_flight": digits(max(flight)),
        "wall": time_words(found.facts.wall_ns),
        "cuts": [
            round(_WIDTH * part.window.began_ns / max(found.facts.wall_ns, 1), 1) for part in found.phases[1:]
        ],
    }


def _steps(values: Sequence[float]) -> str:
    most = max(values) or 1.0
    step = _WIDTH / max(len(values), 1)
    points = []
    for place, value in enumerate(values):
        height = _HEIGHT - (_HEIGHT - 6) * value / most
        points += [f"{place * step:.1f},{height:.1f}", f"{(place + 1) * step:.1f},{height:.1f}"]
    return " ".join(points)
