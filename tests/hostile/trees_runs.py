"""Runs the command where it may do anything: with a time, a memory and exit codes that it must keep to."""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import subprocess
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

import sandbox
from command import HAUL, Haul, Result
from haulage import _engine
from hostile.limited import limited, waits

MIB = 1 << 20
#: All exit codes that the documents know.
DOCUMENTED = frozenset({0, *_engine.error_kinds().values()})
#: The process never holds more, whatever it is given.
MEMORY_MAX = 256 * MIB

#: Root sees and may write what its owner has closed; with these in front it is a user like any other.
AS_A_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@dataclass(frozen=True)
class Ran(Result):
    """What a run left behind, and what it took."""

    peak_bytes: int
    cpu_s: float = math.nan  #: of one that was not wrapped

    @property
    def said(self) -> str:
        """All that a person would have seen."""
        return self.stderr + self.stdout[:MIB].decode(errors="replace")

    def says(self, *words: str) -> None:
        """Fail unless it says all of these."""
        for word in words:
            assert word in self.said, f"nothing of {word!r} in:\n{self.said[-3000:]}"

    @property
    def has_hint(self) -> bool:
        return "(hint: " in self.stderr


class Watched:
    """The command as it runs; `finish` says how it went."""

    def __init__(
        self,
        haul: Haul,
        *args: str | bytes | Path,
        wrap: Sequence[str] = (),
        stdin: int | IO[bytes] | None = None,
        stdout: int | IO[bytes] | None = None,
    ) -> None:
        self.line = [*wrap, str(HAUL), *map(os.fsdecode, args)]
        self._out, self._err = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115 (see finish)
        self._peak = 0
        self.process = subprocess.Popen(
            self.line,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=self._out if stdout is None else stdout,
            stderr=self._err,
            env=haul.env,
            cwd=haul.folder,
            start_new_session=True,
        )
        self._secrets = haul.secrets

    def ends_within(self, seconds: float) -> bool:
        """Wait, unless it takes too much memory; return whether it has ended."""
        began, pause = time.monotonic(), 0.001
        while self.process.poll() is None:
            self._peak = max(self._peak, peak_of(self.process.pid))
            late = time.monotonic() - began - seconds
            # A busy machine is no command that hangs.
            if late > 0 and late > max(waits(self.process.pid).values(), default=0) / 1e9:
                return False
            if self._peak > MEMORY_MAX:
                return False
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)
        return True

    def interrupt(self) -> None:
        """Ctrl-C."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)

    def finish(self, timeout: float = 10, codes: Sequence[int] = (0,)) -> Ran:
        """Wait for its end; fail if there is none, or not one of `codes`, or it needed too much, or told too
        much.
        """
        ended = self.ends_within(timeout)
        if not ended:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        said = []
        for file in (self._out, self._err):
            file.seek(0)
            said.append(file.read())
            file.close()
        code = self.process.returncode
        ran = Ran(self.line, code, said[0], said[1].decode(errors="replace"), self._peak)
        return judged(ran, timeout if not ended else None, codes, self._secrets)


def judged(ran: Ran, too_long: float | None, codes: Sequence[int], secrets: Sequence[str]) -> Ran:
    """Fail if a run took too much or longer than `too_long` seconds, ended with another code than one of
    `codes`, fell over, or told a secret.
    """
    shown = f"{ran.args}\n{ran.said[-3000:]}"
    assert ran.peak_bytes < MEMORY_MAX, f"took {ran.peak_bytes >> 20} MiB: {shown}"
    assert too_long is None, f"no end after {too_long} s: {shown}"
    assert ran.code in codes, f"ended with {ran.code}, not {' or '.join(map(str, codes))}: {shown}"
    for trace in ("Traceback", "panicked at", "RUST_BACKTRACE"):
        assert trace not in ran.said, shown
    for secret in secrets:
        assert secret not in ran.said, "a secret was printed"
    return ran


def run(
    haul: Haul,
    *args: str | bytes | Path,
    codes: Sequence[int] = (0,),
    timeout: float = 10,
    wrap: Sequence[str] = (),
    stdin: int | IO[bytes] | None = None,
    stdout: int | IO[bytes] | None = None,
    only: bool = False,
) -> Ran:
    """Run the command to its end, which must come in time and be one of `codes`.

    With `only` it can write in its folder alone, not elsewhere in the sandbox.
    """
    if wrap:
        return Watched(haul, *args, wrap=wrap, stdin=stdin, stdout=stdout).finish(timeout, codes)
    words = [os.fsdecode(arg) for arg in args]
    with contextlib.ExitStack() as stack:
        nothing = stack.enter_context(Path(os.devnull).open("rb"))
        out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        took = limited().run(
            words,
            timeout,
            folder=haul.folder,
            env=haul.env,
            streams=[
                file if isinstance(file, int) else file.fileno()
                for file in (nothing if stdin is None else stdin, out if stdout is None else stdout, err)
            ],
            # Files with holes are longer than what a service may claim.
            bounds={},
            only=only,
        )
        for file in (out, err):
            file.seek(0)
        said, talked = out.read(), err.read().decode(errors="replace")
    ran = Ran([str(HAUL), *words], took.code, said, talked, took.peak_kib << 10, took.cpu_seconds)
    return judged(ran, timeout if took.seconds >= timeout else None, codes, haul.secrets)


def in_shell(haul: Haul, script: str, codes: Sequence[int] = (0,), timeout: float = 10) -> Ran:
    """Run a line of bash in which `haul` is the command: for what only a shell can give."""
    quoted = f'haul() {{ "{HAUL}" "$@"; }}; {script}'
    watched = Watched(haul, wrap=["bash", "-c", quoted])
    return watched.finish(timeout, codes)


def peak_of(pid: int) -> int:
    """Return the most memory that a process has held so far; 0 where it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) << 10 if found else 0


