"""What is here, what is missing, what to do: one call that examines this machine, a service and a job.

>>> from haulage.doctor import examine
>>> examine().verdict().startswith("no faults") or examine().faults != ()
True

Names are imported on first use: each question is answered by a process of its own, which needs few of them.
"""

from __future__ import annotations

# As `typing.TYPE_CHECKING`, whose import those processes do without.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from haulage.doctor.examining import examine as examine, examine_project as examine_project
    from haulage.doctor.finding import Finding as Finding, Level as Level, Report as Report

__all__ = ["Finding", "Level", "Report", "examine", "examine_project"]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'haulage.doctor' has no attribute {name!r}")
    home = "examining" if name.startswith("examine") else "finding"
    found: object = getattr(import_module(f"haulage.doctor.{home}"), name)
    globals()[name] = found
    return found
