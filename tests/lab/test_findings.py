"""What a run is found to say: on made runs with known answers, and on real ones over links that change."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from haulage.lab import run as run_plan
from haulage.lab.analysis import Analysis, analyse
from haulage.lab.topics.concurrency.says import knee
from haulage.lab.topics.over_time.says import fault
from lab import made_runs
from lab.made_runs import SECOND, cell, transfer

KIB, MIB = 2**10, 2**20


def sentences(analysis: Analysis) -> str:
    return "\n".join(card.sentence for card in analysis.findings)


def sweep(
    rates: dict[tuple[str, str], dict[int, float]], seed: int = 1, **values: Any
) -> list[dict[str, Any]]:
    """Six replicates of every treatment and size, a hundredth of noise."""
    random = np.random.default_rng(seed)
    cells: list[dict[str, Any]] = []
    for replicate in range(6):
        for (treatment, method), by_size in rates.items():
            for size, rate in by_size.items():
                wall = int(8 * size / rate * SECOND * np.exp(0.01 * random.standard_normal()))
                row = {
                    "treatment": treatment,
                    "method": method,
                    "size_bytes": size,
                    "bytes": size,
                    "wall_ns": wall,
                }
                if method == "blocks":
                    row["block_size_bytes"] = int(treatment.split()[1]) * KIB
                    row["concurrency"] = 16
                cells.append(cell(len(cells), replicate=replicate, recorded=False, **row, **values))
    return cells


def test_block_upload_says_which_block_for_which_file(tmp_path: Path) -> None:
    small, large = 500_000, 100_000_000
    base = {small: 20e6, large: 20e6}
    cells = sweep(
        {
            ("baseline", "baseline"): base,
            ("baseline-again", "baseline"): base,
            ("blocks 256 KiB", "blocks"): {small: 20e6, large: 150e6},
            ("blocks 512 KiB", "blocks"): {small: 20e6, large: 290e6},
            ("blocks 1024 KiB", "blocks"): {small: 20e6, large: 300e6},
            ("blocks 4096 KiB", "blocks"): {small: 20e6, large: 200e6},
        }
    )
    found = analyse(made_runs.write(tmp_path / "run", cells, plan="block-upload"))
    best = {row["size_bytes"]: row for row in found.results["block_sizes"].frame.to_dict("records")}
    assert (best[large]["best_block_bytes"], best[large]["recommended_block_bytes"]) == (MIB, 512 * KIB)
    assert (best[large]["flat_low_bytes"], best[large]["flat_high_bytes"]) == (512 * KIB, MIB)
    assert best[large]["low"] < 14.5 < best[large]["high"]
    says = sentences(found)
    assert "Files of 100 MB: use blocks of 512 KiB (as good: up to 1 MiB)" in says
    assert "Files of 500 kB gain nothing" in says
    assert "The baseline agrees with itself within" in says
    assert "With 6 replicates a difference below" in says
    # Its region of good levels is no interval of the best one.
    assert {card.low for card in found.findings if card.title.startswith("Blocks for")} == {None}
    improvement = found.results["improvement"].frame
    assert len(improvement) == 8
    card = next(card for card in found.findings if card.title == "Speed-up, most")
    assert card.value == pytest.approx(15, rel=0.02)
    assert card.low is not None
    assert card.high is not None
    assert card.low < 15 < card.high
    assert (card.n, card.query) == (6, "comparisons")


def test_differences_are_called_only_where_they_are(tmp_path: Path) -> None:
    sizes = {size * 1_000_000: 50e6 for size in range(1, 13)}
    cells = sweep(
        {
            ("baseline", "baseline"): sizes,
            ("baseline-again", "baseline"): sizes,
            ("blocks 1024 KiB", "blocks"): {
                size: rate * (1.3 if size == 3_000_000 else 1) for size, rate in sizes.items()
            },
        }
    )
    rows = analyse(made_runs.write(tmp_path / "run", cells)).results["comparisons"].frame
    different = rows[rows["says"] == "different"]
    assert different[["treatment", "size_bytes"]].to_numpy().tolist() == [["blocks 1024 KiB", 3_000_000]]
    assert (rows["q"] >= rows["p"] - 1e-12).all()
    assert rows["missed_share"].between(0.005, 0.06).all()


def test_small_blob_says_up_to_which_size_one_request_is_quicker(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    sizes = [50_000 * 2**k for k in range(8)]
    cells: list[dict[str, Any]] = []
    transfers: dict[int, list[dict[str, Any]]] = {}
    for replicate in range(6):
        for size in sizes:
            for treatment, took in (("single-put", 0.03 + size / 2.5e6), ("blocks", 0.25 + size / 2e7)):
                number = len(cells)
                cells.append(
                    cell(number, replicate=replicate, treatment=treatment, method=treatment, size_bytes=size,
                         recorded=False)
                )  # fmt: skip
                ns = [int(took * 1e9 * np.exp(0.03 * random.standard_normal())) for _ in range(10)]
                transfers[number] = [
                    transfer(k, cell=number, size_bytes=size, duration_ns=ns[k]) for k in range(10)
                ]
    found = analyse(made_runs.write(tmp_path / "run", cells, transfers=transfers, plan="small-blob"))
    # 0.03 + s / 2.5 MB = 0.25 + s / 20 MB
    true = 0.22 / (1 / 2.5e6 - 1 / 2e7)
    card = next(card for card in found.findings if card.title == "Crossover")
    assert card.value == pytest.approx(true, rel=0.1)
    assert card.low is not None
    assert card.high is not None
    assert card.low <= card.value <= card.high  # type: ignore[operator]
    assert "single-put is quicker up to" in card.sentence


def test_node_size_says_that_pieces_lose_and_whole_files_win(tmp_path: Path) -> None:
    size = 500_000_000
    rates = {
        ("baseline", "baseline"): {size: 400e6},
        ("ranges 4MiB x8", "ranges"): {size: 95e6},
        ("whole-files x4", "whole-files"): {size: 744e6},
    }
    cells = sweep(rates, direction="down", files=4)
    transfers = {}
    for row in cells:
        if row["method"] == "ranges":
            row["phase_reassembly_ns"] = row["wall_ns"] // 2
            row["phase_network_ns"] = row["wall_ns"] - row["wall_ns"] // 2
        share = 0.6 if row["method"] == "whole-files" else 1.0
        took = int(SECOND / share)
        transfers[row["cell"]] = [
            transfer(k, cell=row["cell"], size_bytes=size, duration_ns=took) for k in range(4)
        ]
    found = analyse(made_runs.write(tmp_path / "run", cells, transfers=transfers, plan="node-size"))
    says = sentences(found)
    assert "Pieces of a file lose: ranges 4MiB x8 (down) has 0.23" in says
    assert "Several whole files win: whole-files x4 (down) has 1.8" in says
    assert "joining the pieces took 50% of the time" in says
    assert "a file has 0.6 (0.6 to 0.6) times the rate that it has alone: 40% slower" in says


def test_concurrency_finds_the_knee(tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = []
    for replicate in range(6):
        for n in (1, 2, 4, 8, 16, 32):
            wall = int(SECOND / min(n, 8) * (1 + 0.002 * replicate))
            cells.append(
                cell(len(cells), replicate=replicate, treatment=f"blocks x{n}", concurrency=n, wall_ns=wall)
            )
    found = analyse(made_runs.write(tmp_path / "run", cells, plan="concurrency"))
    card = next(card for card in found.findings if card.title == "Knee")
    assert card.value == 8
    assert "8 in flight are enough" in card.sentence


def test_knees_up_and_down_have_titles_of_their_own() -> None:
    row = {"method": "blocks", "size_bytes": None, "knee": None, "knee_low": None, "knee_high": None, "n": 2}
    rows = pd.DataFrame([row | {"direction": way, "rate_bits_per_second": None} for way in ("down", "up")])
    made: Any = {"knees": SimpleNamespace(frame=rows)}
    assert [card.title for card in knee(made)] == ["Knee, down", "Knee, up"]


def test_one_odd_replicate_is_flagged_and_kept(tmp_path: Path) -> None:
    cells = [cell(n, replicate=n, treatment="baseline", method="baseline") for n in range(8)]
    for n, row in enumerate(cells):
        row["wall_ns"] = int(SECOND * (1 + 0.01 * n)) if n != 3 else int(SECOND / 1.75)
    found = analyse(made_runs.write(tmp_path / "run", cells))
    assert found.results["outlier_cells"].frame["cell"].tolist() == [3]
    interval = found.results["rate_intervals"].frame.iloc[0]
    assert interval["n"] == 8
    assert interval["without_outliers_bits_per_second"] < interval["rate_bits_per_second"]


#: Large enough that processors which others use delay a transfer by little of what the link takes for it.
MIXED = {"kind": "netcdf", "count": 48, "large_count": 12, "large_size": "720KB", "small_size": "180KB"}


#: Links by what becomes of them: one fails after 3.6 s, the other gets slower and slower.
CHANGING = {
    "fails": "emulated:rtt=5ms,total=16mbit,at=3.6s:total=4mbit",
    "drifts": "emulated:rtt=5ms,total=16mbit"
    + "".join(f",at={0.45 * k:.2f}s:total={16 * 0.93**k:.2f}mbit" for k in range(1, 28)),
}


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Analysis]:
    """What is found of transfers over each link. They take no time of a processor, and so run at once."""
    folders = [tmp_path_factory.mktemp("run") / name for name in CHANGING]
    with ThreadPoolExecutor(len(CHANGING)) as threads:
        ran = list(threads.map(transfers_in_a_row, folders, CHANGING.values()))
    return dict(zip(CHANGING, map(analyse, ran), strict=True))


def transfers_in_a_row(folder: Path, target: str) -> Path:
    overrides = {
        "arms": [{"method": "blocks", "block_size": "64KiB", "concurrency": 4, "sequence": True}],
        "files": [MIXED],
        "target": target,
    }
    return run_plan("failing-link", directory=folder, overrides=overrides, confirm=False, report=False).folder


@pytest.mark.long
def test_a_link_that_fails_is_dated_within_one_transfer(series: dict[str, Analysis]) -> None:
    found = series["fails"]
    changes = found.results["changes"].frame
    assert changes["says"].tolist() == ["step"], changes.to_dict("records")
    # The link is 3.6 s old when it fails; it began with the first connection.
    transfers = found.results["rate_by_transfer"].frame.sort_values("place")
    ended = (transfers["began_ns"] + transfers["duration_ns"] - transfers["began_ns"].min()).to_numpy()
    true = int(np.argmax(ended > 3.6e9))
    assert abs(int(changes["transfer"].iloc[0]) - true) <= 1
    assert changes["factor"].iloc[0] == pytest.approx(1 / 4, rel=0.35)
    assert "so this is a fault and not a slow decline" in sentences(found)


@pytest.mark.long
def test_a_link_that_gets_slower_and_slower_is_a_drift(series: dict[str, Analysis]) -> None:
    found = series["drifts"]
    changes = found.results["changes"].frame
    # Others who take a processor for a while may make a step of their own.
    assert set(changes["says"]) <= {"drift", "step and drift"}, changes.to_dict("records")
    assert (changes["drift_share"] < 0).all()
    assert "drifted by -" in sentences(found)


def test_a_rise_is_no_fault_and_a_range_of_transfers_no_interval() -> None:
    """A rate that rose was titled "Fault", and where it may have begun was called a 95 % interval."""
    row = {
        "says": "step", "treatment": "blocks", "replicate": -1, "step": 1, "transfer": 20, "earliest": 18,
        "latest": 22, "before_bits_per_second": 1e7, "after_bits_per_second": 4e7,
        "drift_share": None, "n": 60,
    }  # fmt: skip
    fall = row | {"before_bits_per_second": 4e7, "after_bits_per_second": 1e7}
    results: Any = {"changes": SimpleNamespace(frame=pd.DataFrame([row, fall]))}
    rise, down = fault(results)
    assert (rise.title, down.title) == ("Rise", "Fault")
    assert "fault" not in rise.sentence
    assert "anywhere from transfer 19 to 23" in rise.sentence
    assert (rise.low, rise.high) == (None, None)


def test_two_replicates_do_not_tell_whether_the_baseline_differs_from_itself(tmp_path: Path) -> None:
    rates = {("baseline", "baseline"): {1_000_000: 20e6}, ("baseline-again", "baseline"): {1_000_000: 20e6},
             ("blocks 256 KiB", "blocks"): {1_000_000: 50e6}}  # fmt: skip
    cells = [row for row in sweep(rates) if row["replicate"] < 2]
    says = sentences(analyse(made_runs.write(tmp_path / "run", cells)))
    assert "cannot be told from 2 replicates" in says
    assert "can be shown, however large" in says


def test_levels_that_ran_the_same_lanes_are_one_level_of_the_knee(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    cells: list[dict[str, Any]] = []
    for replicate in range(6):
        for n in (1, 2, 4, 8, 16, 32, 64):
            wall = int(SECOND / min(n, 8) * np.exp(0.01 * random.standard_normal()))
            cells.append(
                cell(len(cells), replicate=replicate, treatment=f"blocks x{n}", concurrency=n,
                     lanes=min(n, 8), wall_ns=wall)
            )  # fmt: skip
    found = analyse(made_runs.write(tmp_path / "run", cells, plan="concurrency"))
    assert found.results["knees"].frame["most"].tolist() == [8]
    assert "the rate still rises at 8 in flight" in sentences(found)


def test_the_plan_states_what_is_equivalent(tmp_path: Path) -> None:
    rates = {("baseline", "baseline"): {1_000_000: 20e6}, ("blocks 256 KiB", "blocks"): {1_000_000: 20.4e6}}
    folder = made_runs.write(tmp_path / "run", sweep(rates))
    assert analyse(folder).results["comparisons"].frame["says"].tolist() == ["equivalent"]
    (folder / "plan.toml").write_text("margin = 0.01\n", encoding="utf-8")
    assert analyse(folder).results["comparisons"].frame["says"].tolist() != ["equivalent"]
