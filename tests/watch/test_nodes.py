"""A job of eight nodes over Azurite's append blobs, watched from elsewhere; one node is killed."""

from __future__ import annotations

import csv
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import trees
import workers
from command import HAUL, Haul
from endpoints import Endpoint

#: How soon `haul watch` must show that a node is gone, in seconds.
SHOWN = 5.0
#: How long eight nodes and the first objects of each may take.
BEGUN = 90.0


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []


def until(holds: Callable[[], bool], seconds: float) -> None:
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < seconds, "it takes too long"
        time.sleep(0.05)


@pytest.mark.long
def test_the_outcomes_of_a_killed_node_stay_and_it_is_shown_within_five_seconds(
    azurite: Endpoint, tmp_path: Path
) -> None:
    container = azurite.container().az()
    haul = Haul(tmp_path, azurite.env)
    tree = trees.make(tmp_path / "tree", files=3300, size=2000)
    log, kept, again = f"{container}log", tmp_path / "rows.csv", tmp_path / "again.csv"
    # Into a file: a pipe that nobody reads is full soon, and then the job waits.
    told = tmp_path / "told.jsonl"
    with workers.cluster(tmp_path / "cluster", 8, azurite.env) as own, told.open("wb") as output:
        words = ["cp", str(tree), f"{container}data/", "--log", log, "--cap", "4mbit", "--json"]
        command = [str(HAUL), *words, "--scheduler", own.address]
        job = subprocess.Popen(command, stdout=output, stderr=output, env=haul.env, cwd=tmp_path)
        watching = haul.start("watch", log, "--csv", str(kept), "--quiet")

        def copied_by(node: str) -> set[str]:
            of_node = [row for row in rows(kept) if row["node"] == node and row["event"] == "object"]
            return {row["object"] for row in of_node}

        until(lambda: len(copied_by("node-3")) >= 3, BEGUN)
        own.kill_worker("node-3")
        gone = {"silent", "node_lost"}
        until(lambda: any(row["event"] in gone and "node-3" in str(row) for row in rows(kept)), SHOWN)
        before = copied_by("node-3")
        job.wait(timeout=90)
        watching.communicate(timeout=90)
    assert job.returncode == 0
    summaries = [line for line in told.read_text().splitlines() if '"event":"summary"' in line]
    summary = json.loads(summaries[-1])
    # What the killed node had copied and not told is found at the destination.
    assert summary["objects_done"] + summary["objects_skipped"] == summary["objects_total"]
    objects = [row for row in rows(kept) if row["event"] == "object"]
    assert before <= copied_by("node-3")
    assert {row["node"] for row in objects} >= {f"node-{number}" for number in range(8)}
    wanted = {str(path) for path in tree.rglob("*") if path.is_file()}
    assert {row["object"] for row in objects} == wanted
    # Who comes later sees the same.
    haul("watch", log, "--csv", again, "--quiet", "--once", "--all")
    keys = [{(row["stream"], row["seq"]) for row in rows(path) if row["seq"]} for path in (kept, again)]
    assert keys[0] == keys[1]
