"""Lets movers and syncs meet at random, with a third client and kills between, and looks for what is lost.

A trial has three places of one kind or of two, files of the same and of other content at each, and two
commands at once: each a move or a sync with `--delete` between two of the places. Runs are killed at random
and run again until they end. Then each content that nobody was told to destroy must be somewhere, whole. What
a trial does follows from its seed; when, does not.

    python tests/movers.py --trials 2000 --seed 1
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from azure.core.exceptions import ResourceNotFoundError

import endpoints
from command import Haul
from sides import fill

PLACES = ("a", "b", "c")
NAMES = ("1", "2/3", "4")
#: Pairs of these take part, by turns; each place of a trial is of one of the two.
KINDS = (
    ("az", "az"),
    ("s3", "s3"),
    ("local", "local"),
    ("gateway", "gateway"),
    ("azurite", "azurite"),
    ("az", "s3"),
    ("local", "az"),
    ("gateway", "local"),
    ("azurite", "s3"),
)
#: So far away that movers meet.
LINK = "rtt=8ms"
#: Runs of a command, alone in the end, that must do.
RUNS_MAX = 3
#: Seconds after which a run hangs.
PATIENCE = 60
#: What a run may end with where another one is in its way: objects fail, nothing is there, or it has changed.
IN_THE_WAY = {0, 1, 4, 6, -signal.SIGKILL}


@dataclass
class Trial:
    """What one does, by its seed."""

    seed: int
    kinds: tuple[str, str]
    folder: str = ""
    kind_of: dict[str, str] = field(default_factory=dict)
    held: dict[str, dict[str, bytes]] = field(default_factory=dict)
    commands: list[tuple[str, ...]] = field(default_factory=list)
    #: A place, a name, and what is put there, or nothing; and after how many seconds.
    outsider: tuple[str, str, bytes | None, float] | None = None
    #: After how many seconds a command is killed.
    kills: list[float | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = random.Random(self.seed)
        self.folder = f"t{self.seed}"
        self.kind_of = {place: rng.choice(self.kinds) for place in PLACES}
        for place in PLACES:
            chosen = [name for name in NAMES if rng.random() < 0.7]
            self.held[place] = {
                name: b"%s of %d%s"
                % (name.encode(), self.seed, place.encode() if rng.random() < 0.3 else b"")
                for name in chosen
            }
        for _ in range(2):
            verb, (one, other) = rng.choice(["mv", "mv", "mv", "sync"]), rng.sample(PLACES, 2)
            self.commands.append((verb, one, other))
        if rng.random() < 0.4:
            # So that two meet that would take the last copies from one another.
            verb, one, other = self.commands[0]
            self.commands = [("mv", one, other), ("mv", other, one)]
            self.held[other] = dict(self.held[one])
        if rng.random() < 0.4:
            brought = b"brought to %d" % self.seed if rng.random() < 0.6 else None
            self.outsider = (rng.choice(PLACES), rng.choice(NAMES), brought, rng.random() * 0.25)
        self.kills = [rng.random() * 0.25 if rng.random() < 0.35 else None for _ in self.commands]

    def owed(self, name: str, *, came_by: bool) -> set[bytes]:
        """Return contents of a name that must be there in the end, for nobody was told to destroy them."""
        contents = {held[name] for held in self.held.values() if name in held}
        if came_by and self.outsider and self.outsider[1] == name:
            return set()
        if any(verb == "sync" for verb, *_ in self.commands):
            # What only the destination of a sync has, or otherwise, goes, and what is moved there meanwhile.
            kept = [one for verb, one, _ in self.commands if verb == "sync"]
            changed = {place for _, *places in self.commands for place in places[1:]}
            changed |= {one for verb, one, _ in self.commands if verb == "mv"}
            return {self.held[one][name] for one in kept if one not in changed and name in self.held[one]}
        # Of several that go to one name the last one stays.
        return contents if len(contents) == 1 else set()


class World:
    """Services and folders in which trials take place."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        for name in ("emulator", "azurite", "gateway", "local"):
            (folder / name).mkdir()
        emulator = stack.enter_context(endpoints.emulator(folder / "emulator", link=LINK))
        azurite = stack.enter_context(endpoints.azurite(folder / "azurite"))
        gateway = stack.enter_context(endpoints.versitygw(folder / "gateway"))
        by_s3 = endpoints.by_s3(emulator)
        self.folders = {"local": folder / "local", "gateway": folder / "gateway/buckets/box"}
        self.containers = {
            "az": emulator.container(),
            "s3": emulator.container(),
            "azurite": azurite.container(),
        }
        Haul(folder, gateway.env)("mb", "s3://box")
        azure = {
            name: f'url = "{self.containers[name].az()}"\nconnection_string = "{service.connection_string}"'
            for name, service in (("az", emulator), ("azurite", azurite))
        }
        s3 = {
            name: f'url = "s3://{bucket}"\nendpoint = "{service.url}"\n'
            f'access_key_id = "{service.keys[0]}"\nsecret_access_key = "{service.keys[1]}"'
            for name, bucket, service in (
                ("s3", self.containers["s3"].name, by_s3),
                ("gateway", "box", gateway),
            )
        }
        config = folder / "config.toml"
        config.write_text("\n".join(f"[remotes.at-{name}]\n{text}" for name, text in (azure | s3).items()))
        config.chmod(0o600)
        self.haul = Haul(folder, {"HAULAGE_CONFIG": str(config)})

    def place(self, trial: Trial, place: str) -> str:
        """Return how the command names a place."""
        kind = trial.kind_of[place]
        below = f"{trial.folder}/{place}/"
        return f"{self.folders['local'] / below}/" if kind == "local" else f"at-{kind}:{below}"

    def put(self, trial: Trial, place: str, name: str, content: bytes | None) -> bool:
        """Replace what a name holds, or delete it, as a third client does; false where nothing was there."""
        kind, key = trial.kind_of[place], f"{trial.folder}/{place}/{name}"
        if kind in self.folders:
            path = self.folders[kind] / key
            if not path.is_file():
                return False
            if content is None:
                path.unlink(missing_ok=True)
            elif kind == "gateway":
                # It keeps more of an object than the file.
                self.haul("cp", "-", f"at-gateway:{key}", stdin=content)
            else:
                beside = path.with_name("beside")
                beside.write_bytes(content)
                beside.rename(path)
            return True
        blob = self.containers[kind].client.get_blob_client(key)
        if not blob.exists():
            return False
        if content is None:
            with suppress(ResourceNotFoundError):
                blob.delete_blob()
        else:
            blob.upload_blob(content, overwrite=True)
        return True

    def contents(self, trial: Trial) -> dict[str, bytes]:
        """Return all that is below the places of a trial."""
        found: dict[str, bytes] = {}
        for kind in set(trial.kind_of.values()):
            if kind in self.folders:
                root = self.folders[kind] / trial.folder
                paths = [path for path in root.rglob("*") if path.is_file()]
                found |= {f"{kind}/{path.relative_to(root)}": path.read_bytes() for path in paths}
            else:
                client = self.containers[kind].client
                for blob in client.list_blobs(name_starts_with=f"{trial.folder}/"):
                    content = client.download_blob(blob.name).readall()
                    found[f"{kind}/{blob.name.removeprefix(trial.folder + '/')}"] = content
        return found


