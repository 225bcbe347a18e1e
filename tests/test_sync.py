"""`haul sync` and dry runs: one side becomes equal to the other, as the dry run said."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import endpoints
import trees
from command import Haul, Result
from conftest import StartEmulator
from endpoints import Container, Endpoint
from sentences import Sentence
from sides import contents, fill, place

PLANNED = {"would_copy": "copied", "would_delete": "deleted", "would_back_up": "backed_up"}


@pytest.fixture
def haul(emulator: Endpoint, tmp_path: Path) -> Haul:
    """The command, with the keys of both interfaces of the emulator."""
    return Haul(tmp_path, emulator.env | endpoints.by_s3(emulator).env, [endpoints.KEY])


def done(result: Result) -> set[tuple[str, str, str, str | None]]:
    """Return what was done, or would be, with which object and why."""
    ended = [event for event in result.of("object") if event["outcome"] != "skipped"]
    return {
        (
            PLANNED.get(e["outcome"], e["outcome"]),
            e["source"],
            e["destination"],
            e["reason"] if e["outcome"] not in ("backed_up", "would_back_up") else None,
        )
        for e in ended
    }


def numbers(result: Result) -> list[Any]:
    fields = (
        "objects_done",
        "objects_skipped",
        "objects_deleted",
        "objects_backed_up",
        "objects_extra",
        "bytes_done",
        "exit_code",
    )
    return [result.summary[field] for field in fields]


def random_trees(haul: Haul, container: Container, seed: int) -> None:
    """A dry run says what the run then does, and afterwards both sides are equal."""
    rng = random.Random(seed)
    store = rng.choice(["local", "azure", "s3"])
    names = [
        f"{rng.choice('abc')}{'/' + rng.choice('xyz') if rng.random() < 0.5 else ''}/{n}"
        for n in range(rng.randrange(1, 25))
    ]
    source = fill(haul.folder / f"src-{seed}", {name: rng.randbytes(rng.randrange(40)) for name in names})
    there = place(store, container, haul.folder, f"dst-{seed}")
    before = fill(haul.folder / f"before-{seed}", {})
    for name in [name for name in names if rng.random() < 0.6]:
        target = before / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, target)
        if rng.random() < 0.3:
            target.write_bytes(rng.randbytes(rng.randrange(40)))
    fill(before, {f"{rng.choice('abcd')}/extra-{n}": b"extra" for n in range(rng.randrange(8))})
    fill(before, {"kept/a.keep": b"kept"})
    haul("cp", before, there)
    options: list[str] = ["--exclude", "*.keep"]
    backup = place(store, container, haul.folder, f"backup-{seed}")
    if rng.random() < 0.3:
        options += ["--backup-dir", backup]
    if rng.random() < 0.3:
        options += ["--compare", rng.choice(["size", "time", "checksum"])]
    guarded = rng.random() < 0.2
    if guarded:
        options += ["--max-delete", "2"]
    line = ["sync", str(source), there, "--delete", "--json", *options]
    was = contents(haul, there)
    extras = [name for name in was if name not in names and not name.endswith(".keep")]
    code = 1 if guarded and len(extras) > 2 else 0
    plan = haul(*line, "--dry-run", code=code)
    assert contents(haul, there) == was, "a dry run changes nothing"
    went = haul(*line, code=code)
    assert done(plan) == done(went), (seed, line)
    assert numbers(plan) == numbers(went), (seed, line)
    expected = trees.contents(source) | {"kept/a.keep": b"kept"}
    if code:
        expected |= {name: was[name] for name in extras}
    now = contents(haul, there)
    if "size" in options:
        assert sorted(now) == sorted(expected)
    else:
        trees.assert_same(now, expected)
    if (
        "--backup-dir" in options
        and not code
        and any(name not in now or now[name] != was[name] for name in was)
    ):
        saved = contents(haul, backup)
        assert saved == {
            name: content for name, content in was.items() if now.get(name) != content or name in saved
        }


@pytest.mark.parametrize("seed", range(20))
def test_a_dry_run_is_what_the_run_does(haul: Haul, emulator: Endpoint, seed: int) -> None:
    random_trees(haul, emulator.container(), seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_a_dry_run_is_what_the_run_does_on_many_trees(haul: Haul, emulator: Endpoint, seed: int) -> None:
    random_trees(haul, emulator.container(), seed)


def test_a_receipt_saves_a_look_at_each_object(haul: Haul, emulator: Endpoint, sentence: Sentence) -> None:
    there = f"s3://{emulator.container().name}/t/"
    fill(haul.folder / "here", {f"{n}": b"x" * n for n in range(1, 30)})
    line = ["sync", "here", there, "--receipt", "here.jsonl", "--compare", "receipt", "--json"]
    assert haul(*line).summary["objects_done"] == 29
    for _ in range(2):
        again = haul(*line)
        assert again.summary["objects_skipped"] == 29
        assert "HeadObject" not in {attempt["api"] for attempt in again.of("attempt")}
    (haul.folder / "here/7").write_bytes(b"changed")
    assert haul(*line).summary["objects_done"] == 1
    assert haul("verify", "here.jsonl", there).code == 0
    sentence(haul("sync", "here", there, "--compare", "receipt", code=2).hints)
    assert haul("sync", "here", there, "--compare", "mtime", code=2).code == 2


def test_a_dry_run_of_a_copy_says_what_and_why(haul: Haul, emulator: Endpoint) -> None:
    there = emulator.container().az("t/")
    fill(haul.folder / "here", {"new": b"1", "same": b"2"})
    haul("cp", "here/same", there)
    lines = haul("cp", "here", there, "--dry-run")
    assert lines.text.splitlines() == [f"would copy: {there}new (new)"]
    assert "nothing was changed" in lines.stderr


@pytest.mark.parametrize(("line", "at_once"), [((), range(32, 65)), (("--concurrency", "4"), range(5))])
def test_many_names_are_deleted_at_once(
    haul_at: Callable[[Endpoint], Haul],
    start_emulator: StartEmulator,
    tmp_path: Path,
    line: Sequence[str],
    at_once: range,
) -> None:
    endpoint = start_emulator(link="rtt=40ms")
    haul, container = haul_at(endpoint), endpoint.container()
    for folder, count in (("many", 100), ("one", 1)):
        (tmp_path / folder).mkdir()
        for number in range(count):
            (tmp_path / folder / str(number)).write_bytes(b"x")
    haul("cp", "many", container.az("there/"))
    ran = haul("sync", "one", container.az("there/"), "--delete", "--json", *line)
    deletes = [attempt for attempt in ran.of("attempt") if attempt["api"] == "DeleteBlob"]
    moments = sorted(
        moment for delete in deletes for moment in ((delete["sent_ns"], 1), (delete["ended_ns"], -1))
    )
    assert max(accumulate(step for _, step in moments)) in at_once
    assert [*container.contents()] == ["there/0"]
