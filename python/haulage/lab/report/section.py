"""A section of the report: one chart, the results it is drawn from, and how to read it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import altair as alt
import vl_convert
from altair.utils import schemapi

from haulage.lab.analysis.model import Analysis, Result
from haulage.lab.report.charts import Chart, NotShownError, dressed
from haulage.lab.report.palette import themed
from haulage.lab.topics import sections

Results: TypeAlias = Mapping[str, Result]


@dataclass(frozen=True)
class Section:
    """What to draw, from which results.

    Attributes:
        name: Anchor in the page.
        title: Heading.
        how: How to read the chart, and what it must not be taken for.
        make: Makes the chart of the results it needs and, each possibly ``None``, of those it may have.
        needs: Results without which there is no chart; the first one names the section's query.
        may: Results that add to the chart.
        also: Results that the chart does not show, and that belong to it.
        applies: What a run must have, said if a result is missing.
        silent: Left out without a word if a result is missing, since few runs have it.
    """

    name: str
    title: str
    how: str
    make: Callable[..., Chart]
    needs: tuple[str, ...]
    may: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    applies: str = ""
    silent: bool = False

    def draw(self, results: Results) -> Chart:
        """Return the chart, without the looks of the report."""
        return self.make(*(results[name] for name in self.needs), *(results.get(name) for name in self.may))


#: One that only a run of many nodes has.
section_of_nodes = partial(Section, applies="the plan has no numbers of nodes", silent=True)


def chart(name: str, results: Results) -> Chart:
    """Return a chart of the report, for a notebook.

    Args:
        name: Of its section, as links in the report have it after ``#``.
        results: Of :func:`haulage.lab.analysis.analyse`.

    Raises:
        KeyError: No chart has this name, or the run has no result that it needs.
        NotShownError: The run has nothing to show in it.
    """
    return dressed({section.name: section for section in sections()}[name].draw(results))


@dataclass(frozen=True)
class Drawn:
    """A section that can be shown: its picture by two ways, and the results behind it."""

    name: str
    title: str
    how: str
    results: list[Result]
    svg: str
    #: Of Vega-Lite as JSON; empty for the lanes, which have their own code.
    spec: str = ""
    #: For the lanes: what their code reads.
    lanes: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Missing:
    """A section that is left out."""

    title: str
    why: str


def draw(section: Section, analysis: Analysis) -> Drawn | Missing:
    """Draw a section, or say why not."""
    there = analysis.results
    for name in section.needs:
        if name not in there:
            return Missing(section.title, section.applies or f"the query {name} does not apply to this run")
        if there[name].frame.empty:
            return Missing(section.title, section.applies or f"the query {name} found no rows")
    used = {name: there[name] for name in (*section.needs, *section.may, *section.also) if name in there}
    # The tests have the charts checked against Altair's schema; here it would cost more than drawing. Its
    # limit of rows is meant for charts that nobody counted.
    with alt.data_transformers.enable("default", max_rows=None), schemapi.debug_mode(False):
        try:
            chart = section.draw(used)
        except NotShownError as reason:
            return Missing(section.title, str(reason))
        spec = _renumbered(dressed(chart).to_dict(validate=False))
    svg = picture(spec, section.name)
    return Drawn(section.name, section.title, section.how, list(used.values()), svg, for_browser(spec))


def _renumbered(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the specification with views counted from 1: Altair counts all that were ever made."""
    text = json.dumps(spec)
    found = dict.fromkeys(re.findall(r"\bview_\d+\b", text))
    names = {old: f"view_{number}" for number, old in enumerate(found, 1)}
    counted: dict[str, Any] = json.loads(re.sub(r"\bview_\d+\b", lambda match: names[match[0]], text))
    return counted


def picture(spec: dict[str, Any], name: str) -> str:
    """Return a chart as SVG that can stand in a page beside others and follows its colours."""
    svg = vl_convert.vegalite_to_svg(spec)
    # Every SVG counts its clip paths from 0, and gradients go on from those before: in one page they would be
    # taken for each other.
    found = re.findall(r'\bid="([^"]+)"', svg)
    names = {old: f"{name}-{number}" for number, old in enumerate(dict.fromkeys(found), 1)}
    svg = re.sub(
        r'(\bid="|url\(#|href="#)([^")]+)',
        lambda match: match[1] + names.get(match[2], match[2]),
        svg,
    )
    return themed(re.sub(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', _sized, svg, count=1))


def _sized(match: re.Match[str]) -> str:
    width, height = match[1], match[2]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        ' class="static" role="img"'
        f' width="{width}" height="{height}"'
    )


def for_browser(spec: dict[str, Any]) -> str:
    """Return a specification as JSON that can stand inside a script element."""
    # Six digits are more than a pixel shows, and a third of the size.
    short = json.loads(json.dumps(spec), parse_float=_short)
    return script_safe(themed(json.dumps(short, separators=(",", ":"), ensure_ascii=False)))


def _short(text: str) -> float:
    value = float(text)
    return value if value.is_integer() else float(f"{value:.6g}")


def script_safe(text: str) -> str:
    """Escape JSON so that nothing in it can end a script element."""
    return (
        text.replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
