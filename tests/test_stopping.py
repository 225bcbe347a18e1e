"""Commands that serve until Ctrl-C: the same exit code whenever it comes, once their address is printed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import HAUL, clean_environment
from haulage.commands import interrupts
from haulage.web.stopping import stopped_by_ctrl_c

#: Seconds between the address and the signal: before the server has handlers of its own, and after.
MOMENTS = (0.0, 0.002, 0.005, 0.3)


def start(home: Path, words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(HAUL), *words],
        env=clean_environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["doctor", "--serve", "--json"], 0),
        (["view", "FOLDER", "--json"], 0),
        (["table", "serve", "FOLDER/rows.parquet", "--listen", "127.0.0.1:0", "--json"], 0),
        # This one shows what others do, and did not see the end of it.
        (["watch", "FOLDER", "--follow", "--web", "--json"], 130),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)
def test_the_exit_code_does_not_depend_on_the_moment(words: list[str], code: int, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1, 2]}), folder / "rows.parquet")
    running = [start(tmp_path, [word.replace("FOLDER", str(folder)) for word in words]) for _ in MOMENTS]
    for process, moment in zip(running, MOMENTS, strict=True):
        stream = process.stderr if words[0] == "watch" else process.stdout
        assert stream is not None
        assert "http://127.0.0.1:" in stream.readline()
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        # One that comes while it ends changes nothing.
        process.send_signal(signal.SIGINT)
    said = [process.communicate(timeout=60)[1] for process in running]
    assert [process.returncode for process in running] == [code] * len(MOMENTS), said
    assert not [text for text in said if "Traceback" in text or "Warning" in text], said


def test_within_the_block_ctrl_c_raises_nothing_and_afterwards_it_does() -> None:
    before = signal.getsignal(signal.SIGINT)
    calls: list[int] = []
    with stopped_by_ctrl_c(lambda: calls.append(1)):
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before, "nothing came, so nothing changed"
    try:
        with stopped_by_ctrl_c(lambda: calls.append(1)):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert calls == [1, 1, 1]
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_leaves_signals_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def serve() -> None:
        with stopped_by_ctrl_c(lambda: None):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_signal_that_comes_just_before_a_system_call_ends_it() -> None:
    """A read of a pipe to which nobody wrote went on, and Ctrl-C was lost."""
    # `interrupt_main` is what is left of such a signal: it is noted, and ends no call.
    code = """import _thread, os, queue, signal, subprocess, sys, threading, time
from haulage.commands import interrupts
interrupts.take()
interrupts.ONCE_SECONDS = 0.0
signal.alarm(20)
os.mkfifo(sys.argv[1])
waits = {
    "read": lambda: os.fdopen(os.pipe()[0], "rb").read(1 << 20),
    "open": lambda: open(sys.argv[1], "rb"),
    "get": queue.Queue().get,
    "sleep": lambda: time.sleep(60),
    "wait": lambda: subprocess.Popen(["cat"], stdin=subprocess.PIPE).wait(),
}
for name, wait in waits.items():
    threading.Timer(0.1, _thread.interrupt_main).start()
    try:
        wait()
    except KeyboardInterrupt:
        print(name)"""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-c", code, f"{folder}/pipe"]
        ended = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stdout.split()) == (0, ["read", "open", "get", "sleep", "wait"])


def test_what_follows_ctrl_c_at_once_is_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some commands said twice that they were interrupted."""
    monkeypatch.setattr(interrupts, "_interrupted", 0.0)
    with pytest.raises(KeyboardInterrupt):
        interrupts.interrupt()
    interrupts.interrupt()
    monkeypatch.setattr(interrupts, "ONCE_SECONDS", 0.0)
    with pytest.raises(KeyboardInterrupt):
        interrupts.interrupt()


def test_a_signal_that_comes_while_the_interpreter_ends_changes_nothing() -> None:
    """The exit code was that of a process that SIGINT has killed."""
    code = """import atexit, os, sys
for number in (1, 2):
    atexit.register(os.kill, os.getpid(), 2)
from haulage.__main__ import main
sys.argv = ["haul", "why", "none"]
sys.exit(main())"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (4, 1)


def test_a_command_that_is_interrupted_while_it_is_loaded_says_so() -> None:
    code = """import sys
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "haulage.doctor.cli":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Slow())
from haulage.__main__ import main
sys.argv = ["haul", "doctor"]
sys.exit(main())"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "haul: interrupted\n")


def test_a_signal_that_comes_when_all_is_done_changes_nothing(tmp_path: Path) -> None:
    """The command said that it was interrupted, and its last line that it was not."""
    (tmp_path / "from").mkdir()
    for number in range(400):
        (tmp_path / "from" / f"{number:03}").write_bytes(b"same")
    process = subprocess.Popen(
        [str(HAUL), "cp", "from", "to", "--json", "--receipt", "receipt"],
        cwd=tmp_path,
        env=clean_environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # Nobody reads what it says, so it is there still when all is done.
    while not (tmp_path / "receipt").exists():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=60)
    summary = json.loads(stdout.splitlines()[-1])
    assert (summary["event"], summary["objects_done"]) == ("summary", 400)
    assert (process.returncode, summary["exit_code"]) == (0, 0), stderr
    assert b"interrupted" not in stderr
