"""The movers under test, each told the same work in its own words, and the endpoint they all use."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness import HERE, Weight, weigh

ACCOUNT = "devstoreaccount1"
CONTAINER = "bench"


@dataclass(frozen=True)
class Endpoint:
    """`haul emulate` while it runs."""

    url: str
    connection_string: str
    sas: str
    scratch: Path

    @property
    def key(self) -> str:
        """The account's key, which is public knowledge."""
        parts = dict(part.split("=", 1) for part in self.connection_string.split(";") if part)
        return parts["AccountKey"]


@dataclass(frozen=True)
class Tool:
    """A mover. ``many`` says that a name stands for a folder or a prefix, not for one object."""

    name: str
    path: Path

    def version(self) -> str:
        """Return what it says of itself, in its first line."""
        line = [str(self.path), "version" if self.name == "rclone" else "--version"]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()[0]

    def up(self, at: Endpoint, source: Path, name: str, *options: str, many: bool = False) -> Weight:
        """Upload ``source`` as ``name``."""
        return self._run(at, self._copy(str(source), self._remote(at, name), "LocalBlob", many), options)

    def down(self, at: Endpoint, name: str, target: Path, *options: str, many: bool = False) -> Weight:
        """Download ``name`` to ``target``, then remove it again, which is not timed."""
        weight = self._run(at, self._copy(self._remote(at, name), str(target), "BlobLocal", many), options)
        shutil.rmtree(target) if many else target.unlink()
        return weight

    def names(self, at: Endpoint, name: str) -> Weight:
        """List all names below ``name``."""
        words = {"haul": ["ls", "-r"], "rclone": ["lsf", "-R"], "azcopy": ["list", "--location", "Blob"]}
        return self._run(at, [*words[self.name], self._remote(at, name)], ())

    def _remote(self, at: Endpoint, name: str) -> str:
        forms = {
            "haul": f"az://{CONTAINER}/{name}",
            "rclone": f"EMU:{CONTAINER}/{name}",
            "azcopy": f"{at.url}/{CONTAINER}/{name}?{at.sas}",
        }
        return forms[self.name]

    def _copy(self, source: str, target: str, way: str, many: bool) -> list[str]:
        if self.name == "haul":
            return ["cp", "--progress", "none", source, target]
        if self.name == "rclone":
            return ["copy" if many else "copyto", source, target]
        if many:  # A wildcard before the signature means the contents, not the folder.
            path, mark, query = source.partition("?")
            source = f"{path}/*{mark}{query}"
        flags = ["--from-to", way, "--recursive", "--output-level", "quiet", "--log-level", "NONE"]
        return ["copy", source, target, *flags]

    def _run(self, at: Endpoint, words: list[str], options: tuple[str, ...]) -> Weight:
        logs = str(at.scratch / "azcopy")
        env = {
            "AZURE_STORAGE_CONNECTION_STRING": at.connection_string,
            "RCLONE_CONFIG": os.devnull,
            "RCLONE_CONFIG_EMU_TYPE": "azureblob",
            "RCLONE_CONFIG_EMU_ACCOUNT": ACCOUNT,
            "RCLONE_CONFIG_EMU_KEY": at.key,
            "RCLONE_CONFIG_EMU_ENDPOINT": at.url,
            "AZCOPY_LOG_LOCATION": logs,
            "AZCOPY_JOB_PLAN_LOCATION": logs,
            "NO_PROXY": "127.0.0.1",
        }
        return weigh([self.path, *words, *options], env)


def find(names: str) -> dict[str, Tool]:
    """Return those of the named tools that are here.

    Looks at HAUL, RCLONE and AZCOPY in the environment, then beside this interpreter, in build/bin, on PATH.
    """
    found = {}
    for name in names.split(","):
        places = [Path(sys.executable).parent, HERE.parent / "build" / "bin"]
        search = os.pathsep.join([*map(str, places), os.environ.get("PATH", "")])
        path = os.environ.get(name.upper()) or shutil.which(name, path=search)
        if path and os.access(path, os.X_OK):
            found[name] = Tool(name, Path(path))
        else:
            print(f"{name} is not here or may not be run; left out (see benchmarks/peers/README.md)")
    if "haul" not in found:
        sys.exit("haul is not here: run `make build`, or let HAUL name it")
    return found


@contextmanager
def endpoint(haul: Tool, folder: Path, *options: str) -> Iterator[Endpoint]:
    """Serve an endpoint with an empty container for as long as the context is open."""
    line = [str(haul.path), "emulate", "--listen", "127.0.0.1:0", "--json", *options]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        at = Endpoint(said["endpoint"], said["connection_string"], said["sas"], folder)
        env = os.environ | {"AZURE_STORAGE_CONNECTION_STRING": at.connection_string}
        subprocess.run([haul.path, "mb", "--quiet", f"az://{CONTAINER}"], env=env, check=True)
        yield at
    finally:
        process.terminate()
        process.wait()
