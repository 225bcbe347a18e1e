"""The campaign itself works, and a few of its trials hold; `make campaign` runs them all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import campaign
from campaign import SCENARIOS, Mover, Scenario, staged


@pytest.mark.parametrize("name", ["kill", pytest.param("all", marks=pytest.mark.long)])
def test_a_few_trials_end_intact(name: str) -> None:
    (scenario,) = (scenario for scenario in SCENARIOS if scenario.name == name)
    rows = list(campaign.play(scenario, seed=11, trials=2))
    assert [row.verdict for row in rows] == ["intact"] * 2
    assert "| 1 | 1 |" in campaign.table(rows)


def test_the_campaign_sees_what_must_never_happen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = replace(Scenario("broken", "a mover that loses the end of a file"), signal=None)
    honest = Mover.disturb

    def lossy(mover: Mover, *how: object) -> tuple[int, list[bytes]]:
        ended = honest(mover, *how)  # type: ignore[arg-type]
        for file in sorted((tmp_path / "own" / "back").rglob("*.bin"))[-1:]:
            file.write_bytes(file.read_bytes()[:-1] + b"?")
        return ended

    with staged(scenario, 3, tmp_path) as stage:
        monkeypatch.setattr(Mover, "disturb", lossy)
        (tmp_path / "own").mkdir()
        trial = stage.run("down", 3, tmp_path / "own")
    assert "is not what it should be" in trial.verdict
