"""Known distributions with known answers; steps and ramps put in at known places."""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Callable

import numpy as np
import pytest

import check_series
import check_statistics
import generated_data
from haulage.lab.analysis import statistics as st

#: Two of these in the gate, all of them in `make long`.
SEEDS = pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 8))]
)


def draws(few: int, many: int) -> pytest.MarkDecorator:
    """A few of a simulation's draws in the gate, all of them in `make long`."""
    return pytest.mark.parametrize("times", [few, pytest.param(many, marks=pytest.mark.long)])


def noise(seed: int, n: int, spread: float = 0.05) -> np.ndarray:
    drawn: np.ndarray = spread * np.random.default_rng(seed).standard_normal(n)
    return drawn


@pytest.mark.parametrize(
    "n", [6, pytest.param(15, marks=pytest.mark.long), pytest.param(50, marks=pytest.mark.long)]
)
def test_median_interval_holds_the_true_median_as_often_as_it_says(n: int) -> None:
    random = np.random.default_rng(1)
    found = [st.median_interval(random.lognormal(0, 1, n)) for _ in range(1500)]
    held = plain.fmean(i.low <= 1.0 <= i.high for i in found if i.low is not None and i.high is not None)
    assert found[0].level >= 0.95
    assert abs(held - found[0].level) < 0.02


def test_five_values_have_a_median_but_no_interval() -> None:
    found = st.median_interval([1, 2, 3, 4, 5])
    assert (found.value, found.bounded, found.note) == (3.0, False, "n too small for an interval")


def test_a_fall_early_in_a_job_whose_rest_is_flat_is_a_step() -> None:
    """What was before was taken for outliers: the job of a link that fell 18-fold was called steady."""
    random = np.random.default_rng(6)
    rates = np.concatenate([[89, 191], random.normal(215, 15, 6), random.normal(12, 0.05, 32)])
    found = st.change_points(rates)
    assert (found.says, [step.index for step in found.steps]) == ("step", [8])


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


def test_six_pairs_can_show_a_difference_and_three_cannot() -> None:
    assert st.permutation_test([0.1, 0.12, 0.09], [0.0] * 3) == pytest.approx(0.25)
    six = [0.1, 0.12, 0.09, 0.11, 0.1, 0.13]
    assert st.permutation_test(six, [0.0] * 6) == pytest.approx(2 / 64)
    assert not st.hodges_lehmann([0.1, 0.12, 0.09]).bounded
    # The baseline's second time makes six enough for a dozen comparisons.
    assert st.permutation_test(six, [0.0] * 6, noise(1, 6, 0.01)) == pytest.approx(1 / 729)


def test_permutation_test_errs_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    for n, arms in ((8, 2), (6, 3), (20, 2)):
        drawn = random.standard_normal((300, arms, n))
        p = [st.permutation_test(*rows, draws=999, seed=k) for k, rows in enumerate(drawn)]
        assert abs(plain.fmean(one < 0.05 for one in p) - 0.04) < 0.04


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
    assert st.compare(base, base * 1.5).says == "different"
    assert st.compare(base, base * np.exp(noise(9, 8, 0.003))).says == "equivalent"
    assert st.compare(base, base * np.exp(noise(10, 8, 0.3))).says == "undecided"
    assert st.compare(base, base * 1.5).ratio.value == pytest.approx(1.5)


def test_noise_does_not_make_things_equivalent() -> None:
    random = np.random.default_rng(8)
    for spread in (0.05, 0.1, 0.2):
        pairs = [(random.lognormal(0, spread, 6), random.lognormal(0.1, spread, 6)) for _ in range(200)]
        assert sum(st.compare(a, b).says == "equivalent" for a, b in pairs) <= 2


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
    assert st.density([1.0, 2.0, 3.0]).p_one_mode is None
    assert float(np.trapezoid(two.y, two.x)) == pytest.approx(1, abs=0.02)


def test_heavy_tails_are_not_two_modes() -> None:
    random = np.random.default_rng(14)
    drawn = [random.standard_t(2, 100) for _ in range(100)] + [
        random.lognormal(0, 1, 100) for _ in range(100)
    ]
    assert sum(st.density(values).two_modes_likely for values in drawn) <= 4


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


