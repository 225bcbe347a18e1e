"""Settings that came to the same are one point, and what was swept is not called no sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command import in_process
from haulage.lab import profile
from haulage.lab.analysis.query import open_run, run as ask
from lab import made_runs
from sentences import Sentence

MIB = made_runs.MIB


def sweep(folder: Path, size_bytes: int, levels: list[int], **more: Any) -> Path:
    """Write a run of blocks of 1 MiB whose rate rises with what is really in flight."""
    blocks = max(1, -(-size_bytes // MIB))
    cells = [
        made_runs.cell(
            number,
            replicate=number // len(levels),
            treatment=f"blocks x{levels[number % len(levels)]}",
            size_bytes=size_bytes,
            bytes=size_bytes,
            concurrency=levels[number % len(levels)],
            block_size_bytes=MIB,
            lanes=min(levels[number % len(levels)], blocks),
            wall_ns=made_runs.SECOND // min(levels[number % len(levels)], blocks),
            factors=json.dumps({"client": "engine", "again": False}),
            **more,
        )
        for number in range(6 * len(levels))
    ]
    return made_runs.write(
        folder, cells, plan="concurrency", target="emulated:none", run="r", created_unix_ns=1
    )


def test_more_requests_than_blocks_are_no_further_points(tmp_path: Path) -> None:
    folder = sweep(tmp_path / "run", 8 * MIB, [1, 4, 8, 16, 32, 64])
    rows = ask(open_run(folder), ["concurrency"], into=tmp_path / "results")[0][0].frame
    assert sorted(rows["concurrency"].unique()) == [1, 4, 8]
    assert sorted(rows["asked"].unique()) == [1, 4, 8, 16, 32, 64]
    (found,) = profile.measure(folder)
    assert found.concurrency == 8


def test_what_never_was_in_flight_is_no_point_either(tmp_path: Path) -> None:
    levels = [1, 2, 4, 32, 64]
    size = {"size_bytes": 64 * MIB, "block_size_bytes": MIB}
    cells = [
        made_runs.cell(number, treatment=f"x{level}", concurrency=level, lanes=min(level, 20), **size)
        for number, level in enumerate(levels)
    ]
    few = made_runs.write(tmp_path / "few", cells)
    rows = ask(open_run(few), ["concurrency"], into=tmp_path / "results")[0][0].frame
    assert sorted(rows["concurrency"]) == [1, 2, 4, 20, 20]


def test_a_sweep_whose_files_are_too_small_is_called_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sentence: Sentence
) -> None:
    folder = sweep(tmp_path / "run", 2 * MIB, [1, 2, 4, 8, 16])
    assert in_process("lab", "profile", str(folder)) == 2
    said = capsys.readouterr().err
    sentence(said)


def test_a_profile_can_be_made_in_a_folder_of_any_name(tmp_path: Path) -> None:
    folder = sweep(tmp_path / "it's, [1] 'run' *", 8 * MIB, [1, 2, 4, 8])
    path = profile.write(folder)
    assert path is not None
    assert "concurrency = 8" in path.read_text()
