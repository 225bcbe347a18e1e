"""Known distributions with known answers; steps and ramps put in at known places."""

from __future__ import annotations

import math
import statistics as plain

import numpy as np
import pytest

from haulage.lab.analysis import statistics as st


def noise(seed: int, n: int, spread: float = 0.05) -> np.ndarray:
    drawn: np.ndarray = spread * np.random.default_rng(seed).standard_normal(n)
    return drawn


def test_median_interval_holds_the_true_median_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    for n in (6, 15, 50):
        found = [st.median_interval(random.lognormal(0, 1, n)) for _ in range(1500)]
        held = plain.fmean(i.low <= 1.0 <= i.high for i in found if i.low is not None and i.high is not None)
        assert found[0].level >= 0.95
        assert abs(held - found[0].level) < 0.02


def test_five_values_have_a_median_but_no_interval() -> None:
    found = st.median_interval([1, 2, 3, 4, 5])
    assert (found.value, found.bounded, found.note) == (3.0, False, "n too small for an interval")


@pytest.mark.parametrize(("share", "needed"), [(0.95, 72), (0.99, 368), (0.05, 72)])
def test_percentiles_that_the_sample_cannot_bound_are_not_given(share: float, needed: int) -> None:
    short = st.percentile(np.arange(needed - 1), share)
    assert short.value is None
    assert "n too small" in short.note
    enough = st.percentile(np.arange(needed), share)
    assert enough.value is not None
    assert enough.bounded


def test_p95_interval_holds_the_true_value() -> None:
    random = np.random.default_rng(2)
    true = math.log(20)  # of the exponential distribution
    found = [st.percentile(random.exponential(1, 200), 0.95) for _ in range(800)]
    assert all(i.low is not None and i.high is not None for i in found)
    held = plain.fmean(i.low <= true <= i.high for i in found if i.low is not None and i.high is not None)
    assert 0.93 < held < 0.99


def test_bootstrap_over_runs_is_wider_than_over_transfers_where_runs_differ() -> None:
    random = np.random.default_rng(3)
    runs = [random.normal(random.normal(100, 10), 1, 50) for _ in range(8)]
    by_run, pooled = st.bca(runs, seed=1), st.bca([np.concatenate(runs)], seed=1)
    assert by_run.low is not None
    assert by_run.high is not None
    assert pooled.low is not None
    assert pooled.high is not None
    assert by_run.high - by_run.low > 2 * (pooled.high - pooled.low)
    assert st.bca(runs, seed=1) == by_run
    assert by_run.low < 100 < by_run.high


def test_bootstrap_holds_the_mean_of_skewed_values() -> None:
    random = np.random.default_rng(4)
    held = 0
    for seed in range(120):
        values = random.exponential(1, 60)
        found = st.bca([values], lambda v: float(np.mean(v)), resamples=600, seed=seed)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 1 <= found.high
    assert 0.89 <= held / 120 <= 1


def test_six_pairs_can_show_a_difference_and_three_cannot() -> None:
    assert st.permutation_test([0.1, 0.12, 0.09]) == pytest.approx(0.25)
    assert st.permutation_test([0.1, 0.12, 0.09, 0.11, 0.1, 0.13]) == pytest.approx(2 / 64)
    assert not st.hodges_lehmann([0.1, 0.12, 0.09]).bounded


def test_permutation_test_errs_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    for n in (8, 20):
        p = [st.permutation_test(random.standard_normal(n), draws=999, seed=k) for k in range(400)]
        assert abs(plain.fmean(one < 0.05 for one in p) - 0.05) < 0.03


def test_hodges_lehmann_finds_the_shift_beneath_a_stray_pair() -> None:
    differences = 0.3 + noise(6, 12, 0.02)
    differences[4] = 5.0
    found = st.hodges_lehmann(differences)
    assert found.value == pytest.approx(0.3, abs=0.03)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.3 < found.high < 2.5


def test_compare_tells_different_equivalent_and_undecided() -> None:
    base = 100 * np.exp(noise(7, 8, 0.02))
    again = base * np.exp(noise(8, 8, 0.02))
    assert st.compare(base, base * 1.5, again).says == "different"
    same = st.compare(base, base * np.exp(noise(9, 8, 0.003)), again)
    assert same.says == "equivalent"
    assert same.band is not None
    assert st.compare(base, base * np.exp(noise(10, 8, 0.3)), again).says == "undecided"
    assert st.compare(base, base * 1.5, again).ratio.value == pytest.approx(1.5)


def test_a_clear_difference_too_small_to_matter_is_not_called_one() -> None:
    base = 100 * np.exp(noise(11, 8, 0.02))
    found = st.compare(base, base * 1.004)
    assert found.p < 0.05
    assert found.says != "different"


def test_benjamini_hochberg_as_in_the_textbook() -> None:
    p = [0.005, 0.009, 0.05, 0.10, 0.20, 0.30]
    assert st.benjamini_hochberg(p) == pytest.approx([0.027, 0.027, 0.10, 0.15, 0.24, 0.30])
    assert st.benjamini_hochberg([]) == []


