"""Real jobs and workers write, a real store keeps, the real command watches."""

from __future__ import annotations

import csv
import json
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import haulage.watch
from command import Haul
from endpoints import Endpoint
from watch.stepping import Clock


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number}.bin").write_bytes(random.Random(number).randbytes(20_000))
    return folder


@pytest.mark.parametrize(
    "endpoint", ["emulator", pytest.param("azurite", marks=pytest.mark.long)], indirect=True
)
def test_a_job_writes_to_a_store_and_is_watched(
    haul: Haul, endpoint: Endpoint, tree: Path, tmp_path: Path
) -> None:
    container = endpoint.container()
    log = container.az("some/log")
    watching = haul.start("watch", log, "--csv", "rows.csv")
    _until((tmp_path / "rows.csv").exists, 20)
    haul("cp", tree.name, container.az("data/"), "--log", log)
    out, err = watching.communicate(timeout=30)
    assert (watching.returncode, err) == (0, b"")
    assert b"60/60 objects  1.1 MiB of 1.1 MiB" in out
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert sorted(row["object"] for row in rows if row["event"] == "object") == sorted(
        f"data/{number}.bin" for number in range(60)
    )
    numbers = [int(row["seq"]) for row in rows]
    assert len(set(numbers)) == len(numbers)
    assert not any(row["event"] == "gap" for row in rows)


WORKER = """
import logging, sys, time, haulage.watch
logging.getLogger().setLevel(logging.INFO)
url, node, spool = sys.argv[1:]
with haulage.watch.worker(url, node=node, program="regrid", job="0123456789abcdef", spool=spool):
    for number in range(10_000):
        logging.info("line %d", number)
        if number == 30:
            logging.error("the last error of %s", node)
        time.sleep(0.02)
"""


@pytest.mark.long
def test_of_eight_workers_one_is_killed(haul: Haul, azurite: Endpoint, tmp_path: Path) -> None:
    import subprocess

    log = azurite.container().az("log")
    watching = haul.start("watch", log, "--quiet", "--csv", "rows.csv")
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, log, f"node-{number}", str(tmp_path / f"spool-{number}")],
            env=haul.env,
            stderr=subprocess.DEVNULL,
        )
        for number in range(8)
    ]
    try:
        _until(lambda: len(_events(tmp_path, "log", level="ERROR")) == 8, 40)
        workers[3].kill()
        _until(lambda: bool(_events(tmp_path, "silent")), 10)
        assert {row["node"] for row in _events(tmp_path, "silent")} == {"node-3"}
        assert "the last error of node-3" in {
            row["message"] for row in _events(tmp_path, "log", level="ERROR")
        }
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=20)
    assert not _events(tmp_path, "gap")


def test_a_second_reader_sees_the_same(haul: Haul, endpoint: Endpoint, tree: Path) -> None:
    container = endpoint.container()
    log = container.az("log")
    haul("cp", tree, container.az("data/"), "--log", log)
    first, second = (json.loads(haul("watch", log, "--once", "--json").text) for _ in range(2))
    for one in (first, second):
        del one["time_unix_ns"]
        for node in one["nodes"]:
            del node["heard_ago_ns"]
    assert first == second


def test_a_job_that_was_killed_is_silent_and_its_rows_are_there(
    haul: Haul, emulator: Endpoint, tree: Path
) -> None:
    container = emulator.container()
    job = haul.start("cp", tree, container.az("data/"), "--log", haul.folder / "log", "--cap", "1mbit")
    _until(lambda: any(line["event"] == "object" for line in _lines(haul.folder / "log")), 20)
    job.kill()
    job.communicate()
    # As if it was killed a while ago.
    Clock().stamp(*(haul.folder / "log").rglob("*.jsonl"), ago=20)
    shown = json.loads(haul("watch", "log", "--once", "--json", code=1).text)
    assert shown["health"] == {"silent": 1}
    assert shown["totals"]["objects_done"] >= 1


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    if log.is_dir():
        yield from haulage.watch.lines(str(log))


def _events(folder: Path, event: str, **fields: str) -> list[dict[str, str]]:
    if not (folder / "rows.csv").exists():
        return []
    with (folder / "rows.csv").open(newline="") as file:
        return [
            row
            for row in csv.DictReader(file)
            if row["event"] == event and all(row[name] == value for name, value in fields.items())
        ]


def _until(holds: Any, seconds: float) -> None:
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.1)
