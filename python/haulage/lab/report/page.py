"""Writes report.html: one file that needs no network, and no JavaScript to be read."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

import haulage
from haulage.causes.effects import LEVEL
from haulage.causes.sentences import shares_words
from haulage.causes.verdict import Verdict
from haulage.causes.vocabulary import cause_words
from haulage.errors import ExistsError
from haulage.lab import chain
from haulage.lab.analysis import analyse, statistics as st
from haulage.lab.analysis.model import Analysis, Finding
from haulage.lab.analysis.tables import source_of
from haulage.lab.files import sha256 as sha256_of, write_whole
from haulage.lab.manifest import versions
from haulage.lab.report import lanes, vega
from haulage.lab.report.founding import FOUND
from haulage.lab.report.numbers import interval, number
from haulage.lab.report.palette import COLOURS
from haulage.lab.report.rows import table
from haulage.lab.report.section import Drawn, Missing, draw
from haulage.lab.report.why import CONFIRMATIONS, phases_of, shares_of, trials_of
from haulage.lab.store import RunStore
from haulage.lab.topics import sections
from haulage.words.numbers import counted, format_count, format_duration, format_rate, format_size

#: From the top of the page to its end.
SECTIONS = sections()
LANES = "lanes_of_run"
#: What the analysis says where a sample cannot bound a number; the card then says it large.
TOO_SMALL = "n too small"
#: Beyond so many the cards would be a page of their own before the first chart.
CARDS_AT_ONCE = 12
STATUS_WORDS = {
    "seen": "Seen: the record of the requests shows it. No experiment has tested it yet.",
    "confirmed": "Confirmed: an experiment changed only this, and the rate followed.",
    "undetermined": "Undetermined: no cause explains enough of the time under the rule above.",
}


@dataclass(frozen=True)
class Card:
    """A finding as its card shows it."""

    title: str
    value: str
    unit: str
    interval: str
    sentence: str
    n: str
    query: str


#: Which form a page has; a page without a form has the first.
FORM = 2


def write(directory: Path, analysis: Analysis | None = None) -> Path:
    """Write ``report.html`` into the directory of a run and return its path; ``SHA256SUMS`` comes last.

    Args:
        directory: Of a run, finished or stopped.
        analysis: Of the same directory; made if it is not given.

    Raises:
        NotFoundError: No run is there.
        IntegrityError: A recorded file is missing or holds other bytes.
    """
    manifest = RunStore.open(directory).manifest
    chain.require_unchanged(directory, manifest, "write report")
    if (directory / "results").is_symlink():
        raise ExistsError("write report", f"{directory}/results", "is a symbolic link", "remove it")
    before = chain.results_of(directory)
    chain.unseal(directory)
    found = analysis if analysis is not None else analyse(directory)
    for name in set(before) - set(chain.results_of(directory)):
        (directory / name).unlink(missing_ok=True)
    write_versions(directory / "results")
    path = directory / chain.PAGE
    write_whole(path, render(directory, found, directory / "results"))
    if manifest.get("lab") == chain.LAYOUT:
        chain.seal(directory)
    return path


def write_versions(results: Path) -> None:
    """Write down beside the results what they were made with."""
    made_with = {name: version for name, version in versions().items() if name != "kernel"}
    write_whole(results / "versions.json", json.dumps(made_with, indent=1) + "\n")


def render(directory: Path, analysis: Analysis, results: Path) -> str:
    """Return the page of a run: the same bytes for the same files, wherever the folder lies.

    Args:
        directory: Of the run.
        analysis: Of the same directory.
        results: Where ``index.json`` of the analysis lies.
    """
    manifest = json.loads((directory / chain.MANIFEST).read_text(encoding="utf-8"))
    made_with = json.loads((results / "versions.json").read_text(encoding="utf-8"))
    made: list[Drawn | Missing] = []
    for section in SECTIONS:
        drawn = draw(section, analysis)
        if isinstance(drawn, Drawn) or not section.silent:
            made.append(drawn)
        if section.name == "ledger":
            made.append(_lanes(analysis))
    charts = [one for one in made if isinstance(one, Drawn)]
    missing = [one for one in made if isinstance(one, Missing)]
    plan = _plan_words(directory)
    shown = {result.name: chart.name for chart in charts for result in chart.results}
    others = [result for result in analysis.results.values() if result.name not in shown]
    anchors = shown | {result.name: f"query-{result.name}" for result in others}

    def source(name: str) -> Markup:
        link = f'<a href="#{escape(anchors[name])}">{escape(name)}</a>' if name in anchors else escape(name)
        return Markup("query ") + Markup(link)

    environment = _environment()
    environment.globals |= {"source": source, "table": table, "sha256": _sha256, "python": source_of}
    environment.globals["cause_words"] = cause_words
    page: dict[str, Any] = {
        "title": str(plan.get("title") or manifest.get("plan") or "A run of the lab"),
        "form": FORM,
        "question": plan.get("question", ""),
        "answers": [finding.sentence for finding in analysis.findings if finding.answers],
        "found": FOUND.get(str(plan.get("follows", "")), ""),
        "plan": manifest.get("plan", ""),
        "run": manifest.get("run", ""),
        "made_with": ", ".join(f"{name} {version}" for name, version in made_with.items() if version),
        "version": haulage.__version__,
        "facts": _facts(manifest),
        "warning": _warning(manifest),
        "contents": _contents(charts, bool(others), bool(plan.get("question"))),
        "status_words": STATUS_WORDS.get(analysis.verdict.status, ""),
        "cause_words": _cause_words(analysis.verdict),
        "shares": shares_of(analysis.verdict),
        "shares_level": f"{LEVEL:.0%}",
        "shares_words": shares_words(analysis.verdict),
        "phases": phases_of(analysis.verdict),
        "cards_at_once": CARDS_AT_ONCE,
        "trials": trials_of(directory),
        "confirmations": CONFIRMATIONS,
        "verdicts": analysis.verdicts,
        "manifest": [(key, _plain(value)) for key, value in manifest.items() if key != "files"],
        "files": _listed(manifest),
        "more_files": {
            place: len([name for name in manifest.get("files", {}) if name.startswith(place)])
            for place in ("cells/", "attempts/")
        },
        "chain": [
            (chain.MANIFEST, sha256_of(directory / chain.MANIFEST)),
            (chain.INDEX, sha256_of(results / "index.json")),
        ],
    }
    return environment.get_template("page.html").render(
        page=page,
        verdict=analysis.verdict,
        cards=[_card(finding) for finding in analysis.findings],
        charts=charts,
        missing=missing,
        others=others,
        colours=COLOURS,
        css=Markup(_text("page.css")),
        page_js=Markup(_text("page.js")),
        lanes_js=_lanes_script() if any(chart.lanes for chart in charts) else "",
        vega=Markup(vega.script()) if any(chart.spec for chart in charts) else "",
    )


def _listed(manifest: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the files of the run's folder itself; those below it are too many to read."""
    return [
        (name, format_count(of["rows"]) if "rows" in of else "", of.get("sha256", ""))
        for name, of in manifest.get("files", {}).items()
        if "/" not in name
    ]


