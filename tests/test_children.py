"""Processes that the package starts end with the one that started them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

CHILD = (
    "from haulage import children; import time; children.end_with_parent(); print(flush=True); time.sleep(60)"
)
PARENT = f"""
import subprocess, sys, time
from haulage import children
child = children.start([sys.executable, "-c", {CHILD!r}], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""


def test_a_child_ends_with_its_parent_that_was_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout is not None
            child = Path("/proc") / parent.stdout.readline().strip()
            assert child.exists()
        finally:
            parent.kill()
    end = time.monotonic() + 10
    while child.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not child.exists()
