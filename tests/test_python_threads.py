"""The engine in threads that come and go, and from within its own callbacks."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import trees
from command import clean_environment
from endpoints import Endpoint

GENERATIONS = """
from concurrent.futures import ThreadPoolExecutor
import haulage
for _ in range(3):
    with ThreadPoolExecutor(2) as pool:
        print(sum(pool.map(lambda i: haulage.put(f"mem://q/{i}", b"x").size_bytes, range(4))))
"""
#: The thread that imports the engine is not the main one, and ends before the others begin.
IMPORTED = """
import threading
def use():
    import haulage
    print(haulage.put("mem://q/z", b"xyzw").size_bytes)
for _ in range(2):
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
use()
"""
CALLBACK = """
import sys, haulage
def told(progress):
    haulage.put(sys.argv[1] + "status", str(progress.bytes_done).encode())
haulage.copy("file.bin", sys.argv[1] + "file", cap="80mbit", on_progress=told)
"""
HANDLER = """
import os, signal, sys, threading, haulage
def asked(*_):
    haulage.put(sys.argv[1] + "status", b"stopping")
signal.signal(signal.SIGUSR1, asked)
told = iter([lambda: os.kill(os.getpid(), signal.SIGUSR1)])
haulage.copy("file.bin", sys.argv[1] + "file", cap="80mbit", on_progress=lambda _: next(told, int)())
"""


def run(script: str, folder: Path, *args: str, env: dict[str, str] | None = None) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", script, *args],
        cwd=folder,
        env=clean_environment(folder) | (env or {}),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    ended = signal.Signals(-ran.returncode).name if ran.returncode < 0 else ran.returncode
    assert (ended, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("script", [GENERATIONS, IMPORTED], ids=["generations", "imported in a thread"])
def test_threads_follow_each_other(script: str, tmp_path: Path) -> None:
    """A new thread was taken for the first one, which had ended, and ended the process: SIGSEGV."""
    for _ in range(3):
        assert run(script, tmp_path).split() == ["4", "4", "4"]


@pytest.mark.parametrize("script", [CALLBACK, HANDLER], ids=["callback", "signal handler"])
def test_what_is_called_amid_a_call_may_call(script: str, emulator: Endpoint, tmp_path: Path) -> None:
    """The job ended with a panic of the engine, which no `except Exception` catches."""
    trees.random_file(tmp_path / "file.bin", 4 << 20)
    container = emulator.container()
    run(script, tmp_path, container.az(), env=emulator.env)
    contents = container.contents()
    assert contents["file"] == (tmp_path / "file.bin").read_bytes()
    assert contents["status"]
