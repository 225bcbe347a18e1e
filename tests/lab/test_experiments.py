"""Experiments on real transfers: what they change, what they measure, and what they make of a cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from haulage.errors import ServiceError
from haulage.lab.analysis import analyse
from haulage.lab.analysis.causes import Effects, Evidence
from haulage.lab.experiments import calibration, truth
from haulage.lab.experiments.confirm import experiment, loop_share, save, settle, sized
from haulage.lab.experiments.injected import INJECTED, case, compile_shim, stage
from haulage.lab.experiments.single import evidence_of, write_single
from haulage.lab.experiments.trial import Observation, Setting, Site
from haulage.lab.analysis.verdict import decide
from haulage.lab.target import Endpoint, start_emulator

KIB, MIB = 2**10, 2**20
SMALL = Setting(1, 2 * MIB, 4, 128 * KIB)


class Model:
    """A path that follows a formula: what experiments see of it is known beforehand."""

    def __init__(self, rate: Callable[[Setting], float]) -> None:
        self._rate = rate
        self.asked: list[Setting] = []

    def transfer(self, setting: Setting) -> Observation:
        self.asked.append(setting)
        rate = self._rate(setting)
        moved = setting.files * setting.file_bytes
        return Observation(
            wall_ns=int(8e9 * moved / rate),
            bytes=moved,
            rate_bits_per_second=rate,
            requests=10,
            refused_share=0.0,
            answer_ns=1e7,
            write_ns=1e7,
            cpu_idle_share=0.9,
            cpu_ns=0,
            lanes=setting.connections or 1,
            outcome="ok",
            began_unix_ns=0,
            chosen="",
            record="",
        )


MODELS: dict[str, Callable[[Setting], float]] = {
    "total-rate": lambda _: 1e8,
    "connection-rate": lambda s: 1e7 * (s.connections or 1),
    "latency": lambda s: 8 * (s.connections or 1) * (s.block_bytes or 1) / 0.1,
    "server": lambda s: 8 * (s.block_bytes or 1) / 0.01,
    "disk": lambda s: 1e9 if s.memory else 1e8,
}
ON_DISK = {"disk": 0.5, "send": 0.5}
LOOKED_INTO = Evidence(
    "a trial", {"send": 1.0}, lanes=8, rate_bits_per_second=1e8, took_ns=1e8, usual_bytes=256 * KIB
)


@pytest.mark.parametrize("cause", MODELS)
def test_each_path_is_named_by_what_its_experiments_give(cause: str) -> None:
    path = Model(MODELS[cause])
    looked_into = replace(LOOKED_INTO, shares=ON_DISK) if cause == "disk" else LOOKED_INTO
    effects = replace(experiment(looked_into, path), cpu_granted=1.0)
    found = decide(looked_into, effects)
    assert (found.cause, found.status) == (cause, "confirmed")
    assert len(path.asked) <= 8


def test_one_pause_of_the_machine_decides_nothing() -> None:
    rates = iter([1e8, 1e8, 1e7, 1e8, 1e8, 1e8, 1e8])
    effects = replace(experiment(LOOKED_INTO, Model(lambda _: next(rates))), cpu_granted=1.0)
    assert (effects.connections, effects.blocks, effects.memory) == (1.0, 1.0, 1.0)
    assert decide(LOOKED_INTO, effects).cause == "total-rate"


def test_what_a_first_round_leaves_open_gets_a_second() -> None:
    # Twice the connections give 1.3 times the rate at first, and twice later.
    rounds = iter([1.3, 2.2])
    path = Model(lambda s: 1e8 * (next(rounds) if s.connections == 16 else 1.0))
    found, effects = settle(LOOKED_INTO, path)
    assert effects.connections == pytest.approx((1.3 * 2.2) ** 0.5)
    assert found.cause in ("connection-rate", "cpu")
    assert len(path.asked) == 14


def test_an_experiment_changes_one_thing() -> None:
    path = Model(lambda _: 1e8)
    experiment(LOOKED_INTO, path)
    base = path.asked[0]
    assert (base.connections, base.block_bytes, base.memory) == (8, 256 * KIB, False)
    changed = {(s.connections, s.block_bytes, s.memory) for s in path.asked if s.file_bytes != 1000}
    plain = (8, 256 * KIB, False)
    assert changed == {plain, (16, 256 * KIB, False), (8, MIB, False), (8, 256 * KIB, True)}


def test_trials_fill_their_lanes_and_stay_short() -> None:
    for lanes, block, rate in ((1, 64 * KIB, 1e6), (64, 16 * MIB, 1e11), (8, 256 * KIB, 1e8)):
        setting = sized(Setting(1, block, lanes, block), replace(LOOKED_INTO, rate_bits_per_second=rate))
        assert setting.file_bytes >= lanes * block
        assert setting.file_bytes <= max(192 * MIB, lanes * block)
    files = sized(Setting(1, 4 * KIB, 4, 4 * KIB), replace(LOOKED_INTO, commits_share=1.0))
    assert files.files > 1
    assert files.file_bytes == 4 * KIB


def test_refusals_are_looked_for_again_and_at_half_the_rate() -> None:
    path = Model(lambda _: 1e8)
    refused = replace(LOOKED_INTO, shares={"throttled": 0.5, "send": 0.5}, refused_share=0.1)
    effects = experiment(refused, path)
    assert [setting.cap_bits_per_second for setting in path.asked] == [None, 50_000_000]
    assert effects.refused_again == 0.0


def test_a_loop_alone_gets_its_share() -> None:
    assert 0.02 < loop_share(0.05) <= 1.05


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_trial_measures_a_real_link(tmp_path: Path, direction: str) -> None:
    endpoint = start_emulator(store="null", link="rtt=5ms,conn=8mbit")
    try:
        site = Site(endpoint, tmp_path)
        seen = site.transfer(replace(SMALL, direction=direction))
        assert (seen.outcome, seen.bytes, seen.lanes) == ("ok", 2 * MIB, 4)
        # Four connections of 8 Mbit/s.
        assert seen.rate_bits_per_second == pytest.approx(32e6, rel=0.15)
        evidence = evidence_of(seen, replace(SMALL, direction=direction), tmp_path / "run")
        assert evidence.direction == direction
        assert evidence.lanes == 4
        assert sum(evidence.shares.values()) == pytest.approx(1)
        assert evidence.answer_ns is not None
        assert 4e6 < evidence.answer_ns < 60e6
    finally:
        endpoint.close()


def test_small_writes_are_told_from_empty_requests(tmp_path: Path) -> None:
    endpoint = start_emulator(store="null", link="rtt=5ms", faults="commit=60ms")
    try:
        seen = Site(endpoint, tmp_path).transfer(Setting(6, 1000, 1, look=True))
    finally:
        endpoint.close()
    assert seen.answer_ns is not None
    assert seen.write_ns is not None
    assert seen.answer_ns < 40e6
    assert 60e6 < seen.write_ns < 130e6


def test_a_path_that_does_not_answer_is_said(tmp_path: Path) -> None:
    nowhere = Endpoint("http://127.0.0.1:9/account/lab", "sig=x")
    seen = Site(nowhere, tmp_path)
    with pytest.raises(ServiceError):
        evidence_of(seen.transfer(Setting(1, 1000, 1)), SMALL, tmp_path / "run")


def test_effects_that_were_kept_are_part_of_the_analysis(tmp_path: Path) -> None:
    endpoint = start_emulator(store="null", link="rtt=2ms,conn=20mbit")
    try:
        seen = Site(endpoint, tmp_path / "site").transfer(SMALL)
    finally:
        endpoint.close()
    run = tmp_path / "run"
    write_single(seen, SMALL, run)
    assert analyse(run).verdict.status != "confirmed"
    save(Effects(connections=2.0, blocks=1.0, memory=1.0, cpu_granted=1.0), run)
    found = analyse(run).verdict
    assert (found.cause, found.status) == ("connection-rate", "confirmed")
    assert found.subject.startswith("trial, 2 MiB up")


@pytest.mark.parametrize("cause", ["connection-rate", "commit", "server"])
def test_injected_causes_are_named(tmp_path: Path, cause: str) -> None:
    found = truth.judge(case(cause, 3), tmp_path, tmp_path, None)
    assert (found.named, found.status) == (cause, "confirmed"), found.evidence


def test_a_slow_disk_is_as_slow_as_it_was_made(tmp_path: Path) -> None:
    slow = case("disk", 1)
    assert slow.slow_bytes_per_second is not None
    with stage(slow, tmp_path, tmp_path, compile_shim(tmp_path / "build")) as site:
        seen = site.transfer(slow.setting)
        assert decide(evidence_of(seen, slow.setting, tmp_path / "run")).cause == "disk"
    bound = 8 * slow.slow_bytes_per_second
    assert 0.5 * bound < 8e9 * seen.bytes / seen.wall_ns < 1.15 * bound


def test_a_known_link_is_reported(tmp_path: Path) -> None:
    found = calibration.measure_link(50_000_000, "up", tmp_path, replicates=3)
    assert abs(found.error) < 0.05


def test_the_same_against_itself_is_compared(tmp_path: Path) -> None:
    found = calibration.against_itself(1, tmp_path, replicates=6)
    assert found.shift.n == 6
    assert found.ratio.value == pytest.approx(1, abs=0.1)


def test_cases_vary_with_the_seed_and_repeat_with_it() -> None:
    for cause in INJECTED:
        assert case(cause, 1) == case(cause, 1)
        assert len({repr(case(cause, seed)) for seed in range(10)}) == 10


def test_the_matrix_counts_silence_apart() -> None:
    def scored(cause: str, named: str) -> truth.Scored:
        return truth.Scored(cause, 0, "undetermined", named, "confirmed", {}, [], 1e6, 1.0)

    rows = [*[scored("disk", "disk")] * 8, scored("disk", "cpu"), scored("disk", "undetermined")]
    text = truth.table(rows)
    assert "| disk | 8 | 1 | 1 | 8/10 | 0/10 |" in text
    assert "10 cases: 80% named rightly, 1 wrongly, 1 undetermined" in text
    assert truth.right_share(rows) == 0.8
