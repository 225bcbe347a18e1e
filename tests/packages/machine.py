"""A small machine of its own: a Debian without compilers, a network with only itself, its own processes."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CHROOTS = ROOT / "build/chroots"
PACKAGES = ROOT / "build/packages"
#: What people have, and nothing of the machine that runs the tests.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "TERM": "xterm",
}


@dataclass(frozen=True)
class Ran:
    """What a command in the machine said."""

    line: str
    code: int
    out: str
    err: str


@dataclass
class Machine:
    """A running machine."""

    process: int  #: its first process, as this machine numbers it
    root: Path  #: its files, as its own processes see them from here
    environment: dict[str, str] = field(default_factory=lambda: dict(ENVIRONMENT))

    def enter(self, *words: str) -> list[str]:
        """Return the line that runs `words` in it."""
        number = str(self.process)
        inside = f"/proc/{number}/root"
        return [
            "nsenter",
            "-t",
            number,
            "-m",
            "-n",
            "-p",
            "-u",
            "-i",
            f"--root={inside}",
            f"--wd={inside}",
            *words,
        ]

    def __call__(
        self,
        line: str | Sequence[str],
        *,
        code: int | None = 0,
        env: Mapping[str, str] = {},
        cwd: str = "/root",
        timeout: float = 300,
    ) -> Ran:
        """Run a line of a shell, or words, to its end; fail unless it ends with `code`."""
        words = ["sh", "-euc", line] if isinstance(line, str) else list(line)
        ran = subprocess.run(
            self.enter("env", "-C", cwd, *words),
            env=self.environment | dict(env),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            check=False,
        )
        said = line if isinstance(line, str) else shlex.join(line)
        result = Ran(
            said, ran.returncode, ran.stdout.decode(errors="replace"), ran.stderr.decode(errors="replace")
        )
        shown = f"{said}\nended with {result.code}:\n{result.out[-3000:]}\n{result.err[-3000:]}"
        assert code is None or result.code == code, shown
        assert "Traceback (most recent" not in result.err, shown
        assert "panicked at" not in result.err, shown
        return result

    def start(self, *words: str, env: Mapping[str, str] = {}) -> subprocess.Popen[str]:
        """Start a command in it, whose standard output can be read."""
        return subprocess.Popen(
            self.enter("env", "-C", "/root", *words),
            env=self.environment | dict(env),
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
        )

    def write(self, path: str, text: str) -> None:
        """Write a file in it."""
        subprocess.run(self.enter("sh", "-c", f"cat >{shlex.quote(path)}"), input=text.encode(), check=True)


@contextmanager
def machine(suite: str, **folders: Path) -> Iterator[Machine]:
    """Run a machine with the Debian of `suite`; each of `folders` can be read at `/NAME`."""
    lower = CHROOTS / suite
    assert lower.is_dir(), f"{lower} is not there (hint: make {lower.relative_to(ROOT)})"
    bindings = [f"{path}=/{name}" for name, path in folders.items()]
    with tempfile.TemporaryDirectory(prefix="haulage-machine-") as scratch:
        # No shared mount: nothing that is mounted here is seen outside.
        own = ["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child"]
        line = [*own, "sh", str(HERE / "machine.sh"), str(lower), scratch, *bindings]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n", "no machine (hint: it needs root)"
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                yield Machine(int(children[0]), Path(scratch))
            finally:
                process.kill()


def sample_data() -> Path:
    """Return the folder of the climate files that the demo moves."""
    found = find_spec("iris_sample_data")
    assert found is not None and found.origin is not None, "iris-sample-data is missing"  # noqa: PT018
    return Path(found.origin).parent / "sample_data"
