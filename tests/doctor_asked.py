"""Answers to the questions of `haul doctor`, from a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from haulage.doctor.asking import Answer
from haulage.doctor.finding import Finding
from haulage.errors import StalledError

HUNG = Answer(error=StalledError("wait for", "it", "no answer within 5 s"), late=True)


def said(findings: Iterable[Finding]) -> list[str]:
    return [finding.hint for finding in findings if finding.hint is not None]


class Asked:
    """Answers as the processes would that look for real."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def __call__(self, question: str, *_: float, **__: Any) -> Answer:
        found = self.answers[question]
        return found if isinstance(found, Answer) else Answer(value=found)
