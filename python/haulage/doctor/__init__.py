"""What is here, what is missing, what to do: one call that examines this machine, a service and a job.

>>> from haulage.doctor import examine
>>> examine().verdict().startswith("no faults") or examine().faults != ()
True

Names are imported on first use: each question is answered by a process of its own, which needs few of them.
"""

from __future__ import annotations

from haulage.lazy import importing

# As `typing.TYPE_CHECKING`, whose import those processes do without.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from haulage.doctor.examining import examine as examine, examine_project as examine_project
    from haulage.doctor.finding import Finding as Finding, Level as Level, Report as Report

__all__ = ["Finding", "Level", "Report", "examine", "examine_project"]
__getattr__ = importing(
    __name__,
    {
        "haulage.doctor.examining": "examine examine_project",
        "haulage.doctor.finding": "Finding Level Report",
    },
)
