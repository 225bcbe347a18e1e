"""Disturbs the mover at random moments and looks at every byte afterwards.

A trial copies a mixed tree up or down, is disturbed at a moment that its seed says, and runs again until
it succeeds. After the disturbance nothing may lie under a final name that is not whole; at the end everything
must be there, and what the first run had moved may not have been moved again. Each trial ends as `intact`, or
it names what went wrong, and then the campaign ends with 1.

    make campaign                                 every scenario, a quarter of an hour
    make campaign ARGS="--only kill --trials 100"
    python tests/campaign.py --list
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import trees
import troubles
from command import HAUL, clean_environment
from endpoints import Container, Emulator, Endpoint, S3Endpoint, azurite, by_s3
from troubles import Trouble

KIB, MIB = 1 << 10, 1 << 20
#: Objects of one request, of a few blocks and of many.
SIZES = (0, 1, *([4 * KIB] * 100), *([300 * KIB] * 10), 5 * MIB, 9 * MIB, 24 * MIB)
#: Blocks so small that a run has hundreds of them; the rest is found by the mover.
HOW = ("--json", "--stall-timeout", "2s")
SMALL_BLOCKS = ("--block-size", "256KiB")
#: By S3 parts are larger, and each run wants others than the one before.
PART_SIZES = ("5MiB", "10MiB", "15MiB")
IN_PARTS = ("--single-put-max", "5MiB", "--concurrency", "4")
#: So slow that most runs are still at work when they are killed, with some parts done.
S3_LINK = "rtt=2ms,total=250mbit"
#: Seconds after which an undisturbed run hangs.
PATIENCE = 120
#: Runs in which faults may still defeat an object before the campaign loses patience.
RUNS_MAX = 6

#: Set where the campaign has mounts of its own.
MOUNTED = "HAUL_CAMPAIGN_MOUNTED"

Way = Literal["up", "down"]
WAYS: tuple[Way, ...] = ("up", "down")


@dataclass(frozen=True)
class Scenario:
    """What the link and the service do, and how the run is ended."""

    name: str
    title: str
    signal: signal.Signals | None = signal.SIGKILL
    movers: int = 1
    link: str = "rtt=2ms,total=800mbit"
    faults: str = ""
    server: Literal["emulate", "azurite"] = "emulate"
    by: Literal["azure", "s3"] = "azure"
    trouble: Literal["", "full", "denied", "clock", "restart"] = ""
    ways: tuple[Way, ...] = WAYS
    trials: int = 40


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("kill", "kill -9", trials=200),
    Scenario("kill-azurite", "kill -9, against Azurite", server="azurite", link="", trials=20),
    Scenario("int", "Ctrl-C", signal.SIGINT),
    Scenario("term", "SIGTERM", signal.SIGTERM),
    Scenario("two", "two movers on one destination, one of them killed", movers=2),
    Scenario("flip", "2 % of bodies with a flipped bit", None, faults="flip=2%"),
    Scenario("cut", "5 % of connections reset in the middle of a body", None, faults="cut=5%"),
    Scenario("busy", "30 % answered 503", None, faults="busy=30%", trials=20),
    Scenario("stall", "1 % of bodies that stop moving", None, faults="stall=1%", trials=20),
    Scenario("lost", "5 % of answers lost, though the effect was done", None, faults="lost=5%", trials=20),
    Scenario(
        "truncate", "5 % of downloads that end early", None, faults="truncate=5%", ways=("down",), trials=20
    ),
    Scenario(
        "short",
        "5 % of downloads with too few bytes and a length that says so",
        None,
        faults="short=5%",
        ways=("down",),
        trials=20,
    ),
    Scenario("checksum", "5 % of answers with a wrong checksum", None, faults="checksum=5%", trials=20),
    Scenario("full", "the disk is full at half of the tree", None, trouble="full", ways=("down",), trials=10),
    Scenario("denied", "a permission that is lost", None, trouble="denied", trials=20),
    Scenario("clock", "a clock that jumps by two hours", None, trouble="clock", trials=20),
    Scenario("restart", "a server that is killed and comes back", None, trouble="restart", trials=20),
    Scenario("all", "kill -9 during all of these", faults="busy=5%,cut=3%,flip=2%,stall=0.5%", trials=60),
)
#: Scenarios that are also played by the emulator's other interface, with their trials.
BY_S3 = {
    "kill": 80,
    "int": 20,
    "two": 40,
    "flip": 40,
    "cut": 40,
    "stall": 20,
    "lost": 20,
    "checksum": 20,
    "restart": 20,
    "all": 40,
}
SCENARIOS += tuple(
    replace(
        scenario,
        name=f"s3-{scenario.name}",
        title=f"S3: {scenario.title}",
        by="s3",
        link=S3_LINK,
        trials=BY_S3[scenario.name],
    )
    for scenario in SCENARIOS
    if scenario.name in BY_S3
)


@dataclass
class Trial:
    """A row of the campaign."""

    scenario: str
    way: Way
    seed: int
    verdict: str = "intact"
    ended: int = 0  #: exit code of the disturbed run
    runs: int = 1
    moved_bytes: int = 0  #: by all runs together, as far as their requests succeeded
    excess_bytes: int = 0  #: of these, beyond what there was to move
    duplicated_bytes: int = 0  #: of these, second attempts beside a slow one
    resumed_bytes: int = 0  #: of uploads that an earlier run had begun, by later ones
    part_sizes: str = ""  #: of each run, where it matters
    integrity_retries: int = 0
    leftovers: int = 0
    seconds: float = 0.0


class Wrong(Exception):  # noqa: N818
    """What must never happen."""


def moved(lines: list[bytes]) -> int:
    """Payload of the requests that succeeded, out of the events of a run."""
    events = [json.loads(line) for line in lines if line.startswith(b'{"event":"attempt"')]
    carried = ("PutBlob", "PutBlock", "GetBlob", "PutObject", "UploadPart", "GetObject")
    return sum(e["size_bytes"] for e in events if e["api"] in carried and e["fate"] == "ok")


def duplicated(lines: list[bytes]) -> int:
    """What second attempts beside slow ones cost, where the run got as far as its summary."""
    last = json.loads(lines[-1]) if lines else {}
    return int(last.get("bytes_duplicated", 0))


class Mover:
    """The command in one trial."""

    def __init__(
        self,
        endpoint: Endpoint | S3Endpoint,
        folder: Path,
        args: tuple[str, ...],
        trouble: Trouble | None = None,
    ) -> None:
        self.env = clean_environment(folder) | endpoint.env | dict(trouble.env if trouble else {})
        self.args = [*(trouble.wrap if trouble else ()), str(HAUL), "cp", *args, *HOW]
        self.blocks: tuple[str, ...] = SMALL_BLOCKS
        self.folder = folder

    def disturb(
        self, how: signal.Signals | None, after: float, strike: Callable[[], object] | None = None
    ) -> tuple[int, list[bytes]]:
        """Run it, end it after so many seconds unless it is done, and return its code and its lines.

        With `strike` it is not ended: something happens to it then.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
            line = [*self.args, *self.blocks]
            process = subprocess.Popen(line, stdout=out, stderr=said, env=self.env, cwd=self.folder)
            if strike is not None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(after)
                strike()
            try:
                process.wait(after if how is not None else PATIENCE)
            except subprocess.TimeoutExpired:
                if how is None:
                    process.kill()
                    process.wait()
                    raise Wrong(f"it was still at work after {PATIENCE} s") from None
                process.send_signal(how)
                process.wait()
            said.seek(0)
            words = said.read()
            out.seek(0, os.SEEK_END)
            if how == signal.SIGINT and words.endswith(b"KeyboardInterrupt\n") and out.tell() == 0:
                return 130, []  # Python had not come to its first line of ours
            if b"panicked" in words or b"Traceback" in words:
                raise Wrong(f"it broke down: {words[-300:].decode(errors='replace')}")
            out.seek(0)
            return process.returncode, [line for line in out.read().splitlines() if line.endswith(b"}")]


