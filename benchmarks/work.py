"""Carries out a case: prepare, let every arm do it in turn, keep what each run cost and came to."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cases import Case
from endpoints import Endpoint, serve
from fill import fill
from harness import Rows, Weight, orders, random_file, random_files, scratch, weigh
from links import parse
from tools import Tool

#: No run is given less than this, whatever its work.
LEAST_LIMIT_S, MOST_LIMIT_S = 60.0, 600.0


@dataclass(frozen=True)
class Work:
    """A case, with its server up and its files there."""

    case: Case
    tools: Mapping[str, Tool]
    at: Endpoint
    folder: Path  #: in memory
    quick: bool

    @property
    def many(self) -> bool:
        """Whether a name stands for a folder."""
        return self.case.count > 1

    @property
    def source(self) -> Path:
        """What uploads read."""
        return self.folder / "source"

    def run(self, arm: str, number: int) -> tuple[Weight, dict[str, Any]]:
        """Let ``arm`` do the work once; leave nothing behind."""
        tool, case, target = self.tools[arm], self.case, self.folder / "back"
        name = f"{arm}-{number}"
        notes: dict[str, Any] = {}
        if case.does == "version":
            return self.weigh(tool, list(tool.version_words)), notes
        if case.does == "list":
            return self.weigh(tool, tool.names(self.at, "names")), notes
        if case.does == "down":
            weight = self.weigh(tool, tool.down(self.at, "seed", target, self.many))
            _remove(target)
            return weight, notes
        says = self.folder / "says" if case.events and arm == "haul" else None
        weight = self.weigh(tool, tool.up(self.at, self.source, name, self.many), says)
        if says:
            notes["requests"] = count(says)
        if case.does == "same":
            notes["same"] = self.reads_back(name)
        return weight, notes

    def weigh(self, tool: Tool, words: list[str], says: Path | None = None) -> Weight:
        """Run a tool with what the case adds, and clear what a sink has gathered."""
        extra = [*self.case.options.get(tool.name, ()), *(["--json"] if says else [])]
        env = tool.env(self.at) | dict(self.at.env) | {"NO_PROXY": "127.0.0.1"}
        try:
            return weigh([*tool.start, *words, *extra], env, limit_s=limit_s(self.case), says=says)
        finally:
            for path in self.at.spent.iterdir() if self.at.spent else ():
                _remove(path)

    def reads_back(self, name: str) -> bool:
        """Whether haul reads the bytes that lie in the source."""
        back = self.folder / "back"
        haul = self.tools["haul"]
        self.weigh(haul, haul.down(self.at, name, back, many=False))
        same = back.exists() and digest(back) == digest(self.source)
        _remove(back)
        return same


def carry_out(
    case: Case, tools: Mapping[str, Tool], arms: list[str], rounds: int, rows: Rows, quick: bool
) -> None:
    """Run ``case`` with ``arms`` and keep every run."""
    with prepared(case, tools, arms[0], quick) as work:
        for number, place, arm in orders(case.name, arms, rounds):
            weight, notes = work.run(arm, number)
            task = {"name": case.title, "size_bytes": case.bytes, "objects": case.count}
            row = {
                "case": case.name,
                "task": task,
                "quick": quick,
                "arm": arm,
                "round": number,
                "place": place,
            }
            rows.keep(row | asdict(weight) | notes)
            failed = "" if weight.exit_code == 0 else f", exit code {weight.exit_code}"
            print(
                f"  {case.title:<30} {arm:<8} round {number + 1}/{rounds}: {weight.wall_s:7.2f} s, "
                f"{weight.cpu_s:6.2f} CPU-s, {weight.max_rss_mib:5.0f} MiB{failed}",
                flush=True,
            )


@contextmanager
def prepared(case: Case, tools: Mapping[str, Tool], first: str, quick: bool) -> Iterator[Work]:
    """Start the server of a case and lay out its files."""
    haul = Path(tools["haul"].start[0])
    with scratch(case.bytes + (64 << 20)) as folder, serve(case, haul, folder, case.size) as at:
        work = Work(case, tools, at, folder, quick)
        if case.does == "list":
            fill(at.url, "bench", at.sas, "names/", case.count)
        elif case.does in ("up", "same"):
            lay_out(case, work.source)
        elif case.does == "down":
            _seed(work, first)
        yield work


def _seed(work: Work, first: str) -> None:
    """Upload what downloads read; haul does it, if it speaks to this server."""
    case = work.case
    lay_out(case, work.source, sparse=case.store == "null" and not work.many)
    tool = work.tools["haul" if "haul" in case.arms else first]
    words = tool.up(work.at, work.source, "seed", work.many) + list(case.seed)
    weight = work.weigh(tool, words)
    assert weight.exit_code == 0, "the preparation failed"
    _remove(work.source)


def lay_out(case: Case, source: Path, sparse: bool = False) -> None:
    """Make the files of a case; ``sparse`` where the store drops their bytes anyway."""
    if case.count > 1:
        random_files(source, case.count, case.size)
    elif sparse:
        with source.open("wb") as file:
            file.truncate(case.size)
    else:
        random_file(source, case.size)


def limit_s(case: Case) -> float:
    """Return after how long a run is given up: 20 times what the link needs, 50 files a second, in bounds."""
    ideal = parse(case.link).ideal_s(case.bytes * 8)
    faulty = 120.0 if case.faults else 0.0
    return min(MOST_LIMIT_S, max(LEAST_LIMIT_S, 20 * ideal, case.count / 50, faulty))


def count(says: Path) -> dict[str, Any]:
    """Count haul's requests by what became of them, from the events it printed (docs/reference/events.md)."""
    fates: Counter[str] = Counter()
    summary: dict[str, Any] = {}
    with says.open() as lines:
        for line in lines:
            event = json.loads(line)
            # A step on this machine has no connection; a request may fail before it has one.
            if event["event"] == "attempt" and (event["connection"] or event["fate"] != "ok"):
                fates[event["fate"]] += 1
            elif event["event"] == "summary":
                summary = {name: event[name] for name in ("requests", "retries", "objects_failed", "chosen")}
    says.unlink()
    return {"fates": dict(fates), **summary}


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