@SEEDS
def test_a_link_that_fails_is_a_step_dated_within_one_transfer(seed: int) -> None:
    found = st.change_points(rates(144, seed, (70, 1 / 17)))
    assert found.says == "step"
    assert [abs(step.index - 70) <= 1 for step in found.steps] == [True]
    assert found.steps[0].factor == pytest.approx(1 / 17, rel=0.06)
    assert found.steps[0].low <= 70 <= found.steps[0].high


@SEEDS
def test_a_ramp_is_a_drift_and_no_step(seed: int) -> None:
    found = st.change_points(rates(144, seed, slope=-0.01))
    assert found.says == "drift"
    assert found.drift is not None
    assert found.drift.total == pytest.approx(math.expm1(-1.43), abs=0.06)


@SEEDS
def test_a_slide_that_gets_steeper_is_a_drift_too(seed: int) -> None:
    bent = rates(120, seed) * np.exp(-1.5 * (np.arange(120) / 120) ** 3)
    assert st.change_points(bent).says == "drift"


def test_the_clearest_slide_is_a_drift() -> None:
    """Of a run on a link that fell by 7 % at a time: noise as even as this might make such a series."""
    rates = [
        12.65, 13.18, 13.44, 13.32, 12.72, 10.81, 11.57, 9.90, 9.77, 9.59, 9.44, 9.50, 8.60, 8.57, 7.56, 7.33,
        6.14, 6.05, 5.94, 5.78, 5.57, 5.32, 5.08, 4.62, 4.67, 4.33, 3.92, 3.30, 2.75, 2.23, 2.19, 2.19,
        2.19, 2.17, 2.19, 2.19, 2.19, 2.19, 2.19, 2.19, 2.19, 2.16, 2.18, 2.17, 2.19, 2.19, 2.18, 2.16,
    ]  # fmt: skip
    assert st.change_points(rates).says == "drift"


@SEEDS
def test_a_slide_that_comes_to_rest_is_no_step(seed: int) -> None:
    rest = np.minimum(np.arange(144) / 105, 1.0)
    slid = rates(144, seed) * np.exp(-1.7 * rest)
    assert st.change_points(slid).says == "drift"


@SEEDS
def test_both_at_once_are_told_apart(seed: int) -> None:
    found = st.change_points(rates(200, seed, (120, 0.5), slope=-0.004))
    assert found.says == "step and drift"
    assert abs(found.steps[0].index - 120) <= 2
    assert found.drift is not None
    assert found.drift.slope == pytest.approx(-0.004, rel=0.2)


@draws(10, 60)
def test_noise_is_steady(times: int) -> None:
    says = [st.change_points(rates(100, seed)).says for seed in range(times)]
    assert says.count("steady") >= 0.95 * times


def test_two_heaps_are_no_steps() -> None:
    random = np.random.default_rng(15)
    heaps = [0.5 * (random.random(60) < 0.4) + 0.03 * random.standard_normal(60) for _ in range(40)]
    assert sum(st.change_points(np.exp(logs)).says != "steady" for logs in heaps) <= 3


@draws(10, 40)
def test_a_rate_that_halves_in_a_short_series_is_found(times: int) -> None:
    says = [st.change_points(rates(30, seed, (15, 0.5))).says for seed in range(times)]
    assert says.count("step") >= 0.95 * times


def test_a_slide_in_the_midst_of_a_run_is_no_step() -> None:
    slid = np.exp(-0.7 * np.clip((np.arange(100) - 30) / 30, 0, 1))
    says = [st.change_points(rates(100, seed) * slid).says for seed in range(20)]
    assert says.count("drift") >= 19


def test_one_slow_transfer_is_no_fault() -> None:
    series = rates(60, 3)
    series[30] /= 20
    assert st.change_points(series).says == "steady"


def test_two_steps_and_a_long_series() -> None:
    found = st.change_points(rates(20_000, 5, (7_003, 0.5), (13_001, 2)))
    assert found.says == "step"
    assert [step.index for step in found.steps] == pytest.approx([7_003, 13_001], abs=2)
    assert st.change_points([1, 2, 3]).says == "n too small"


SIZES = [50e3, 100e3, 200e3, 400e3, 800e3]


