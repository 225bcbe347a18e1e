"""Two runs side by side."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from haulage.errors import NotFoundError, UsageError
from haulage.lab.report.compare import compare
from lab import made_runs, synthetic
from lab.made_runs import SECOND, cell
from lab.reports import SIZES, TREATMENTS, make_run


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("compare") / "first", attempts=1)


def test_a_run_equals_itself(first: Path) -> None:
    found = compare(first, first)
    assert len(found.pairs) == len(TREATMENTS) * len(SIZES)
    # Nothing else is said, and "equal" only where the noise allows it.
    assert {pair.says for pair in found.pairs} <= {"equal", "undetermined"}
    assert all(pair.ratio == 1 and pair.n == 6 and pair.q == 1 for pair in found.pairs)
    assert found.differences == []


def test_what_differs_in_every_run_is_not_said(first: Path, tmp_path: Path) -> None:
    one, two = (Path(shutil.copytree(first, tmp_path / name)) for name in ("one", "two"))
    measure(one, 398e6, began_ns=1)
    measure(two, 401e6, began_ns=2)
    assert compare(one, two).differences == []
    measure(two, 200e6, began_ns=2)
    assert compare(one, two).differences == ["ceiling.up_bits_per_second: 398000000.0 and 200000000.0"]


def measure(run: Path, rate: float, began_ns: int) -> None:
    """Write into the manifest of a run what the path can carry, and how it was found."""
    path = run / "manifest.json"
    rounds = [{"began_unix_ns": began_ns, "bits_per_second": rate}]
    ceiling = {"up_bits_per_second": rate, "rounds": rounds}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"ceiling": ceiling}))


def test_a_slower_link_is_slower_and_its_twin_faster(first: Path, tmp_path: Path) -> None:
    second = make_run(tmp_path / "second", attempts=1, slower=2.0, seed=2)
    large = [pair for pair in compare(first, second).pairs if pair.size_bytes == SIZES[-1]]
    assert {pair.says for pair in large} == {"slower"}
    for pair in large:
        assert pair.low is not None
        assert pair.high is not None
        assert 0.4 < pair.low <= pair.ratio <= pair.high < 0.75
    back = {(pair.treatment, pair.size_bytes): pair for pair in compare(second, first).pairs}
    for pair in large:
        twin = back[pair.treatment, pair.size_bytes]
        assert twin.says == "faster"
        assert twin.ratio == pytest.approx(1 / pair.ratio)


def test_few_replicates_tell_nothing(tmp_path: Path) -> None:
    first = make_run(tmp_path / "first", attempts=1, replicates=3)
    second = make_run(tmp_path / "second", attempts=1, replicates=3, slower=2.0)
    found = compare(first, second)
    assert {pair.says for pair in found.pairs} == {"undetermined"}
    assert all(pair.n == 3 and pair.low is None and "n too small" in pair.note for pair in found.pairs)


def made(folder: Path, seed: int, slow: str = "", spread: float = 0.05) -> Path:
    """Ten arms in six replicates, one of them perhaps 30 % slower."""
    random = np.random.default_rng(seed)
    cells: list[dict[str, Any]] = []
    for replicate in range(6):
        for arm in range(10):
            name = f"blocks x{arm}"
            wall = SECOND * np.exp(spread * random.standard_normal()) / (0.7 if name == slow else 1)
            cells.append(cell(len(cells), replicate=replicate, treatment=name, wall_ns=int(wall)))
    return made_runs.write(folder, cells)


def test_one_of_ten_arms_that_is_30_percent_slower_is_found(tmp_path: Path) -> None:
    found = compare(made(tmp_path / "a", 1), made(tmp_path / "b", 2, slow="blocks x3"))
    assert [pair.treatment for pair in found.pairs if pair.says == "slower"] == ["blocks x3"]
    assert "faster" not in {pair.says for pair in found.pairs}
    assert "With 6 replicates a difference below" in str(found)


def test_replicates_of_two_runs_are_no_pairs(tmp_path: Path) -> None:
    # The same runs with their replicates in another order give the same numbers.
    first, second = made(tmp_path / "a", 1), made(tmp_path / "b", 2)
    random = np.random.default_rng(2)
    walls = SECOND * np.exp(0.05 * random.standard_normal((6, 10)))
    cells = [
        cell(10 * at + arm, replicate=at, treatment=f"blocks x{arm}", wall_ns=int(walls[5 - at, arm]))
        for at in range(6)
        for arm in range(10)
    ]
    turned = made_runs.write(tmp_path / "turned", cells)
    assert compare(first, second).pairs == compare(first, turned).pairs


def test_what_only_one_has_is_named(first: Path, tmp_path: Path) -> None:
    fewer = [treatment for treatment in TREATMENTS if treatment.name != "adaptive"]
    second = make_run(tmp_path / "second", attempts=1, treatments=fewer, sizes=SIZES[:2])
    found = compare(first, second)
    assert "adaptive" in " ".join(found.only_a)
    assert "16 MiB" in " ".join(found.only_a)
    assert found.only_b == []


def test_the_table_is_for_people_and_the_frame_for_programs(first: Path, tmp_path: Path) -> None:
    second = make_run(tmp_path / "second", attempts=1, seed=5)
    found = compare(first, second)
    text = str(found)
    assert text.splitlines()[0].split()[:4] == ["treatment", "files", "first", "second"]
    assert "Not alike: seed: 1 and 5." in text
    assert f"{len(found.pairs)} pairs: " in text
    assert list(found.frame["says"]) == [pair.says for pair in found.pairs]


def test_runs_with_nothing_in_common_cannot_be_compared(first: Path, tmp_path: Path) -> None:
    other = [treatment for treatment in synthetic.TREATMENTS if treatment.name == "whole-files x32"]
    second = make_run(tmp_path / "second", attempts=100, treatments=other)
    with pytest.raises(UsageError, match="in common"):
        compare(first, second)
    with pytest.raises(NotFoundError):
        compare(first, tmp_path / "nowhere")