def _lanes(analysis: Analysis) -> Drawn | Missing:
    there = analysis.results
    if LANES not in there or there[LANES].frame.empty:
        return Missing("Lanes over time", "the run recorded no attempts")
    return lanes.draw(there[LANES], there["cells_in_order"])


def _lanes_script() -> Markup:
    parts = "\n".join(_text(name) for name in ("lanes_picture.js", "lanes.js"))
    return Markup('"use strict";\n(() => {\n' + parts + "})();")


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_text),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )


def _text(name: str) -> str:
    return (resources.files("haulage.lab.report") / "template" / name).read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _contents(charts: list[Drawn], others: bool, asks: bool) -> list[tuple[str, str]]:
    ends = [("others", "Other queries")] if others else []
    return [
        *([("answer", "Answer")] if asks else []),
        ("verdict", "Verdict"),
        *((chart.name, chart.title) for chart in charts),
        *ends,
        ("manifest", "Manifest"),
    ]


def _plan_words(directory: Path) -> dict[str, Any]:
    return RunStore(directory).plan_values if (directory / "plan.toml").is_file() else {}


def _facts(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    host = manifest.get("host", {})
    ceiling = manifest.get("ceiling") or {}
    began, ended = manifest.get("created_unix_ns"), manifest.get("ended_unix_ns")
    facts = [
        ("Target", manifest.get("target")),
        ("Link", manifest.get("link")),
        ("Faults", manifest.get("faults")),
        (
            "Started",
            datetime.fromtimestamp(began / 1e9, UTC).strftime("%Y-%m-%d %H:%M UTC") if began else None,
        ),
        ("Duration", format_duration(ended - began) if began and ended else None),
        (
            "Cells",
            f"{manifest.get('cells_done')} of {manifest.get('cells_planned')}, {manifest.get('order')}",
        ),
        ("Replicates", manifest.get("replicates")),
        ("Ceiling up", _ceiling_words(ceiling, "up")),
        ("Ceiling down", _ceiling_words(ceiling, "down")),
        (
            "Machine",
            f"{host.get('cpus')} CPUs, {format_size(host.get('memory_bytes') or 0)}" if host else None,
        ),
        ("Congestion control", host.get("congestion_control")),
        ("Seed", manifest.get("seed")),
    ]
    return [(name, str(value)) for name, value in facts if value not in (None, "")]


def _ceiling_words(ceiling: dict[str, Any], direction: str) -> str | None:
    """Return the ceiling with its interval, and whether the processors may have been what ended it."""
    rate, low, high = (ceiling.get(f"{direction}_{name}bits_per_second") for name in ("", "low_", "high_"))
    if not rate:
        return None
    words = format_rate(rate)
    if low and high:
        if ceiling.get(f"{direction}_is_steady", True):
            words += f" ({interval(rate, low, high, 'bit/s', ceiling.get('level', st.LEVEL))})"
        else:
            words = f"no one rate: {format_rate(low)} to {format_rate(high)} in rounds one after another"
    if ceiling.get("before_ns"):
        words += f", before the link changes after {format_duration(ceiling['before_ns'])}"
    return f"{words}, processors busy" if ceiling.get(f"{direction}_bound_by_machine") else words


def _cause_words(verdict: Verdict) -> str:
    """Return the cause in words, as a sentence begins; its code is for programs."""
    words = cause_words(verdict.cause)
    return words[:1].upper() + words[1:]


def _warning(manifest: dict[str, Any]) -> str:
    state, why = manifest.get("state"), manifest.get("stopped_because")
    done, planned = manifest.get("cells_done"), manifest.get("cells_planned")
    if state == "complete" and not why:
        return ""
    reason = f" because of: {why}" if why else ""
    return f"This run is {state}{reason}. It has {done} of {counted(planned or 0, 'cell')}."


def _plain(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _card(finding: Finding) -> Card:
    shown, unit = number(finding.value, finding.unit)
    bounds = interval(finding.value, finding.low, finding.high, finding.unit, finding.level)
    if finding.value is None:
        shown, bounds = TOO_SMALL if TOO_SMALL in finding.sentence else finding.no_value, ""
    # As the intervals have it; loss=1% is of a link and stays.
    sentence = re.sub(r"(?<![\w=.,])(\d[\d.,]*)%", r"\1 %", finding.sentence)
    return Card(finding.title, shown, unit, bounds, sentence, format_count(finding.n), finding.query)
