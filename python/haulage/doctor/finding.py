"""What an examination finds, and what it comes to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from haulage.errors import BY_CODE, HaulageError, StalledError

Level = Literal["ok", "note", "warning", "fault"]

#: From the best to the worst.
LEVELS: tuple[Level, ...] = ("ok", "note", "warning", "fault")


class NotMeasuredError(StalledError):
    """There is no answer because this machine was too busy to look: it says nothing of what was looked at."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        check: Its stable name, such as ``"network.clock"``; what stands before the dot is its section.
        level: ``"ok"``, ``"note"`` (worth knowing), ``"warning"`` (works, but not well) or ``"fault"``
            (a copy would fail).
        text: What was found. Holds no secret.
        hint: What to do about it, or ``None``.
        kind: What a fault comes to, as :attr:`haulage.HaulageError.code` has it; decides the exit code.
        values: The same in numbers, for programs; times in seconds, sizes in bytes.
    """

    check: str
    level: Level
    text: str
    hint: str | None = None
    kind: str | None = None
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def section(self) -> str:
        """What stands before the dot of :attr:`check`."""
        return self.check.partition(".")[0]

    @property
    def exit_code(self) -> int:
        """What a copy would end with; 0 for what is no fault."""
        if self.level != "fault":
            return 0
        return BY_CODE[self.kind].exit_code if self.kind in BY_CODE else 1


def by_error(check: str, error: HaulageError, level: Level = "fault") -> Finding:
    """Return what the engine says of a failure as a finding; a warning where nothing could be measured.

    >>> from haulage import NotFoundError
    >>> by_error("rights.list", NotFoundError("list", "az://c", "no such container", "make it")).text
    'list az://c: no such container'
    """
    if isinstance(error, NotMeasuredError):
        return Finding(check, "warning", f"not checked: {error.object}; {error.cause}", error.hint)
    text = f"{error.operation} {error.object}: {error.cause}"
    return Finding(check, level, text, error.hint, error.code if level == "fault" else None)


@dataclass(frozen=True)
class Report:
    """All findings of an examination, in the order in which one builds on the other.

    Attributes:
        target: What was examined, without a secret; ``None`` for this machine alone.
        findings: Them.
        seconds: How long it took.
        made: When, as ``2026-03-01T12:00:00Z``.
        corrected: The project's file as it would have to be for what is installed; ``None`` where no project
            was examined.
    """

    target: str | None
    findings: tuple[Finding, ...]
    seconds: float
    made: str
    corrected: str | None = None

    @property
    def faults(self) -> tuple[Finding, ...]:
        """What a copy would fail by."""
        return self.of("fault")

    @property
    def exit_code(self) -> int:
        """0 without a fault; else the code of the fault that says most, so 1 only if there is no other."""
        codes = [finding.exit_code for finding in self.faults]
        return next((code for code in codes if code > 1), 1 if codes else 0)

    def of(self, level: Level) -> tuple[Finding, ...]:
        """Return the findings of one level."""
        return tuple(finding for finding in self.findings if finding.level == level)

    def find(self, check: str) -> Finding | None:
        """Return the worst finding of this name; ``None`` where it was not looked at."""
        found = [finding for finding in self.findings if finding.check == check]
        return max(found, key=lambda finding: LEVELS.index(finding.level), default=None)

    def sections(self) -> Iterator[tuple[str, list[Finding]]]:
        """Yield each section with its findings, in order."""
        names = dict.fromkeys(finding.section for finding in self.findings)
        for name in names:
            yield name, [finding for finding in self.findings if finding.section == name]

    def verdict(self) -> str:
        """Return the whole in one line.

        >>> Report(None, (), 0.1, "").verdict()
        'no faults'
        """
        counts = [(len(self.of("fault")), "fault"), (len(self.of("warning")), "warning")]
        words = [f"{count} {name}{'s' * (count != 1)}" for count, name in counts if count]
        return ", ".join(words) if self.faults else ", ".join(["no faults", *words])

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "event": "examination",
            "target": self.target,
            "made": self.made,
            "seconds": round(self.seconds, 3),
            "exit_code": self.exit_code,
            "verdict": self.verdict(),
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
            **({} if self.corrected is None else {"corrected": self.corrected}),
        }

    def __str__(self) -> str:
        from haulage.doctor.text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from haulage.doctor.page import as_table

        return as_table(self)
