"""Runs rclone's own integration tests of its cloud backends against `haul emulate`.

rclone's source comes from the Go module proxy, in the version of the rclone in .venv. A test that fails, a
run that ends early, and a skip that is neither one of rclone's own (`KNOWN_SKIPS`) nor for what the emulator
says that it does not do (`NOT_HERE`) make the whole end with 1.

    make peers-suites                                  minutes, most of them for Go's compiler
    make peers-suites ARGS="--only azureblob --log build/peers-suites"
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from command import HAUL, clean_environment
from endpoints import RCLONE

MODULE = "github.com/rclone/rclone"
#: Seconds for the tests of one remote; they take two minutes.
PATIENCE = 1800
#: The section of rclone's configuration, which its tests take for the name of the remote.
REMOTE = "TestPeer"

Outcome = Literal["PASS", "FAIL", "SKIP"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Suite:
    """The tests of a backend, and a remote for them."""

    name: str
    backend: str
    """rclone's package below `backend/`."""
    remote: Mapping[str, str]
    """Settings of the remote; `{name}` is a value of the endpoint's."""


AZURE = {"type": "azureblob", "account": "{AccountName}", "key": "{AccountKey}", "endpoint": "{BlobEndpoint}"}
S3 = {
    "type": "s3",
    "provider": "Other",
    "force_path_style": "true",
    "region": "{region}",
    "endpoint": "{endpoint_url}",
    "access_key_id": "{access_key_id}",
    "secret_access_key": "{secret_access_key}",
}
SUITES = (
    Suite("azureblob", "azureblob", AZURE),
    Suite("azureblob, copies in parts", "azureblob", AZURE | {"use_copy_blob": "false"}),
    Suite("azureblob, directory markers", "azureblob", AZURE | {"directory_markers": "true"}),
    Suite("s3", "s3", S3),
    Suite("s3, directory markers", "s3", S3 | {"directory_markers": "true"}),
)

#: Skips by their words: what rclone's backend cannot do, or is for others.
KNOWN_SKIPS = (
    "FS has no ",
    "FS can't ",
    "FS does not support About",
    "Not a wrapping Fs",
    "Not Case Insensitive",
    "No commands in this remote",
    "method not supported",
    "Can't have // in paths",
    "Can't test if can't have empty directories",
    "Can have empty directories",
    "Skipping as -remote set",
    "skipping as -remote is set",
    "needs --s3-directory-markers",
)
#: What the emulator does not do, as docs/guides/emulator.md says, so that rclone has nothing to try.
NOT_HERE = ("PUT ?versioning is not known here", "GET ?object-lock is not known here")


@dataclass(frozen=True)
class Ended:
    """How a test ended; why, where it was left out."""

    name: str
    outcome: Outcome
    reason: str = ""

    @property
    def is_bad(self) -> bool:
        unknown = not any(words in self.reason for words in (*KNOWN_SKIPS, *NOT_HERE))
        return self.outcome == "FAIL" or (self.outcome == "SKIP" and unknown)