def run(world: World, trial: Trial) -> list[str]:
    """Play a trial: what is wrong after it."""
    for place in PLACES:
        made = fill(world.haul.folder / "made" / trial.folder / place, trial.held[place])
        if trial.held[place]:
            world.haul("cp", f"{made}/", world.place(trial, place))
    lines = [
        (verb, world.place(trial, one), world.place(trial, other), *(("--delete",) if verb == "sync" else ()))
        for verb, one, other in trial.commands
    ]
    wrong: list[str] = []
    came_by = False

    def go(line: tuple[str, ...], kill: float | None) -> int:
        mover = world.haul.start(*line)
        said = b""
        with suppress(subprocess.TimeoutExpired):
            _, said = mover.communicate(timeout=kill if kill is not None else PATIENCE)
        if mover.returncode is None:
            if kill is None:
                wrong.append(f"{line} hangs")
            mover.kill()
            _, said = mover.communicate()
        if mover.returncode not in IN_THE_WAY:
            wrong.append(f"{line} ended with {mover.returncode}: {said.decode()}")
        return mover.returncode

    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(go, line, kill) for line, kill in zip(lines, trial.kills, strict=True)]
        if trial.outsider:
            place, name, content, after = trial.outsider
            time.sleep(after)
            came_by = world.put(trial, place, name, content)
        for one in running:
            one.result()
    for line in lines:
        # With nobody beside it, each comes to its end: nothing is left to be moved, or to be synced.
        for _ in range(RUNS_MAX):
            code = go(line, None)
            if code in (0, 4):
                break
        else:
            wrong.append(f"{line} does not come to an end: {code}")
    left = world.contents(trial)
    for name in NAMES:
        lost = trial.owed(name, came_by=came_by) - set(left.values())
        wrong += [f"lost: {content!r}" for content in lost]
    if all(kill is None for kill in trial.kills):
        wrong += [f"left behind: {name}" for name in left if name.endswith(".witness")]
    return wrong


def main() -> int:
    """Play as many trials as are asked for; return 1 if something is wrong in one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(10**6), help="the first one"
    )
    parser.add_argument("--beside", type=int, default=3, help="trials at once")
    asked = parser.parse_args()
    print(f"seed {asked.seed}, {asked.trials} trials")
    trials = [Trial(asked.seed + number, KINDS[number % len(KINDS)]) for number in range(asked.trials)]
    began, found = time.monotonic(), Counter[str]()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp")))
        world = World(folder, stack)
        with ThreadPoolExecutor(asked.beside) as pool:
            for trial, wrong in zip(trials, pool.map(lambda trial: run(world, trial), trials), strict=True):
                found["wrong" if wrong else "right"] += 1
                if wrong:
                    print(f"{trial}\n    " + "\n    ".join(wrong), flush=True)
                if sum(found.values()) % 100 == 0:
                    print(f"{dict(found)} after {time.monotonic() - began:.0f} s", flush=True)
    print(f"{found['right']} of {asked.trials} trials are right; seed {asked.seed}")
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
