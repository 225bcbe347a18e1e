"""Watch jobs and workers while they run, from any machine that can read their log (``haul watch``).

For your own workers, which needs no extra:

>>> import tempfile, haulage.watch
>>> log, spool = tempfile.mkdtemp(), tempfile.mkdtemp()
>>> with haulage.watch.worker(log, program="regrid", spool=spool):
...     pass  # the work
>>> [line["event"] for line in haulage.watch.lines(log)]
['worker_started', 'worker_ended']
"""

from __future__ import annotations

from haulage.watch.queues.sending import Sent, send
from haulage.watch.reading import lines
from haulage.watch.workers import Handler, worker

__all__ = ["Handler", "Sent", "lines", "send", "worker"]
