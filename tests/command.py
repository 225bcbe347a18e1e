"""Runs the real command and says what it did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import warm
from haulage import _engine
from haulage.__main__ import run

HAUL = Path(sys.executable).parent / "haul"
#: What would make a result depend on the machine the tests run on.
FOREIGN = ("AZURE_", "AWS_", "AZCOPY_", "RCLONE_", "HAUL_", "XDG_", "COLUMNS")
FOREIGN_ENDS = ("_PROXY", "_CA_BUNDLE")
#: What the waits between attempts are multiplied by; a test of real waits sets it to 1.
TIME_SCALE = "HAUL_TEST_TIME_SCALE"
WAITS = "0.05"


def clean_environment(home: Path) -> dict[str, str]:
    """Return this process's environment without credentials or settings of the person who runs it."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(FOREIGN) and not name.upper().endswith(FOREIGN_ENDS)
    }
    # Where no key is named, no machine is asked for one.
    fixed = {"HOME": str(home), "NO_COLOR": "1", "AWS_EC2_METADATA_DISABLED": "true"}
    return kept | fixed | {TIME_SCALE: WAITS}


@dataclass(frozen=True)
class Result:
    """What a run of the command left behind."""

    args: Sequence[str]
    code: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        return self.stdout.decode()

    @property
    def events(self) -> list[dict[str, Any]]:
        """The lines of `--json`."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [event for event in self.events if event["event"] == kind]

    @property
    def summary(self) -> dict[str, Any]:
        last = self.events[-1]
        assert last["event"] == "summary", last
        return last

    @property
    def error_lines(self) -> list[str]:
        return [line for line in self.stderr.splitlines() if line.startswith("haul: ")]

    @property
    def hints(self) -> set[str]:
        """What it advised to do, to people and, with `--json`, to programs."""
        lines = (line.partition(" (hint: ") for line in self.stderr.splitlines())
        said = {hint.removesuffix(")") for _, found, hint in lines if found}
        if "--json" in self.args:
            told = [told for event in self.events for told in (event, *event.get("failures", ()))]
            said |= {failure["hint"] for failure in told if failure.get("hint")}
        return said


def in_process(*arguments: str) -> int:
    """Run `haul ARGUMENTS` in this process, without its signals; return the exit code."""
    begun = _engine.main(["haul", *arguments])
    return begun if isinstance(begun, int) else run(*begun)


class Haul:
    """The command, run in a folder of its own with an environment of its own."""

    def __init__(
        self,
        folder: Path,
        env: Mapping[str, str] = {},
        secrets: Sequence[str] = (),
        *,
        loaded: bool = False,
    ) -> None:
        """With `loaded`, commands in Python run in a process that has loaded their packages: see `warm`."""
        self.folder = folder
        self.loaded = loaded
        self.env = clean_environment(folder) | dict(env)
        self.secrets = [secret for secret in secrets if secret]

    def __call__(
        self,
        *args: str | Path,
        code: int = 0,
        stdin: bytes = b"",
        env: Mapping[str, str] = {},
        wrap: Sequence[str] = (),
        timeout: float = 100,
    ) -> Result:
        """Run it; fail unless it ends with `code`, and if it shows a traceback, a panic or a secret."""
        line = [*wrap, str(HAUL), *map(str, args)]
        ran = (self._run_loaded if self.loaded and not wrap else self._run)(line, stdin, env, timeout)
        result = Result(line, ran.returncode, ran.stdout, ran.stderr.decode(errors="replace"))
        said = result.stderr + result.stdout[:1_000_000].decode(errors="replace")
        assert result.code == code, f"{' '.join(line)}\nended with {result.code}, not {code}:\n{said[-4000:]}"
        for trace in ("Traceback", "panicked at", "RUST_BACKTRACE"):
            assert trace not in said, said[-4000:]
        for secret in self.secrets:
            assert secret not in said, "a secret was printed"
        return result

    def _run(
        self, line: Sequence[str], stdin: bytes, env: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            line,
            input=stdin,
            capture_output=True,
            env={**self.env, **env},
            cwd=self.folder,
            timeout=timeout,
            check=False,
        )

    def _run_loaded(
        self, line: Sequence[str], stdin: bytes, env: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[bytes]:
        # What is to be loaded before the command has to be there when its process starts.
        if not any(word in warm.NAMES for word in line[1:]) or "LD_PRELOAD" in env:
            return self._run(line, stdin, env, timeout)
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            given.write(stdin)
            for file in (given, out, err):
                file.seek(0)
            streams = [file.fileno() for file in (given, out, err)]
            code = warm.run(line[1:], streams, env={**self.env, **env}, cwd=self.folder, timeout=timeout)
            for file in (out, err):
                file.seek(0)
            return subprocess.CompletedProcess(line, code, out.read(), err.read())

    def start(self, *args: str | Path, own_group: bool = False) -> subprocess.Popen[bytes]:
        """Start it and return at once; a group of its own can be told what a terminal tells all of it.

        It is killed where the test ends before it.
        """
        process = subprocess.Popen(
            [str(HAUL), *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
            cwd=self.folder,
            start_new_session=own_group,
        )
        _started.append(process)
        return process

    def kill_after_blocks(self, count: int, *args: str | Path, api: str = "PutBlock") -> None:
        """Start it with `--json` among `args`; kill it when so many requests of this kind succeeded."""
        self.after_requests(count, api, lambda process: process.kill(), *args)

    def after_requests(
        self, count: int, api: str, act: Callable[[subprocess.Popen[bytes]], object], *args: str | Path
    ) -> tuple[int, str]:
        """Start it with `--json` among `args`; act when so many requests of this kind succeeded.

        Return its exit code and what it wrote to standard output until its end.
        """
        process = self.start(*args)
        assert process.stdout is not None
        seen, said = 0, b""
        for line in process.stdout:
            said += line
            seen += f'"{api}"'.encode() in line and b'"ok"' in line
            if seen == count:
                act(process)
                break
        rest, _ = process.communicate(timeout=60)
        return process.returncode, (said + rest).decode()


_started: list[subprocess.Popen[bytes]] = []


def kill_started() -> None:
    """Kill what tests have started and not ended: those that failed leave it behind."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def in_own_mounts(commands: str) -> Sequence[str]:
    """Return what runs a command line where `commands` changed the mounts, for it alone."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--mount", "sh", "-c", f'{commands} && exec "$@"', "sh"]
