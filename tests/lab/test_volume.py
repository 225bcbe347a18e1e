"""A million attempts are analysed in little time and memory: a hundredth of them always, more on request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lab import synthetic

#: Its own process, so that what pytest holds is not counted. Says processor seconds and peak memory in MiB:
#: the kernel's own books, because getrusage counts what the parent held when it was started.
ANALYSE = """
import pathlib, re, sys, time
from haulage.lab.analysis import analyse
found = analyse(pathlib.Path(sys.argv[1]))
peak = re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())
print(len(found.results), time.process_time(), int(peak[1]) / 1024)
"""


def analyse(folder: Path) -> tuple[int, float, float]:
    ran = subprocess.run(
        [sys.executable, "-c", ANALYSE, str(folder)], check=True, capture_output=True, text=True
    )
    results, seconds, memory = ran.stdout.split()
    return int(results), float(seconds), float(memory)


@pytest.mark.long
def test_ten_thousand_attempts(tmp_path: Path) -> None:
    results, _, memory = analyse(synthetic.write(tmp_path / "run", attempts=10_000))
    assert results > 25
    assert memory < 600


@pytest.mark.long
def test_a_hundred_thousand_attempts(tmp_path: Path) -> None:
    results, seconds, memory = analyse(synthetic.write(tmp_path / "run", attempts=100_000))
    assert results > 25
    assert seconds < 25
    assert memory < 600


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_million_attempts(tmp_path: Path) -> None:
    results, seconds, memory = analyse(synthetic.write(tmp_path / "run", attempts=1_000_000))
    assert results > 25
    assert seconds < 30
    assert memory < 1024
