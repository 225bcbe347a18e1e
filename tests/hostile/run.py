"""Runs the command against the service of a case, in a folder of its own, and keeps all that came of it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from string import Template
from typing import Any

from command import clean_environment
from hostile import tls
from hostile.case import HUGE, LARGE, ROWS, TREE, Case, Line
from hostile.credentials import SAS, environment, options
from hostile.documents import crc_header
from hostile.limited import limited
from hostile.objects import pieces
from hostile.service import Service, serve
from hostile.wire import Request

#: Where a line may write: the destination of its copies, and what it was told to record.
DOWN, OUT = "work/down", "work/out"
JOBS = ("cp", "verify")
#: What is worth being loaded before the command runs, by the scheme of its names.
LOADED = {"az-table": "haulage.tables.moving.cli"}


@dataclass(frozen=True)
class Ran:
    """What a line left behind."""

    case: Case
    line: Line
    credential: str
    folder: Path
    code: int
    peak_mib: float
    seconds: float
    stdout: bytes
    stderr: str
    service: Service
    elsewhere: Service
    before: dict[str, bytes | None] = field(repr=False)

    @property
    def verb(self) -> str:
        return self.line.text.split()[0]

    @property
    def requests(self) -> list[Request]:
        return self.service.requests

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The lines of `--json`, as far as they can be read."""
        return [json.loads(line) for line in self.stdout.splitlines()] if self.talks_json else []

    @property
    def talks_json(self) -> bool:
        """Whether standard output is lines of JSON, not text or an object."""
        return self.case.json and self.verb != "cat"

    @property
    def failures(self) -> list[dict[str, Any]]:
        """All failures that are told to programs."""
        told = [event for event in self.events if event.get("event") == "error"]
        return told + [failure for event in self.events for failure in event.get("failures") or ()]

    @property
    def summary(self) -> dict[str, Any]:
        """The summary of a job; empty where there is none."""
        return next((event for event in self.events if event.get("event") == "summary"), {})

    def objects(self, outcome: str) -> list[dict[str, Any]]:
        """The objects that ended so."""
        return [
            event for event in self.events if event.get("event") == "object" and event["outcome"] == outcome
        ]

    @property
    def down(self) -> dict[str, bytes]:
        """The files at the destination that are not partial ones."""
        root = self.folder / DOWN
        files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
        kept = {name: path for name, path in files.items() if not path.name.startswith(".haul-")}
        return {name: path.read_bytes() for name, path in kept.items()}

    def __str__(self) -> str:
        """What was run and said, for messages."""
        said = self.stdout.decode(errors="replace").splitlines()[-3:] + self.stderr.splitlines()[-4:]
        short = [line if len(line) < 600 else f"{line[:200]} ... {line[-400:]}" for line in said]
        shown = ["".join(c if c.isprintable() else f"<{ord(c):x}>" for c in line) for line in short]
        return "\n".join([f"haul {self.line.text} ({self.credential}, {self.seconds:.1f} s)", *shown])


def run(case: Case, line: Line, credential: str, folder: Path) -> Iterator[Ran]:
    """Yield the run of a line, with its service and its folder still there."""
    lay_out(folder)
    if "huge" in line.text or HUGE in case.blobs.values():
        (folder / "work/huge").write_bytes(HUGE)
        # The service is to look at it in no time.
        for data in (HUGE, *pieces(HUGE)):
            crc_header(data)
    if case.scheme == "az-table":
        # An import keeps how far it is beside its file.
        (folder / DOWN).mkdir()
        lines = "".join(f"{json.dumps(row)}\n" for row in ROWS)
        (folder / DOWN / "rows.jsonl").write_text(lines, encoding="utf-8")
    before = contents(folder)
    manners = tls.manners(case.tls, case.sip)
    blobs = {_fill(name, folder): content for name, content in case.blobs.items()}
    with serve(blobs, case.bending, manners, case.page_size, case.scheme) as (service, elsewhere):
        env = environment(credential, service, secure=bool(case.tls))
        with (
            Path(os.devnull).open("rb") as stdin,
            (folder / "stdout").open("w+b") as stdout,
            (folder / "stderr").open("w+b") as stderr,
        ):
            took = limited(
                "haulage.tables.moving.cli" if case.scheme == "az-table" else "haulage._engine"
            ).run(
                _words(case, line, credential, service, folder),
                case.within,
                folder=folder / "work",
                # What is remembered of a slow link is no concern of these.
                env=clean_environment(folder / "home")
                | {"XDG_CACHE_HOME": os.devnull}
                | env
                | tls.trust(case.tls),
                streams=[file.fileno() for file in (stdin, stdout, stderr)],
            )
            stdout.seek(0)
            stderr.seek(0)
            said, talked = stdout.read(), stderr.read().decode(errors="surrogateescape")
        for name in ("stdout", "stderr"):
            (folder / name).unlink()
        yield Ran(
            case=case,
            line=line,
            credential=credential,
            folder=folder,
            code=took.code,
            peak_mib=took.peak_kib / 1024,
            seconds=took.seconds,
            stdout=said,
            stderr=talked,
            service=service,
            elsewhere=elsewhere,
            before=before,
        )
    shutil.rmtree(folder)


def lay_out(folder: Path) -> None:
    """Make what a line may read, where it may write, and what must stay as it is."""
    for name, content in TREE.items():
        path = folder / "work/up" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for name in ("home", "outside", OUT):
        (folder / name).mkdir()
    (folder / "outside/kept").write_bytes(b"as it was")
    (folder / "work/big").write_bytes(LARGE)


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return all that lies where nothing may change: files with their bytes, and folders."""
    found: dict[str, bytes | None] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if name != DOWN and not name.startswith((f"{DOWN}/", f"{OUT}/")):
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def _words(case: Case, line: Line, credential: str, service: Service, folder: Path) -> list[str]:
    """Return the arguments: the line with its names filled in, and what every line of its verb gets."""
    words = [_fill(word, folder) for word in shlex.split(line.text)]
    if credential == "sas-url":
        url = service.secure_url if case.tls else service.url
        words = [
            re.sub("^az(?:-table)?://(.*)", lambda found: f"{url}/{found[1]}?{SAS}", word) for word in words
        ]
    words += shlex.split(case.options) + list(options(credential))
    if words[0] in JOBS:
        words += ["--record", "out/run.parquet"]
    if words[0] == "cp":
        words += ["--receipt", "out/receipt.jsonl"]
    if case.json and words[0] != "cat":
        words += ["--json"]
    return words


def _fill(text: str, folder: Path) -> str:
    """Put the path that a name or a word means for `$outside`: nothing of ours may come there."""
    return Template(text).safe_substitute(outside=str(folder / "outside"))
