"""How a job was told what to do: what ``haul why`` makes of it, and the command that repeats the job."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from haulage.causes.settling import Experiment
from haulage.lab.why.command import Job, repeated
from haulage.lab.why.experiment import experiment, unknown
from haulage.lab.why.explaining import Explanation, explain
from lab import made_records as made

TWICE = Experiment("haul cp SRC DST --concurrency 16 --record again.parquet", "")


def of(options: str, folder: Path) -> Explanation:
    """Explain a job at 100 Mbit/s that was told this."""
    lines = folder / "run.jsonl"
    began = {
        "event": "job_started",
        "operation": "copy",
        "sources": ["my data"],
        "destination": "az://c/x",
        "options": shlex.split(options),
    }
    rows = made.job(made.in_all(100e6), [made.MIB] * 240, lambda _: 8)
    lines.write_text("".join(f"{line}\n" for line in (json.dumps(began), *list(made.as_events(rows))[1:])))
    return explain(lines)


@pytest.mark.parametrize(
    ("job", "command"),
    [
        (
            Job(
                "copy",
                ("a b", "c"),
                "az://x/",
                ("--cap", "60mbit", "--concurrency", "8", "--include", "*.nc"),
            ),
            "haul cp 'a b' c az://x/again/ --concurrency 16 --record again.parquet --cap 60mbit"
            " --include '*.nc'",
        ),
        (
            Job("sync", ("in",), "s3://b/p", ("--overwrite", "never", "--polite")),
            "haul cp in/ s3://b/p-again --concurrency 16 --record again.parquet --polite",
        ),
        (
            Job("verify", ("in",), "out", ("--max-memory", "8MiB")),
            "haul verify in out --concurrency 16 --record again.parquet --max-memory 8MiB",
        ),
        # What was moved is gone, what came through a pipe as well, and pairs have no one place.
        (Job("move", ("in",), "out"), TWICE.command),
        (Job("copy", ("-",), "az://c/x"), TWICE.command),
        (Job("copy", ("3 pairs",), ""), TWICE.command),
    ],
)
def test_a_job_is_repeated_as_it_was_but_for_one_thing(job: Job, command: str) -> None:
    found = repeated(TWICE, job)
    assert found is not None
    assert found.command == command


def test_a_comparison_is_repeated_only_where_the_copy_is() -> None:
    assert repeated(Experiment("haul cp SRC /dev/shm/copy", ""), Job("verify", ("in",), "out")) is None


@pytest.mark.parametrize(
    ("template", "command"),
    [
        (
            "cp -r SRC /dev/shm/copy && haul cp /dev/shm/copy DST",
            "cp -r in /dev/shm/copy && haul cp /dev/shm/copy az://c/x-again --no-flush --tier cool"
            " --exclude '*.tmp'",
        ),
        ("haul cp ONE-LARGE-FILE DST", "haul cp ONE-LARGE-FILE az://c/x-again --no-flush --tier cool"),
        ("haul plan SRC DST", "haul plan in az://c/x --exclude '*.tmp'"),
        ("haul lab run ceiling --to URL", "haul lab run ceiling --to az://c/x"),
    ],
)
def test_other_commands_are_given_what_they_take(template: str, command: str) -> None:
    job = Job("copy", ("in",), "az://c/x", ("--no-flush", "--tier", "cool", "--exclude", "*.tmp"))
    found = repeated(Experiment(template, ""), job)
    assert found is not None
    assert found.command == command


def test_a_cap_that_was_reached_is_named_and_tried_without(tmp_path: Path) -> None:
    found = of("--cap 100mbit", tmp_path)
    assert (found.whole.cause.cause, found.whole.cause.status) == ("pacing", "seen")
    settle = experiment(found)
    assert settle is not None
    assert settle.command.startswith("haul cp 'my data' az://c/x-again --cap 200mbit")
    assert not any("--cap" in one for one in unknown(found))
    far = of("--cap 900mbit", tmp_path)
    assert far.whole.cause.cause != "pacing"
    assert "--cap 900mbit" in (experiment(far) or TWICE).command


def test_a_polite_job_is_tried_without_being_polite_first(tmp_path: Path) -> None:
    found = of("--polite --block-size 1MiB", tmp_path)
    assert "polite" in found.whole.cause.rivals
    settle = experiment(found)
    assert settle is not None
    assert "--polite" not in settle.command
    assert "--block-size 1MiB" in settle.command


def test_more_requests_get_the_memory_that_they_need(tmp_path: Path) -> None:
    settle = experiment(of("--max-memory 8MiB", tmp_path))
    assert settle is not None
    assert "--max-memory 16MiB --concurrency 16" in settle.command
    assert "8MiB" not in settle.command.replace("16MiB", "")


@pytest.mark.parametrize("began", [{}, {"sources": 1, "options": []}, {"sources": [], "options": None}])
def test_a_head_of_another_version_is_as_none(began: dict[str, object], tmp_path: Path) -> None:
    rows = made.job(made.in_all(100e6), made.BLOCKS, made.ramp)
    lines = [
        json.dumps({"event": "job_started", "destination": "x", **began}),
        *list(made.as_events(rows))[1:],
    ]
    (tmp_path / "run.jsonl").write_text("\n".join(lines))
    found = explain(tmp_path / "run.jsonl")
    assert found.job is None
    assert any("--cap" in one for one in unknown(found))
