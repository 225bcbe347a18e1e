"""The simulation of many nodes, against what can be worked out by hand and systems that are known."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import simulate_2010
from haulage.lab.simulation import founding
from haulage.lab.simulation.calibrate import calibrate, compared, mean_error
from haulage.lab.simulation.model import Load, Nodes, Request, Service, simulate

MIB = 2**20
FILES = tuple((Request(MIB / 2), Request(MIB / 2), Request(0.0, commits=True)) for _ in range(8))
LOAD = Load(FILES, 8)
NODE = Nodes(1, 30e6, latency_s=0.012, start_s=0.001)


def test_one_node_takes_its_bytes_over_its_link_and_its_latencies() -> None:
    found = simulate(NODE, LOAD, Service(), up=True)
    # Sixteen blocks by eight lanes, then the last commits: three latencies, and all bytes in between.
    assert found.wall_s == pytest.approx(0.001 + 3 * 0.012 + 8 * MIB * 8 / 30e6, rel=0.01)
    assert found.requests == 24
    assert found.refused == 0


def test_nodes_share_what_the_service_carries() -> None:
    for count, rate in ((2, 60e6), (4, 80e6), (50, 80e6)):
        found = simulate(replace(NODE, count=count), LOAD, Service(80e6), up=True)
        assert found.bits_per_second == pytest.approx(rate, rel=0.03)
        assert found.bytes == count * 8 * MIB
        assert len(found.ended_s) == count


def test_a_slower_link_keeps_its_own_rate_and_the_others_share_the_rest() -> None:
    nodes = Nodes(8, 30e6, spread=0.4)
    ended = simulate(nodes, LOAD, Service(200e6), up=False, seed=3).ended_s
    assert max(ended) > 1.2 * min(ended)
    alone = simulate(nodes, LOAD, Service(), up=False, seed=3)
    assert alone.wall_s <= max(ended)


def test_requests_a_second_bound_small_files() -> None:
    small = Load(tuple((Request(4096.0),) for _ in range(200)), 16)
    found = simulate(replace(NODE, count=4), small, Service(requests_per_second=500), up=True)
    assert found.wall_s == pytest.approx(800 / 500, rel=0.05)


def test_clients_that_are_refused_lose_more_than_those_that_are_paced() -> None:
    nodes, load = Nodes(8, 100e6, 0.01, spread=0.02), Load(((Request(4e6),) * 16,) * 4, 8)
    refused = simulate(nodes, load, Service(500e6, refuses=True), up=True)
    paced = simulate(nodes, load, Service(500e6), up=True)
    assert refused.refused > 0
    assert paced.refused == 0
    assert refused.bits_per_second < paced.bits_per_second
    # Nothing is lost and nothing sent twice in the end.
    assert refused.requests - refused.refused == paced.requests


def rows_of(nodes: Nodes, service: Service, counts: tuple[int, ...]) -> pd.DataFrame:
    """What a run would have measured of a system that is known."""
    rows = [
        {"kind": "request", "number": number, "value": request.size_bytes}
        for number, requests in enumerate(FILES)
        for request in requests
    ]
    rows += [
        {"kind": "latency", "value": nodes.latency_s * 1e9},
        {"kind": "start", "value": nodes.start_s * 1e9},
        {"kind": "lanes", "value": 8},
        {"kind": "spread", "value": 0.0},
    ]
    for count in counts:
        found = simulate(replace(nodes, count=count), LOAD, service, up=True)
        rows.append(
            {
                "kind": "cell",
                "node_count": count,
                "value": found.bits_per_second,
                "other": found.all_active_bits_per_second,
            }
        )
    return pd.DataFrame(rows).assign(direction="up")


@pytest.mark.parametrize("bound", [40e6, 70e6, 100e6])
def test_a_system_that_is_known_is_found_from_four_nodes(bound: float) -> None:
    made = calibrate(rows_of(NODE, Service(bound), (1, 2, 3, 4, 6, 8)))
    assert made is not None
    assert made.nodes.link_bits_per_second == pytest.approx(30e6, rel=0.01)
    assert made.service.bits_per_second == pytest.approx(bound, rel=0.02)
    rows = pd.DataFrame(compared(made, (20,)))
    error = mean_error(rows)
    assert error is not None
    assert error < 0.03
    # That more bring no more than four would do as well here, for the bound was met by then.
    flat = mean_error(rows, flat=True)
    assert flat is not None
    assert flat < 0.05
    assert set(rows[rows["node_count"] == 20]["role"]) == {"predicted"}


def test_a_bound_that_four_nodes_do_not_reach_is_not_made_up() -> None:
    made = calibrate(rows_of(NODE, Service(1e9), (1, 2, 3, 4)))
    assert made is not None
    assert not made.bound_seen
    assert made.rates(100)[0] == pytest.approx(100 * made.rates(1)[0], rel=0.02)
    limited = calibrate(rows_of(NODE, Service(1e9), (1, 2)), service=Service(300e6))
    assert limited is not None
    assert limited.rates(100)[0] == pytest.approx(300e6, rel=0.02)


@pytest.mark.parametrize(
    "short",
    [{4: 0.025}, {2: 0.025}, {2: 0.03, 3: 0.05, 4: 0.08}],
    ids=["four", "two", "all"],
)
def test_nodes_that_fall_a_little_short_show_no_bound(short: dict[int, float]) -> None:
    rows = rows_of(NODE, Service(), (1, 2, 3, 4))
    for count, share in short.items():
        rows.loc[rows["node_count"] == count, ["value", "other"]] *= 1 - share
    made = calibrate(rows)
    assert made is not None
    assert not made.bound_seen
    assert made.rates(20)[0] == pytest.approx(20 * made.rates(1)[0], rel=0.02)


def test_a_bound_that_fits_no_better_than_none_is_not_taken() -> None:
    rows = rows_of(NODE, Service(), (1, 2, 3, 4))
    # Three are as slow as two, and four as they should be: nothing that all share does that.
    for count, of_linear in ((3, 0.6), (4, 0.55)):
        rows.loc[rows["node_count"] == count, "value"] *= of_linear
    made = calibrate(rows)
    assert made is not None
    assert not made.bound_seen


def test_without_one_alone_there_is_no_simulation() -> None:
    assert calibrate(rows_of(NODE, Service(), (2, 4))) is None


@pytest.mark.parametrize("direction", ["up", "down"])
def test_what_was_lost_in_2010_comes_about_again(direction: str) -> None:
    rows = [row for row in founding.rows() if row["direction"] == direction]
    assert [row["demand_over_bound"] for row in rows] == list(simulate_2010.DEMANDS)
    like = [row for row in rows if row["is_as_then"]]
    assert like, "no demand explains what was lost"
    for row in like:
        # Over ten minutes clients that back off keep the service as busy as those that are paced.
        assert abs(row["kept_by_pacing_share"]) < 0.03
        assert row["refused_share_of_requests"] > 0.1
    least, most = simulate_2010.LOST[direction]
    refused = [row["lost_refused_share"] for row in rows]
    assert min(refused) < least < most < max(refused)


@pytest.mark.long
def test_what_lies_beside_the_simulation_of_2010_is_what_it_gives() -> None:
    kept = {(row["direction"], row["demand_over_bound"]): row for row in founding.rows()}
    again = simulate_2010.lost("down", 1.2, seeds=simulate_2010.SEEDS[:1])
    assert again.keys() == kept["down", 1.2].keys()
    for name, value in kept["down", 1.2].items():
        # The mean of all runs of chance takes longer, and lies as near to one of them.
        assert again[name] == (pytest.approx(value, abs=0.01) if isinstance(value, float) else value), name


@pytest.mark.long
@pytest.mark.parametrize("direction", ["up", "down"])
def test_what_was_lost_in_2010_is_no_matter_of_how_long_it_took(direction: str) -> None:
    longer = simulate_2010.lost(direction, 1.3, files=2 * simulate_2010._FILES, seeds=simulate_2010.SEEDS[:1])
    kept = next(
        row for row in founding.rows() if (row["direction"], row["demand_over_bound"]) == (direction, 1.3)
    )
    assert longer["lost_refused_share"] == pytest.approx(kept["lost_refused_share"], abs=0.02)
    assert longer["lost_paced_share"] == pytest.approx(kept["lost_paced_share"], abs=0.02)