def main() -> int:
    """Run the suites that are asked for, and say what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="BACKEND", help="azureblob or s3")
    parser.add_argument("--log", metavar="DIR", type=Path, help="keep what the tests print")
    args = parser.parse_args()
    wanted = [suite for suite in SUITES if args.only in (None, suite.backend)]
    if not wanted:
        parser.error(f"no backend is called {args.only}")
    with tempfile.TemporaryDirectory(prefix="haul-peers-") as name:
        logs = args.log or Path(name) / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        ended = [run(suite, Path(name), logs) for suite in wanted]
    return 0 if all(ended) else 1


def run(suite: Suite, folder: Path, logs: Path) -> bool:
    """Run one suite against an endpoint of its own; whether all is well."""
    with serving(folder) as values:
        settings = {name: text.format_map(values) for name, text in suite.remote.items()}
        log = logs / f"{re.sub(r'[^a-z0-9]+', '-', suite.name)}.log"
        code = execute(compiled(suite.backend, folder), settings, folder, log)
    tests = list(outcomes(log.read_text(errors="replace").splitlines()))
    report(suite, tests, code)
    if code not in (0, 1) or (code and not any(test.is_bad for test in tests)):
        print(
            "".join(f"  | {line}\n" for line in log.read_text(errors="replace").splitlines()[-30:]),
            flush=True,
        )
    return code == 0 and bool(tests) and not any(test.is_bad for test in tests)


def report(suite: Suite, tests: Sequence[Ended], code: int) -> None:
    """Print the counts, what failed, and what was left out."""
    counts = {outcome: sum(test.outcome == outcome for test in tests) for outcome in OUTCOMES}
    numbers = f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} left out"
    print(f"{suite.name}: {numbers}" + (f"; ended with {code}" if code else ""))
    for test in tests:
        if test.is_bad:
            print(f"  {test.outcome} {test.name} {test.reason}")
    reasons = sorted({test.reason for test in tests if test.outcome == "SKIP" and not test.is_bad})
    for reason in reasons:
        names = [test.name.rpartition("/")[2] for test in tests if test.reason == reason]
        lacking = any(words in reason for words in NOT_HERE)
        print(
            f"  left out {'for what is not here' if lacking else 'by rclone'} ({reason}): {', '.join(names)}"
        )
    sys.stdout.flush()


def outcomes(lines: Iterable[str]) -> Iterator[Ended]:
    """Read what Go's tests print. What a test says last before it is skipped is the reason."""
    name, said = "", dict[str, str]()
    for line in lines:
        if begun := re.match(r"=== (?:RUN|CONT|NAME) +(\S+)", line):
            name = begun[1]
        elif told := re.match(r" *\S+\.go:\d+: (.*)", line):
            said[name] = told[1]
        elif ended := re.match(r" *--- (PASS|FAIL|SKIP): (\S+) \(", line):
            name = ended[2]
            outcome = next(outcome for outcome in OUTCOMES if outcome == ended[1])
            yield Ended(name, outcome, said.get(name, "") if outcome == "SKIP" else "")


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, str]]:
    """Serve an empty endpoint; yield what clients of S3 and of Azure must know of it, by name."""
    command = [str(HAUL), "emulate", "--listen", "127.0.0.1:0", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=clean_environment(folder), cwd=folder
    ) as process:
        assert process.stdout is not None
        try:
            told: dict[str, Any] = json.loads(process.stdout.readline())
            yield told["s3"] | azure(told["connection_string"])
        finally:
            process.terminate()


def azure(connection_string: str) -> dict[str, str]:
    """Return the parts of a connection string."""
    return dict(part.split("=", 1) for part in connection_string.strip(";").split(";"))


def compiled(backend: str, folder: Path) -> Path:
    """Return the program with a backend's tests; build it where there is none yet."""
    program = folder / f"{backend}.test"
    if not program.exists():
        subprocess.run(
            ["go", "test", "-c", "-o", program, f"./backend/{backend}"],
            cwd=source(),
            check=True,
            timeout=PATIENCE,
        )
    return program


def source() -> Path:
    """Fetch rclone's source in the version of the program that the other tests use."""
    built = subprocess.run(["go", "version", "-m", RCLONE], capture_output=True, text=True, check=True).stdout
    version = re.search(rf"^\s*(?:mod|dep)\s+{re.escape(MODULE)}\s+(\S+)", built, re.MULTILINE)
    assert version, f"{RCLONE} does not say which version it is"
    # What is released is built with files beside its source that git does not know.
    command = ["go", "mod", "download", "-json", f"{MODULE}@{version[1].removesuffix('+dirty')}"]
    fetched = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return Path(json.loads(fetched)["Dir"])


def execute(program: Path, settings: Mapping[str, str], folder: Path, log: Path) -> int:
    """Run the tests with a configuration that knows this one remote; within the source, as they demand."""
    config = folder / "rclone.conf"
    lines = [f"[{REMOTE}]", *(f"{name} = {value}" for name, value in settings.items())]
    config.write_text("\n".join(lines) + "\n")
    config.chmod(0o600)
    env = clean_environment(folder) | {"RCLONE_CONFIG": str(config), "TMPDIR": str(folder)}
    command = [str(program), "-test.v", f"-test.timeout={PATIENCE}s", "-remote", f"{REMOTE}:"]
    with log.open("wb") as out:
        ran = subprocess.run(
            command,
            cwd=source(),
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE + 60,
            check=False,
        )
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
