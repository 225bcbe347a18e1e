"""The ceiling: what is counted, how it is bounded, and what it is on a link whose rate is known."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import known_ceilings
from haulage.lab.analysis import analyse
from haulage.lab.ceiling import measure_ceiling, steady_s
from haulage.lab.ceiling.counters import Counters, connections, weighted_rate
from haulage.lab.ceiling.path import LEAST_S, MOST_S, between
from haulage.lab.ceiling.rounds import Round, estimate
from haulage.lab.plan import Plan
from haulage.lab.target import parse_target, start_emulator
from lab import made_runs
from lab.made_runs import cell


@pytest.mark.parametrize("shift", [0.0, 0.13, 0.31, 0.5, 0.77])
def test_steps_of_a_slow_receiver_add_up_to_its_rate(shift: float) -> None:
    """190 KB at a time, 2 Mbit/s: a step more or less would be a fifth of the window."""
    every = 190e3 * 8 / 2e6
    steps = [((number + shift) * every, 190e3) for number in range(-3, 12)]
    assert weighted_rate(steps, 0.0, 4 * every) == pytest.approx(2e6, rel=1e-9)
    assert weighted_rate(steps, 0.0, 3.6 * every) == pytest.approx(2e6, rel=0.02)


def test_what_did_not_move_counts_as_nothing() -> None:
    half = [(number / 100, 1e5) for number in range(50)]
    assert weighted_rate(half, 0.0, 1.0) == pytest.approx(8 * 1e7 / 2, rel=0.05)


def test_requests_count_where_they_were_moving() -> None:
    # Eight lanes, each with requests of a tenth of a second, out of step.
    pieces = [
        (int((n + lane / 8) * 1e8), int((n + 1 + lane / 8) * 1e8), 125_000)
        for n in range(20)
        for lane in range(8)
    ]
    assert between(pieces, 2e8, 18e8) == pytest.approx(8 * 1e7, rel=0.01)


def row(connections: int, rate: float, *, idle: float = 0.5, purpose: str = "estimate") -> Round:
    return Round("up", connections, connections, "kernel", 0, 10**9, rate, idle, purpose)


def test_the_better_way_of_opening_is_the_ceiling_and_has_an_interval() -> None:
    rounds = [row(1, 2e7), row(1, 2.02e7), *(row(64, rate * 1e9) for rate in (1.0, 1.1, 0.9, 1.05, 0.95))]
    found = estimate([row(4, 9e9, purpose="search"), *rounds, row(64, 5e9, purpose="check")])
    assert found.bits_per_second == pytest.approx(1e9, rel=0.01)
    assert found.one_connection_bits_per_second == pytest.approx(2.01e7, rel=0.01)
    assert found.low_bits_per_second < 0.95e9
    assert found.high_bits_per_second > 1.05e9
    one = estimate([row(1, 2e9), row(1, 2.02e9), *(row(64, 1e9) for _ in range(5))])
    assert one.connections == 1
    # Rounds that agree know no better than the clock and the headers that they share.
    alike = estimate([row(1, 1e8)] * 5)
    assert alike.high_bits_per_second / alike.low_bits_per_second == pytest.approx(1.02, rel=0.001)


def test_a_path_that_changed_meanwhile_has_no_one_rate() -> None:
    changed = estimate([*[row(4, 1e8)] * 3, *[row(4, 2e7)] * 2])
    assert not changed.is_steady
    assert changed.low_bits_per_second == pytest.approx(2e7)
    assert changed.high_bits_per_second == pytest.approx(1e8)
    assert estimate([row(4, rate * 1e8) for rate in (1.0, 1.05, 0.98)]).is_steady


def test_busy_processors_are_said_to_be_the_bound() -> None:
    assert estimate([row(4, 1e9, idle=0.02)] * 5).bound_by_machine
    assert not estimate([row(4, 1e9, idle=0.4)] * 5).bound_by_machine


def test_rounds_are_over_before_the_link_changes() -> None:
    assert steady_s(parse_target("emulated:total=100mbit")) == MOST_S
    assert LEAST_S < steady_s(parse_target("emulated:total=100mbit,at=3s:total=2mbit")) <= 1.0


def test_the_kernel_counts_the_bytes_of_our_own_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        served, _ = server.accept()
        with client, served, Counters() as counters:
            inode = int(Path(f"/proc/self/fd/{client.fileno()}").readlink().name[8:-1])
            client.sendall(bytes(50_000))
            left = 50_000
            while left:
                left -= len(served.recv(left))
            found = {number: (acked, received) for number, acked, received in connections()}
        assert 50_000 <= found[inode][0] <= 50_001  # The opening counts as one.
    assert counters.samples is not None


@pytest.mark.long
@pytest.mark.parametrize("link", ["rtt=5ms,conn=20mbit,total=40mbit"])
def test_a_link_is_measured_as_what_it_is(link: str) -> None:
    """The 64 connections that shared sixteen blocks found 20.3 where 40 was true."""
    for one in known_ceilings.measure(link, time_ns=500_000_000, directions=["up"]):
        # A machine with other work may be slower than the link; the error is then said to be its own.
        assert abs(one.error) < 0.05 or one.bound_by_machine, one
        assert one.low <= one.found <= one.high


@pytest.mark.long
def test_all_connections_that_a_round_is_of_carry_something() -> None:
    """With memory for a few requests three of eight carried anything, and 1 of 64 Gbit/s was found."""
    plan = cast(Plan, SimpleNamespace(ceiling_connections=8, ceiling_time_ns=500_000_000, seed=1))
    endpoint = start_emulator(store="null", link="rtt=1ms,conn=400mbit")
    try:
        found = measure_ceiling(plan, lambda: endpoint, lambda: None, directions=["down"])
    finally:
        endpoint.close()
    rounds = [one for one in found["rounds"] if one["purpose"] == "estimate"]
    # On a busy machine one of them may begin too late now and then.
    assert {many: max(one["opened"] for one in rounds if one["connections"] == many) for many in (1, 8)} == {
        1: 1,
        8: 8,
    }


def ceiling(rate: float) -> dict[str, float]:
    bounds = {f"{way}_{side}bits_per_second" for way in ("up", "down") for side in ("", "low_", "high_")}
    factor = {"low": 0.97, "high": 1.03}
    return {name: rate * factor.get(name.split("_")[1], 1.0) for name in bounds}


def test_an_efficiency_has_the_interval_of_the_ceiling(tmp_path: Path) -> None:
    cells = [cell(number, replicate=number) for number in range(6)]
    rate = 8e9 * cells[0]["bytes"] / cells[0]["wall_ns"]
    found = analyse(made_runs.write(tmp_path / "run", cells, ceiling=ceiling(2 * rate)))
    share = found.results["efficiency"].frame.iloc[0]
    assert share["efficiency_share"] == pytest.approx(0.5)
    assert share["efficiency_low_share"] == pytest.approx(0.5 / 1.03)
    assert share["efficiency_high_share"] == pytest.approx(0.5 / 0.97)
    card = next(one for one in found.findings if one.title == "Ceiling")
    assert card.low is not None
    assert card.low <= 0.5 / 1.03 + 1e-9


def test_more_than_the_ceiling_is_an_error_of_the_measurement(tmp_path: Path) -> None:
    """Cards said "used 327 % of the ceiling" as if that were a merit."""
    cells = [cell(number, replicate=number) for number in range(6)]
    rate = 8e9 * cells[0]["bytes"] / cells[0]["wall_ns"]
    found = analyse(made_runs.write(tmp_path / "run", cells, ceiling=ceiling(rate / 3.27)))
    card = next(one for one in found.findings if one.title == "Ceiling")
    assert "that measurement is wrong" in card.sentence
    assert "used" not in card.sentence