def test_crossover_lies_where_it_was_put() -> None:
    table = [math.log(size / 250e3) + noise(int(size), 8, 0.1) for size in SIZES]
    found = st.crossover(SIZES, table)
    (size,) = found.crossings
    assert found.rises == [True]
    assert size.value == pytest.approx(250e3, rel=0.15)
    assert size.low is not None
    assert size.high is not None
    assert size.low < 250e3 < size.high < 400e3
    never = st.crossover(SIZES, [-0.1 + noise(k, 6, 0.001) for k in range(5)])
    assert (never.crossings, never.says) == ([], "B is slower at every size measured")


def test_two_crossings_stay_two() -> None:
    shape = (-0.5, 0.5, 0.6, 0.4, -0.5)
    found = st.crossover(SIZES, [shift + noise(k, 6, 0.05) for k, shift in enumerate(shape)])
    assert found.rises == [True, False]
    assert [50e3 < one.value < 800e3 for one in found.crossings if one.value is not None] == [True, True]


def test_identical_methods_do_not_cross() -> None:
    random = np.random.default_rng(16)
    alike = [st.crossover(SIZES, list(random.normal(0, 0.1, (5, 6)))) for _ in range(200)]
    assert sum(len(found.crossings) > 0 for found in alike) <= 4


def test_a_curve_that_meets_the_other_at_its_end_has_an_open_end_and_no_crossing() -> None:
    shape = (0.0, 0.01, 0.4, 0.5, 0.6)
    found = st.crossover(SIZES, [shift + noise(20 + k, 6, 0.05) for k, shift in enumerate(shape)])
    assert (found.crossings, found.open_below, found.open_above) == ([], True, False)


@pytest.mark.parametrize("true", [4, 8, 16])
def test_the_knee_lies_in_its_interval_or_is_not_determined(true: int) -> None:
    random = np.random.default_rng(true)
    wrong = given = 0
    for spread in (0.01, 0.03, 0.07):
        for _ in range(60):
            rate = {n: min(n, true) * random.lognormal(0, spread, 6) for n in (1, 2, 4, 8, 16, 32, 64)}
            found = st.knee({float(n): values for n, values in rate.items()})
            given += found.value is not None
            if found.value is not None and found.low is not None and found.high is not None:
                wrong += not found.low <= true <= found.high
    assert wrong <= 3
    assert given > 60


def test_a_rate_that_still_rises_has_no_knee() -> None:
    found = st.knee({float(n): n * np.exp(noise(n, 6, 0.01)) for n in (1, 2, 4, 8)})
    assert (found.value, found.low) == (None, 8.0)


def clustered(random: np.random.Generator, cells: int, each: int, alike: float) -> list[np.ndarray]:
    own = random.normal(0, math.sqrt(alike), (cells, 1))
    return list(np.exp(0.3 * (own + math.sqrt(1 - alike) * random.standard_normal((cells, each)))))


@pytest.mark.parametrize(("cells", "each", "alike"), [(6, 12, 0.5), (6, 50, 0.5), (12, 12, 0.5), (6, 12, 0)])
def test_the_median_of_cells_is_held_as_often_as_it_says(cells: int, each: int, alike: float) -> None:
    random = np.random.default_rng(17)
    found = [st.percentile_of_cells(clustered(random, cells, each, alike), 0.5) for _ in range(400)]
    held = plain.fmean(i.low <= 1 <= i.high for i in found if i.low is not None and i.high is not None)
    assert 0.92 <= held <= 0.98


def test_alike_transfers_of_few_cells_give_no_p95() -> None:
    random = np.random.default_rng(18)
    found = [st.percentile_of_cells(clustered(random, 6, 50, 0.5), 0.95) for _ in range(100)]
    assert sum(one.value is not None for one in found) <= 2
    assert "are worth" in found[0].note
    assert st.percentile_of_cells([np.arange(500.0)], 0.5).note.startswith("n too small: 1 of the 6 cells")


def test_one_of_ten_that_is_30_percent_slower_is_found_between_runs() -> None:
    random = np.random.default_rng(19)
    found = 0
    for _ in range(100):
        both = random.lognormal(0, 0.07, (2, 10, 6))
        both[1, 0] *= 0.7
        compared = [st.compare_unpaired(a, b) for a, b in zip(*both, strict=True)]
        q = st.benjamini_hochberg([one.p for one in compared])
        found += st.verdict(compared[0].shift, q[0]) == "different"
    assert found >= 95