def test_density_sees_two_heaps_and_not_one() -> None:
    random = np.random.default_rng(12)
    two = st.density(np.concatenate([random.normal(0, 1, 60), random.normal(6, 1, 40)]))
    assert two.two_modes_likely
    assert two.modes == 2
    wrongly = sum(st.density(random.normal(0, 1, 100), seed=k).two_modes_likely for k in range(30))
    assert wrongly <= 4
    assert st.density([1.0, 2.0, 3.0]).p_one_mode is None
    assert float(np.trapezoid(two.y, two.x)) == pytest.approx(1, abs=0.02)


def test_outliers_are_flagged_and_kept() -> None:
    durations = np.array([*np.exp(noise(13, 20, 0.05)), 1.75])
    found = st.outliers(durations)
    assert [k for k, far in enumerate(found.flagged) if far] == [20]
    assert (found.with_all.n, found.without.n) == (21, 20)


def rates(n: int, seed: int, *steps: tuple[int, float], slope: float = 0, spread: float = 0.07) -> np.ndarray:
    logs = math.log(2.74) + slope * np.arange(n) + noise(seed, n, spread)
    for at, factor in steps:
        logs[at:] += math.log(factor)
    made: np.ndarray = np.exp(logs)
    return made


@pytest.mark.parametrize("seed", range(8))
def test_a_link_that_fails_is_a_step_dated_within_one_transfer(seed: int) -> None:
    found = st.change_points(rates(144, seed, (70, 1 / 17)))
    assert found.says == "step"
    assert [abs(step.index - 70) <= 1 for step in found.steps] == [True]
    assert found.steps[0].factor == pytest.approx(1 / 17, rel=0.06)
    assert found.steps[0].low <= 70 <= found.steps[0].high


@pytest.mark.parametrize("seed", range(8))
def test_a_ramp_is_a_drift_and_no_step(seed: int) -> None:
    found = st.change_points(rates(144, seed, slope=-0.01))
    assert found.says == "drift"
    assert found.drift is not None
    assert found.drift.total == pytest.approx(math.expm1(-1.43), abs=0.06)


@pytest.mark.parametrize("seed", range(8))
def test_a_slide_that_gets_steeper_is_a_drift_too(seed: int) -> None:
    bent = rates(120, seed) * np.exp(-1.5 * (np.arange(120) / 120) ** 3)
    assert st.change_points(bent).says == "drift"


@pytest.mark.parametrize("seed", range(8))
def test_a_slide_that_comes_to_rest_is_no_step(seed: int) -> None:
    rest = np.minimum(np.arange(144) / 105, 1.0)
    slid = rates(144, seed) * np.exp(-1.7 * rest)
    assert st.change_points(slid).says == "drift"


@pytest.mark.parametrize("seed", range(8))
def test_both_at_once_are_told_apart(seed: int) -> None:
    found = st.change_points(rates(200, seed, (120, 0.5), slope=-0.004))
    assert found.says == "step and drift"
    assert abs(found.steps[0].index - 120) <= 2
    assert found.drift is not None
    assert found.drift.slope == pytest.approx(-0.004, rel=0.2)


def test_noise_is_steady() -> None:
    says = [st.change_points(rates(100, seed)).says for seed in range(60)]
    assert says.count("steady") >= 57


def test_one_slow_transfer_is_no_fault() -> None:
    series = rates(60, 3)
    series[30] /= 20
    assert st.change_points(series).says == "steady"


def test_two_steps_and_a_long_series() -> None:
    found = st.change_points(rates(20_000, 5, (7_003, 0.5), (13_001, 2)))
    assert found.says == "step"
    assert [step.index for step in found.steps] == pytest.approx([7_003, 13_001], abs=2)
    assert st.change_points([1, 2, 3]).says == "n too small"


def test_crossover_lies_where_it_was_put() -> None:
    sizes = [50e3, 100e3, 200e3, 400e3, 800e3]
    table = [math.log(size / 250e3) + noise(int(size), 8, 0.1) for size in sizes]
    found = st.crossover(sizes, table)
    size = found.size
    assert size.value == pytest.approx(250e3, rel=0.15)
    assert size.low is not None
    assert size.high is not None
    assert size.low < 250e3 < size.high < 400e3
    never = st.crossover(sizes, [np.full(6, -0.1)] * 5)
    assert (never.size.value, never.says) == (None, "B is slower at every size measured")


def test_flat_region_stops_at_a_worse_level() -> None:
    best = {0.25: 60.0, 0.5: 97.0, 1.0: 100.0, 2.0: 99.0, 4.0: 80.0, 8.0: 99.5}
    found = st.flat_region({level: rate * np.exp(noise(int(rate), 6, 0.003)) for level, rate in best.items()})
    assert (found.best, found.low, found.high, found.recommended) == (1.0, 0.5, 2.0, 0.5)
    assert found.against_best[4.0].value == pytest.approx(math.log(0.8), abs=0.01)
