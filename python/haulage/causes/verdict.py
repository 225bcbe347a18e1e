"""A verdict: a cause, how sure that is, and what it stands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from haulage.causes.evidence import Phase

#: How far a verdict goes: visible in the record, or also shown by an experiment that changes one thing. Of a
#: job there may be nothing to explain, or only that it failed.
Status = Literal["seen", "confirmed", "undetermined", "nothing to explain", "failed"]
#: A second cause of at least this share of the time in flight is named beside the first.
SECOND = 0.25


@dataclass(frozen=True)
class Verdict:
    """Why it was not faster.

    Attributes:
        cause: A code of :data:`haulage.causes.vocabulary.CAUSES`, or ``"undetermined"``.
        status: ``"seen"`` in the record, ``"confirmed"`` by an experiment, or ``"undetermined"``; of a job
            also ``"nothing to explain"``, and ``"failed"`` where there is nothing to explain but that.
        evidence: Sentences with numbers.
        threshold: The rule that decided.
        advice: What to do about it.
        subject: What was judged, such as ``"adaptive, 25 MB up"``.
        query: The result the evidence comes from.
        shares: Where causes mix, of each: its share of the time of a request, and the bounds of that.
        phases: Where the path changed meanwhile, a verdict for each time; empty otherwise.
        during: Of such a verdict: its part of the time, and the rate in it.
        rivals: Causes that would leave the same record.
        parts: Share of the time in flight by cause, the largest first, those below a hundredth left out.
    """

    cause: str
    status: Status
    evidence: list[str] = field(default_factory=list)
    threshold: str = ""
    advice: str = ""
    subject: str = ""
    query: str = "evidence"
    shares: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    phases: tuple[Verdict, ...] = ()
    during: Phase | None = None
    rivals: tuple[str, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def sharing(self) -> tuple[str, ...]:
        """What the time is divided between, where no single cause has enough of it: the largest first."""
        return tuple(
            name for place, (name, part) in enumerate(self.parts.items()) if place == 0 or part >= SECOND
        )