def test_what_is_printed_as_missed_half_of_the_time_is() -> None:
    random = np.random.default_rng(21)
    share = st.detectable(6, 0.1)
    pairs = random.normal(math.log1p(share), 0.1, (300, 6))
    seen = [st.compare(np.ones(6), np.exp(logs)).says == "different" for logs in pairs]
    assert 0.38 < plain.fmean(seen) < 0.62
    assert st.detectable(3, 0.1) == math.inf


def test_flat_region_stops_at_a_worse_level() -> None:
    best = {0.25: 60.0, 0.5: 97.0, 1.0: 100.0, 2.0: 99.0, 4.0: 80.0, 8.0: 99.5}
    found = st.flat_region({level: rate * np.exp(noise(int(rate), 6, 0.003)) for level, rate in best.items()})
    assert (found.best, found.low, found.high, found.recommended) == (1.0, 0.5, 2.0, 0.5)
    assert found.against_best[4.0].value == pytest.approx(math.log(0.8), abs=0.01)


def share_held(made_of: Callable[[], tuple[st.Interval, float]], times: int) -> float:
    return generated_data.held("", "", made_of, times).share


@pytest.mark.parametrize("n", [12, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "draw", [generated_data.lognormal, pytest.param(generated_data.heavy, marks=pytest.mark.long)]
)
def test_the_interval_of_a_crossover_is_no_wider_than_it_says(n: int, draw: generated_data.Draw) -> None:
    random = np.random.default_rng(23)
    assert 0.91 <= share_held(lambda: check_series.crossing(random, draw, n), 150) <= 0.98


def test_the_bounds_of_a_crossover_do_not_depend_on_the_sizes_tried_between() -> None:
    table = [0.5 * math.log(size / 250e3) + noise(int(size), 20, 0.001) for size in SIZES]
    (size,) = st.crossover(SIZES, table).crossings
    assert size.low is not None
    assert size.high is not None
    assert size.high / size.low < 1.005


@draws(15, 60)
@pytest.mark.parametrize("draw", [generated_data.lognormal, generated_data.alike])
def test_the_dates_of_a_weak_step_hold_it_as_often_as_they_say(draw: generated_data.Draw, times: int) -> None:
    random = np.random.default_rng(24)
    assert share_held(lambda: check_series.dated(random, draw, 144, 1.5 * generated_data.NOISE), times) >= 0.9


@pytest.mark.parametrize(
    "n", [12, pytest.param(6, marks=pytest.mark.long), pytest.param(20, marks=pytest.mark.long)]
)
def test_a_level_that_gives_just_enough_is_not_left_out_of_the_range_of_the_knee(n: int) -> None:
    random = np.random.default_rng(25)
    held = share_held(
        lambda: (check_series.knee(random, generated_data.lognormal, n, check_series.JUST), 8.0), 400
    )
    assert 0.93 <= held <= 0.98


def test_replicates_that_are_alike_one_after_the_other_are_told_from_others() -> None:
    random = np.random.default_rng(26)
    shared = [random.standard_normal(6) + random.standard_normal((8, 6)) for _ in range(200)]
    assert sum(st.serial(rows).shown for rows in shared) <= 14
    drifting = [st.serial(generated_data.alike(random, (8, 12))) for _ in range(30)]
    assert sum(found.shown for found in drifting) >= 27
    assert 1.3 < plain.median(found.wider for found in drifting) < 2.2
    assert not st.serial([[1.0, 2.0, 3.0]]).shown


@pytest.mark.parametrize(
    "n", [6, pytest.param(12, marks=pytest.mark.long), pytest.param(20, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("draw", [generated_data.alike, generated_data.lognormal])
def test_medians_of_replicates_that_are_alike_get_intervals_that_hold_the_truth(
    n: int, draw: generated_data.Draw
) -> None:
    random = np.random.default_rng(28)
    held = share_held(lambda: (check_statistics.of_a_run(random, draw, (8, n)), 1.0), 400)
    assert 0.9 <= held <= 0.99


def test_no_one_is_blamed_because_a_fall_was_missed_at_one_place() -> None:
    random = np.random.default_rng(27)
    said = [
        check_series.fault(random, generated_data.lognormal, generated_data.NOISE, {"first": 0.5})
        for _ in range(20)
    ]
    assert set(said) <= {"path", "undetermined"}
    assert said.count("path") >= 4
