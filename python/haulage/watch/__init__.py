"""Watch jobs and workers while they run, on any machine that reads their log (``haul watch``).

For workers of your own, which needs no extra:

>>> import tempfile, haulage.watch
>>> log = tempfile.mkdtemp()
>>> with haulage.watch.worker(log):  # doctest: +SKIP
...     work()

:func:`lines` reads a log; the command shows it.
"""

from __future__ import annotations

from haulage.watch.reading import lines
from haulage.watch.workers import Handler, worker

__all__ = ["Handler", "lines", "worker"]
