"""What is here, what is missing, what to do: one call that examines this machine, a service and a job.

>>> from haulage.doctor import examine
>>> examine().verdict().startswith("no faults") or examine().faults != ()
True
"""

from haulage.doctor.examining import examine as examine, examine_project as examine_project
from haulage.doctor.finding import Finding as Finding, Level as Level, Report as Report

__all__ = ["Finding", "Level", "Report", "examine", "examine_project"]
