"""Ctrl-C in a Python call into the engine."""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import trees
from command import clean_environment
from endpoints import Endpoint

SCRIPT = """
import signal, sys, haulage
# A runner in the background hands down SIGINT ignored, and Python leaves it so.
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    moving = lambda progress: print("moving", flush=True)
    haulage.copy("file.bin", sys.argv[1], cap="8mbit", on_progress=moving)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_takes_effect_within_a_tenth_of_a_second(emulator: Endpoint, tmp_path: Path) -> None:
    trees.random_file(tmp_path / "file.bin", 16 << 20)
    container = emulator.container()

    def once(name: str) -> float:
        with subprocess.Popen(
            [sys.executable, "-c", SCRIPT, container.az(name)],
            cwd=tmp_path,
            env=clean_environment(tmp_path) | emulator.env,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "moving\n"
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            while (line := process.stdout.readline()) == "moving\n":
                pass
            took = time.monotonic() - began
            assert line == "interrupted\n"
            return took

    # A name each: the blocks that an interrupted copy leaves would soon make the next one whole.
    # The median, because other tests' processes share the machine.
    assert statistics.median(once(f"file-{number}.bin") for number in range(5)) < 0.1
    assert container.contents() == {}
