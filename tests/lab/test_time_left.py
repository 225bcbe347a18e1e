"""The time that a run of the lab says is left: from what its cells took, not from what a link could do."""

from __future__ import annotations

import pytest

from haulage.lab.time_left import TimeLeft, rest_ns

S = 1e9


def test_on_a_busy_machine_it_follows_what_cells_take() -> None:
    # Two kinds, four cells of each in turn. Each takes five times what was expected of it.
    time = TimeLeft([1 * S, 3 * S] * 4, ["small", "large"] * 4)
    assert time.left_ns(range(8)) == 16 * S
    time.ended(0, 5 * S)
    # From the first cell on, also for the kind that has not been run.
    assert time.left_ns(range(1, 8)) == pytest.approx((3 * 5 + 4 * 15) * S)
    time.ended(1, 12 * S)
    assert time.left_ns(range(2, 8)) == pytest.approx((3 * 5 + 3 * 12) * S)
    for number in range(2, 8):
        time.ended(number, 5 * S)
    assert time.left_ns([]) == 0


def test_it_never_stands_still() -> None:
    time = TimeLeft([2 * S, 2 * S], ["a", "a"])
    time.ended(0, 2 * S)
    said = [time.left_ns([1], running * S) for running in (0.5, 1.0, 1.5, 2.0, 4.0, 8.0)]
    assert said[:3] == [1.5 * S, 1.0 * S, 0.5 * S]
    # A cell that is late has some time left, and the more the later it is.
    assert said[3:] == pytest.approx([0.2 * S, 0.4 * S, 0.8 * S])
    assert len({*said}) == len(said)


def test_a_first_cell_that_is_late_says_so_of_the_others() -> None:
    time = TimeLeft([2 * S] * 5, ["a"] * 5)
    assert time.left_ns(range(5), 1 * S) == 9 * S
    left = time.left_ns(range(5), 10 * S)
    assert left == pytest.approx(1 * S + 4 * 11 * S)


def test_bytes_that_have_moved_say_how_long_a_cell_takes() -> None:
    assert rest_ns(2 * S, 4 * S, share=0.25) == 12 * S
    assert rest_ns(2 * S, 1 * S, share=0.01) == 1 * S, "too few bytes say nothing"
    assert rest_ns(2 * S, 1 * S, share=0.9) == 1 * S, "a cell has more to do than to move bytes"


def test_without_a_known_link_cells_that_ended_tell() -> None:
    time = TimeLeft([None, None, 4 * S], ["a", "b", "c"])
    assert time.left_ns([0, 1, 2]) is None
    time.ended(0, 3 * S)
    assert time.left_ns([1, 2]) == 7 * S


def test_thousands_of_cells_take_no_time_to_ask_for() -> None:
    time = TimeLeft([1 * S] * 20_000, [number % 500 for number in range(20_000)])
    for number in range(10_000):
        time.ended(number, 2 * S)
    assert time.left_ns(range(10_000, 20_000), 1 * S) == pytest.approx(19_999 * S)
