"""Processes that the package starts end with the one that started them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

OURS = (
    "from haulage import children as c; import time; c.end_with_parent(); print(flush=True); time.sleep(60)"
)
STARTED = {
    "ours": f"children.start([sys.executable, '-c', {OURS!r}], stdout=subprocess.PIPE)",
    "other": "children.start_other(['sh', '-c', 'echo; exec sleep 60'], stdout=subprocess.PIPE)",
}
PARENT = """
import subprocess, sys, time
from haulage import children
child = {started}
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("started", STARTED.values(), ids=STARTED)
def test_a_child_ends_with_its_parent_that_was_killed(started: str) -> None:
    command = [sys.executable, "-c", PARENT.format(started=started)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
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
