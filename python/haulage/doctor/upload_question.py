"""What somebody sent, compared in a process of its own: it may be made to do harm.

The process has a bound on its memory and its time, and reads no file that the text names.
"""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import resource
from collections.abc import Callable
from typing import Any

from haulage.doctor.finding import Finding

Tell = Callable[[Any], None]

#: More memory than any project's file takes, and than the packages that read it.
MEMORY = 2 << 30
#: A file that asks for more is not one of a project.
FINDINGS = 2000
#: No requirement is longer.
LETTERS = 1000


def uploaded(
    _: Tell, *, name: str, text: str, wait_s: float, scheduler: str | None, scheduler_file: str | None
) -> dict[str, Any]:
    """Compare a project's file, of which the text is given, with what is installed.

    Returns:
        ``findings``, and ``corrected``: the file for what is installed.
    """
    from haulage.doctor.asking import ask
    from haulage.doctor.project import ProjectExamination
    from haulage.doctor.versions import examine_versions
    from haulage.errors import HaulageError, UsageError

    # Processes that it asks inherit the bound.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    examination = ProjectExamination(pathlib.Path(name), ask, wait_s, scheduler, scheduler_file, text)
    try:
        findings = [*examine_versions(), *examination.run()]
    except HaulageError:
        raise
    except (MemoryError, RecursionError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        cause = f"it cannot be read: {type(error).__name__}"
        hint = "upload the project's requirements.txt, pyproject.toml or environment.yml"
        raise UsageError("read", name, cause, hint) from None
    return {
        "findings": [_shown(one) for one in findings[:FINDINGS]],
        "corrected": examination.corrected,
    }


def _shown(finding: Finding) -> dict[str, Any]:
    hint = None if finding.hint is None else _short(finding.hint)
    return dataclasses.asdict(dataclasses.replace(finding, text=_short(finding.text), hint=hint, values={}))


def _short(text: str) -> str:
    return text if len(text) <= LETTERS else f"{text[:LETTERS]} ..."


QUESTIONS: dict[str, Callable[..., Any]] = {"uploaded": uploaded}
