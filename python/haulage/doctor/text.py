"""Findings as text, for a terminal or a file."""

from __future__ import annotations

import os
import textwrap
from typing import TextIO

from haulage.doctor.finding import Finding, Level, Report
from haulage.words.printable import printable

_MARKS: dict[Level, str] = {"ok": "ok", "note": "note", "warning": "warning", "fault": "FAULT"}
_COLOURS: dict[Level, str] = {"ok": "32", "note": "36", "warning": "33", "fault": "31;1"}
_WIDTH = 100
_INDENT = 11

#: What sections are called.
TITLES = {
    "versions": "Versions",
    "machine": "Machine",
    "disk": "Disk",
    "network": "Network",
    "credentials": "Credentials",
    "service": "Service",
    "rights": "Rights",
    "checksums": "Checksums",
    "path": "Path",
    "job": "Job",
    "project": "Project",
    "workers": "Workers",
}


def lines(finding: Finding, colour: bool = False) -> str:
    """Return a finding as lines: its level, what was found, what to do."""
    mark = f"{_MARKS[finding.level]:<8}"
    if colour:
        mark = f"\x1b[{_COLOURS[finding.level]}m{mark}\x1b[0m"
    indent = " " * _INDENT
    told = textwrap.wrap(printable(finding.text), _WIDTH - _INDENT, break_on_hyphens=False) or [""]
    if finding.hint is not None:
        told += textwrap.wrap(f"hint: {printable(finding.hint)}", _WIDTH - _INDENT, break_on_hyphens=False)
    return f"  {mark} " + f"\n{indent}".join(told)


def as_text(report: Report) -> str:
    """Return all findings, by section, and the verdict."""
    told = []
    for name, findings in report.sections():
        told.append(TITLES.get(name, name))
        told += [lines(finding) for finding in findings]
        told.append("")
    return "\n".join([*told, report.verdict()])


class Screen:
    """Prints findings while they are made, and what is being waited for where somebody looks."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._live = out.isatty()
        self._colour = self._live and not os.environ.get("NO_COLOR")
        self._section = ""
        self.waiting()

    def waiting(self) -> None:
        """Say that more is coming."""
        if self._live:
            self._out.write("  looking ...")
            self._out.flush()

    def show(self, finding: Finding) -> None:
        """Print one."""
        self._wipe()
        if finding.section != self._section:
            gap = "\n" if self._section else ""
            self._section = finding.section
            self._out.write(f"{gap}{TITLES.get(finding.section, finding.section)}\n")
        self._out.write(lines(finding, self._colour) + "\n")
        self._out.flush()
        self.waiting()

    def end(self, verdict: str | None) -> None:
        """Print what it comes to."""
        self._wipe()
        if verdict is not None:
            self._out.write(f"\n{verdict}\n")
        self._out.flush()

    def _wipe(self) -> None:
        if self._live:
            self._out.write("\r\x1b[K")