@dataclass(frozen=True)
class Stage:
    """Where a scenario plays."""

    scenario: Scenario
    endpoint: Endpoint
    source: Path
    expected: dict[str, bytes]
    store: Path | None  #: where the emulator keeps its blobs, as plain files
    full: Container  #: holds the tree, for downloads
    typical: dict[Way, float]  #: seconds of an undisturbed run
    server: Emulator | None

    @property
    def service(self) -> Endpoint | S3Endpoint:
        """What the mover speaks to."""
        return by_s3(self.endpoint) if self.scenario.by == "s3" else self.endpoint

    def run(self, way: Way, seed: int, folder: Path) -> Trial:
        """One trial, judged."""
        trial = Trial(self.scenario.name, way, seed)
        rng = random.Random(seed)
        began = time.monotonic()
        try:
            self._run(trial, rng, folder)
        except Wrong as wrong:
            trial.verdict = str(wrong)
        trial.seconds = round(time.monotonic() - began, 3)
        return trial

    def _run(self, trial: Trial, rng: random.Random, folder: Path) -> None:
        there = self.endpoint.container() if trial.way == "up" else None
        back = folder / "back"
        args = (str(self.source), self.url(there)) if there else (self.url(self.full), str(back) + "/")
        trouble = self._trouble(back)
        mover = Mover(self.service, folder, args, trouble)
        sizes = rng.sample(PART_SIZES, len(PART_SIZES)) if self.scenario.by == "s3" else []
        self._choose_parts(trial, mover, sizes)
        after = rng.uniform(0.0, self.typical[trial.way])
        with ThreadPoolExecutor() as beside:
            others = [beside.submit(mover.disturb, None, 0) for _ in range(self.scenario.movers - 1)]
            strike = trouble.strike if trouble else None
            trial.ended, lines = mover.disturb(self.scenario.signal, after, strike)
        if trouble:
            trouble.mend()
        trial.moved_bytes, trial.duplicated_bytes = moved(lines), duplicated(lines)
        for other in others:
            if (code := other.result()[0]) != 0:
                raise Wrong(f"the mover that was left alone ended with {code}")
        self._check_code(trial, lines)
        self._compare(self._stored(there) if there else _whole_files(back), whole=trial.ended == 0)
        code = trial.ended
        while code != 0:
            if trial.runs == RUNS_MAX:
                raise Wrong(f"run {RUNS_MAX} still ended with {code}")
            trial.runs += 1
            self._choose_parts(trial, mover, sizes)
            code, lines = mover.disturb(None, 0)
            trial.moved_bytes += moved(lines)
            trial.duplicated_bytes += duplicated(lines)
            trial.resumed_bytes += int(json.loads(lines[-1]).get("bytes_resumed", 0)) if lines else 0
            if code not in (0, 1):
                raise Wrong(f"run {trial.runs} ended with {code}")
        self._compare(self._stored(there) if there else _whole_files(back), whole=True)
        trial.integrity_retries = json.loads(lines[-1])["integrity_retries"]
        size = sum(map(len, self.expected.values()))
        trial.excess_bytes = trial.moved_bytes - size if self.scenario.movers == 1 else 0
        again = trial.excess_bytes - trial.duplicated_bytes
        if not (self.scenario.faults or self.scenario.trouble) and again > size // 100:
            raise Wrong(f"{again} bytes were sent again")
        trial.leftovers = len(list(back.rglob(".haul-*"))) if back.exists() else 0
        if there and self.scenario.by == "s3":
            self._clean(there, folder)

    @staticmethod
    def _choose_parts(trial: Trial, mover: Mover, sizes: list[str]) -> None:
        """Other parts than in the run before."""
        if sizes:
            size = sizes[(trial.runs - 1) % len(sizes)]
            mover.blocks = ("--block-size", size, *IN_PARTS)
            trial.part_sizes = f"{trial.part_sizes} {size}".strip()

    def url(self, container: Container) -> str:
        """The container as the mover is told of it."""
        return f"s3://{container.name}/" if self.scenario.by == "s3" else container.az()

    def _clean(self, container: Container, folder: Path) -> None:
        """Nothing is left of what was begun, once it is cleaned."""
        for said in ("removed ", "removed 0 leftovers"):
            line = [str(HAUL), "clean", self.url(container)]
            env = clean_environment(folder) | self.service.env
            ran = subprocess.run(line, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
            if ran.returncode != 0 or not ran.stderr.startswith(said):
                raise Wrong(f"clean ended with {ran.returncode}: {ran.stderr[-300:]}")

    def _trouble(self, back: Path) -> Trouble | None:
        match self.scenario.trouble:
            case "":
                return None
            case "restart":
                assert self.server is not None
                return troubles.restart(self.server)
            case name:
                made: Trouble = getattr(troubles, name)(back, self.source)
                return made

    def _stored(self, container: Container) -> dict[str, bytes]:
        """What the service holds, read past its faults."""
        if self.store is None:
            return container.contents()
        return _whole_files(self.store / container.name)

    def _check_code(self, trial: Trial, lines: list[bytes]) -> None:
        allowed = {
            None: (0, 1, 3) if self.scenario.trouble else (0, 1),
            signal.SIGKILL: (0, 1, -9),
            signal.SIGINT: (0, 1, 130),
            signal.SIGTERM: (0, 1, 130),
        }[self.scenario.signal]
        if trial.ended in (-(self.scenario.signal or 0), 130) and not lines:
            return  # it had not begun, and nobody was there to take the signal
        if trial.ended not in allowed:
            raise Wrong(f"it ended with {trial.ended}, not with one of {allowed}")
        if trial.ended in (1, 3):
            last = json.loads(lines[-1])
            if not (last.get("failures") or last.get("cause")):
                raise Wrong(f"it ended with {trial.ended} and named no failure")

    def _compare(self, found: dict[str, bytes], *, whole: bool) -> None:
        for name, content in found.items():
            if self.expected.get(name) != content:
                raise Wrong(f"{name} lies under its final name and is not what it should be")
        if whole and (missing := self.expected.keys() - found.keys()):
            raise Wrong(f"it said all is well, and {len(missing)} objects are missing: {min(missing)}")


def _whole_files(folder: Path) -> dict[str, bytes]:
    """What lies there under final names."""
    found = trees.contents(folder).items()
    return {name: content for name, content in found if not Path(name).name.startswith(".haul-")}


def make_tree(folder: Path, seed: int) -> dict[str, bytes]:
    """Write the tree and return its contents by name."""
    rng = random.Random(seed)
    for number, size in enumerate(SIZES):
        path = folder / f"part-{number % 5}" / f"{number:04d}-{size}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(size))
    return trees.contents(folder)


@contextmanager
def staged(scenario: Scenario, seed: int, folder: Path) -> Iterator[Stage]:
    """The server of a scenario with the tree on it."""
    source = folder / "source"
    expected = make_tree(source, seed)
    store = folder / "store" if scenario.server == "emulate" else None
    with ExitStack() as stack:
        server = None
        if store is None:
            endpoint = stack.enter_context(azurite(folder))
        else:
            faults = f"{scenario.faults},seed={seed}" if scenario.faults else ""
            server = Emulator(folder, store=str(store), link=scenario.link, faults=faults)
            stack.callback(server.kill)
            endpoint = server.endpoint
        full = endpoint.container()
        typical: dict[Way, float] = {}
        stage = Stage(scenario, endpoint, source, expected, store, full, typical, server)
        url = stage.url(full)
        for way, args in {"up": (str(source), url), "down": (url, "warm/")}.items():
            began = time.monotonic()
            mover = Mover(stage.service, folder, args)
            mover.blocks = (*mover.blocks, *(IN_PARTS if scenario.by == "s3" else ()))
            for _ in range(RUNS_MAX):
                code, _ = mover.disturb(None, 0)
                if code == 0:
                    break
            typical["up" if way == "up" else "down"] = time.monotonic() - began
        yield stage


def play(scenario: Scenario, seed: int, trials: int) -> Iterator[Trial]:
    """The trials of a scenario, half of them up and half down."""
    # In memory where there is room: it is the mover that is tried, not the disk.
    with tempfile.TemporaryDirectory(prefix="campaign-") as name:
        folder = Path(name)
        with staged(scenario, seed, folder) as stage:
            for number in range(trials):
                way = scenario.ways[number % len(scenario.ways)]
                with tempfile.TemporaryDirectory(dir=folder) as own:
                    yield stage.run(way, seed + number, Path(own))
                    if os.path.ismount(back := Path(own) / "back"):
                        subprocess.run(["umount", str(back)], check=True)


def table(rows: list[Trial]) -> str:
    """The rows by scenario and way, as Markdown."""
    titles = {scenario.name: scenario.title for scenario in SCENARIOS}
    groups: defaultdict[tuple[str, Way], list[Trial]] = defaultdict(list)
    for row in rows:
        groups[row.scenario, row.way].append(row)
    lines = ["| scenario | way | trials | intact | cut short | sent again, most | took, median |"]
    lines.append("|---|---|---|---|---|---|---|")
    for (name, way), group in groups.items():
        intact = sum(row.verdict == "intact" for row in group)
        cut_short = sum(row.ended != 0 for row in group)
        again = max(row.excess_bytes for row in group)
        took = sorted(row.seconds for row in group)[len(group) // 2]
        shown = f"{max(again, 0) / KIB:.0f} KiB" if name != "two" else ""
        lines.append(
            f"| {titles[name]} | {way} | {len(group)} | {intact} | {cut_short} | {shown} | {took:.1f} s |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=[scenario.name for scenario in SCENARIOS])
    parser.add_argument("--trials", type=int, help="for each scenario, in place of its own number")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60, help="begin no scenario after this long")
    parser.add_argument("--rows", type=Path, help="write a JSON line for each trial")
    parser.add_argument("--list", action="store_true")
    wanted = parser.parse_args()
    chosen = [scenario for scenario in SCENARIOS if not wanted.only or scenario.name in wanted.only]
    if wanted.list:
        print(*(f"{s.name:14} {s.trials:4} trials: {s.title}" for s in chosen), sep="\n")
        return 0
    in_own_mounts()
    rows: list[Trial] = []
    until = time.monotonic() + 60 * wanted.minutes
    for scenario in chosen:
        if time.monotonic() > until:
            print(f"{scenario.name}: left out, the time is over", file=sys.stderr)
            continue
        for trial in play(scenario, wanted.seed, wanted.trials or scenario.trials):
            rows.append(trial)
            _write(wanted.rows, asdict(trial))
            bad = "" if trial.verdict == "intact" else f" WRONG: {trial.verdict}"
            print(
                f"{trial.scenario} {trial.way} seed {trial.seed}: {trial.seconds:.1f} s, "
                f"ended with {trial.ended}, {trial.runs} runs{bad}",
                file=sys.stderr,
            )
    print(table(rows))
    verdicts = Counter(row.verdict == "intact" for row in rows)
    print(f"\n{len(rows)} trials, {verdicts[True]} intact, {verdicts[False]} wrong")
    return int(verdicts[False] > 0)


def in_own_mounts() -> None:
    """Begin again where what is mounted is seen by nobody else and gone at the end."""
    if os.environ.get(MOUNTED):
        return
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    os.environ[MOUNTED] = "yes"
    os.execvp("unshare", ["unshare", *user, "--mount", sys.executable, *sys.argv])


def _write(path: Path | None, row: dict[str, Any]) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    sys.exit(main())