def only(folder: Path) -> Sequence[str]:
    """Return what runs a command where it can write below `folder` alone, not elsewhere in the sandbox."""
    keep = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$2" && cd "$1" && shift 2 && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", keep, "sh", str(folder), str(sandbox.require())]


def unmountable(folder: Path, kind: str) -> Sequence[str]:
    """Return what runs a command where a small, new file system lies at `folder`, for it alone."""
    return ["unshare", "--mount", "sh", "-c", f'{kind} "$0" && exec "$@"', str(folder)]


def each_with_one(lines: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the first line with every name, and every line with the first name: each by itself is what
    matters.
    """
    return [(lines[0], name) for name in names] + [(line, names[0]) for line in lines[1:]]


def each_and_rest(lines: Sequence[Any], names: Sequence[Any]) -> list[Any]:
    """Return the same, and all other pairs for `make long`."""
    return [
        pytest.param(line, name, marks=() if line == lines[0] or name == names[0] else pytest.mark.long)
        for line in lines
        for name in names
    ]


def unseen(text: str) -> list[str]:
    """Return the characters that a terminal obeys or hides instead of showing them."""
    return [
        f"U+{ord(char):04X}"
        for char in text
        if char not in "\n" and unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"}
    ]


def wait_until(true: Callable[[], bool], seconds: float = 5) -> bool:
    """Wait until something is so; return whether it came to be."""
    give_up = time.monotonic() + seconds
    while not true():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.005)
    return True


def outcomes(ran: Result) -> list[str]:
    """Return what became of the objects of a `--json` run."""
    return [record["outcome"] for record in ran.of("object")]


def failed_kinds(ran: Result) -> set[str]:
    """Return the kinds of failure of a `--json` run."""
    told: list[dict[str, Any]] = [*ran.of("error"), *(ran.events[-1].get("failures") or ())]
    return {failure["kind"] for failure in told}


@contextlib.contextmanager
def reader_of(fifo: Path) -> Iterator[Callable[[], bytes]]:
    """Read a FIFO in another process; the yielded call waits for its end and returns what came."""
    with subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE) as process:
        try:
            yield lambda: process.communicate(timeout=5)[0]
        finally:
            process.kill()


@contextlib.contextmanager
def feeding(fifo: Path, script: str) -> Iterator[None]:
    """Let a shell write into a FIFO as soon as somebody reads it, and as long as this lasts."""
    with subprocess.Popen(
        ["sh", "-c", f'exec > "$0"; {script}', str(fifo)], stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield
        finally:
            process.kill()
