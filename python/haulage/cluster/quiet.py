"""What each node of this machine does first: it keeps to itself what Dask would print on the terminal.

At the end of a job a node may ask a scheduler that has just gone, most of all on a busy machine, and Dask
logs that with a traceback. What matters is told to the job, which says it in its own words.
"""

from __future__ import annotations

import logging
import warnings

#: Who logs in a node that is not ours.
LOGGERS = ("distributed", "tornado", "asyncio")


def dask_setup(_: object) -> None:
    """Print nothing any more; Dask calls this when the node starts."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        # Without one, Python has errors printed.
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    warnings.simplefilter("ignore")
