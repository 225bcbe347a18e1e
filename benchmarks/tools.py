"""The movers under test, each told the same work in its own words."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from endpoints import ACCOUNT, BUILD, CONTAINER, Endpoint
from harness import HERE

Words = list[str]


@dataclass(frozen=True)
class Tool(ABC):
    """A mover. ``many`` says that a name stands for a folder or a prefix, not for one object."""

    name: str
    start: tuple[str, ...]  #: the command that starts it

    version_words = ("--version",)

    def version(self) -> str:
        """Return what it says of itself, in its first line."""
        line = [*self.start, *self.version_words]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()[0]

    @abstractmethod
    def up(self, at: Endpoint, source: Path, name: str, many: bool) -> Words:
        """Upload ``source`` as ``name``."""

    @abstractmethod
    def down(self, at: Endpoint, name: str, target: Path, many: bool) -> Words:
        """Download ``name`` to ``target``."""

    @abstractmethod
    def names(self, at: Endpoint, prefix: str) -> Words:
        """List all names below ``prefix``."""

    def env(self, at: Endpoint) -> dict[str, str]:
        """Return what it reads of the endpoint."""
        return {}


class Haul(Tool):
    """Ours."""

    def up(self, at: Endpoint, source: Path, name: str, many: bool) -> Words:
        return ["cp", "--progress", "none", str(source), self._remote(at, name)]

    def down(self, at: Endpoint, name: str, target: Path, many: bool) -> Words:
        return ["cp", "--progress", "none", self._remote(at, name), str(target)]

    def names(self, at: Endpoint, prefix: str) -> Words:
        return ["ls", "-r", self._remote(at, f"{prefix}/")]

    def env(self, at: Endpoint) -> dict[str, str]:
        return {} if at.speaks_s3 else {"AZURE_STORAGE_CONNECTION_STRING": at.connection_string}

    def _remote(self, at: Endpoint, name: str) -> str:
        return f"{'s3' if at.speaks_s3 else 'az'}://{CONTAINER}/{name}"


class Rclone(Tool):
    """Checks an MD5 on every block, whether asked or not."""

    version_words = ("version",)

    def up(self, at: Endpoint, source: Path, name: str, many: bool) -> Words:
        return ["copy" if many else "copyto", str(source), f"EMU:{CONTAINER}/{name}"]

    def down(self, at: Endpoint, name: str, target: Path, many: bool) -> Words:
        return ["copy" if many else "copyto", f"EMU:{CONTAINER}/{name}", str(target)]

    def names(self, at: Endpoint, prefix: str) -> Words:
        return ["lsf", "-R", f"EMU:{CONTAINER}/{prefix}"]

    def env(self, at: Endpoint) -> dict[str, str]:
        if at.speaks_s3:
            remote = {"TYPE": "s3", "PROVIDER": "Other", "ENV_AUTH": "true", "ENDPOINT": at.url}
        else:
            remote = {"TYPE": "azureblob", "ACCOUNT": ACCOUNT, "KEY": at.key, "ENDPOINT": at.url}
        return {
            "RCLONE_CONFIG": os.devnull,
            **{f"RCLONE_CONFIG_EMU_{name}": value for name, value in remote.items()},
        }


class AzCopy(Tool):
    """Takes a signature in the URL; looks at its own state every 2 s."""

    flags = ("--recursive", "--output-level", "quiet", "--log-level", "NONE")

    def up(self, at: Endpoint, source: Path, name: str, many: bool) -> Words:
        inside = f"{source}/*" if many else str(source)
        return ["copy", inside, self._remote(at, name), "--from-to", "LocalBlob", *self.flags]

    def down(self, at: Endpoint, name: str, target: Path, many: bool) -> Words:
        # A wildcard before the signature means the contents, not the folder.
        source = self._remote(at, f"{name}/*" if many else name)
        return ["copy", source, str(target), "--from-to", "BlobLocal", *self.flags]

    def names(self, at: Endpoint, prefix: str) -> Words:
        return ["list", "--location", "Blob", self._remote(at, prefix)]

    def env(self, at: Endpoint) -> dict[str, str]:
        logs = str(at.scratch / "azcopy")
        return {"AZCOPY_LOG_LOCATION": logs, "AZCOPY_JOB_PLAN_LOCATION": logs}

    def _remote(self, at: Endpoint, name: str) -> str:
        return f"{at.url}/{CONTAINER}/{name}?{at.sas}"


class Script(Tool):
    """A library, driven by a script in peers/ as its users would."""

    version_words = ("version",)

    def up(self, at: Endpoint, source: Path, name: str, many: bool) -> Words:
        return ["up-many" if many else "up", str(source), name]

    def down(self, at: Endpoint, name: str, target: Path, many: bool) -> Words:
        return ["down-many" if many else "down", name, str(target)]

    def names(self, at: Endpoint, prefix: str) -> Words:
        return ["list", prefix]

    def env(self, at: Endpoint) -> dict[str, str]:
        where = {"BENCH_URL": at.url, "BENCH_CONTAINER": CONTAINER}
        return where if at.speaks_s3 else where | {"BENCH_ACCOUNT": ACCOUNT, "BENCH_KEY": at.key}


class S5cmd(Tool):
    """Speaks S3 only."""

    version_words = ("version",)

    def up(self, at: Endpoint, source: Path, name: str, many: bool) -> Words:
        inside, into = (f"{source}/", f"{name}/") if many else (str(source), name)
        return ["--endpoint-url", at.url, "cp", inside, f"s3://{CONTAINER}/{into}"]

    def down(self, at: Endpoint, name: str, target: Path, many: bool) -> Words:
        inside, into = (f"{name}/*", f"{target}/") if many else (name, str(target))
        return ["--endpoint-url", at.url, "cp", f"s3://{CONTAINER}/{inside}", into]

    def names(self, at: Endpoint, prefix: str) -> Words:
        return ["--endpoint-url", at.url, "ls", f"s3://{CONTAINER}/{prefix}/*"]


PROGRAMS: dict[str, type[Tool]] = {"haul": Haul, "rclone": Rclone, "azcopy": AzCopy, "s5cmd": S5cmd}
SCRIPTS = {"obstore": "obstore_run.py", "azure": "azure_run.py"}
NAMES = (*PROGRAMS, *SCRIPTS)


def find(names: list[str]) -> dict[str, Tool]:
    """Return those of the named tools that are here.

    A program is looked for under its name in capitals in the environment, then beside this
    interpreter, in build/bin and build/peers, on PATH; libraries in the environment build/peers, or where
    PEERS_PYTHON says.
    """
    found: dict[str, Tool] = {}
    for name in names:
        tool = _script(name) if name in SCRIPTS else _program(name)
        try:
            if tool is None:
                raise OSError
            tool.version()
            found[name] = tool
        except (OSError, subprocess.CalledProcessError):
            print(f"{name} is not here or does not run; left out (see benchmarks/peers/README.md)")
    if "haul" not in found:
        sys.exit("haul is not here: run `make build`, or let HAUL name it")
    return found


def _program(name: str) -> Tool | None:
    places = [
        Path(sys.executable).parent,
        BUILD / "bin",
        *BUILD.glob(f"peers/lib/*/site-packages/{name}/bin"),
    ]
    search = os.pathsep.join([*map(str, places), os.environ.get("PATH", "")])
    path = os.environ.get(name.upper()) or shutil.which(name, path=search)
    return PROGRAMS[name](name, (path,)) if path else None


def _script(name: str) -> Tool | None:
    python = Path(os.environ.get("PEERS_PYTHON", BUILD / "peers/bin/python"))
    script = HERE / "peers" / SCRIPTS[name]
    return Script(name, (str(python), str(script))) if python.exists() else None
