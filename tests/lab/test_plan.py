"""Plans: what is misspelt or has no unit is refused, and what is written is what was read."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from typing import Any

import pytest

from haulage.errors import HaulageError, NotFoundError, UsageError
from haulage.lab import planfile
from haulage.lab.estimate import estimate
from haulage.lab.link import parse_link
from haulage.lab.manifest import new_manifest
from haulage.lab.schedule import schedule
from haulage.lab.target import parse_target
from sentences import Sentence

SMALL: dict[str, Any] = {
    "name": "small",
    "arms": [{"method": "baseline"}, {"method": "blocks", "block_size": ["1MiB", "2MiB"]}],
    "files": [{"size": "1MB"}, {"size": "4MB", "replicates": 2, "again": False}],
    "replicates": 3,
    "warm_up": 2,
}

OURS = [
    (name, variant)
    for name in planfile.names()
    for variant in [None, *tomllib.loads(planfile.text_of(name)).get("variants", {})]
]


@pytest.mark.parametrize(("name", "variant"), OURS)
def test_our_plans_can_be_read_and_written(name: str, variant: str | None) -> None:
    plan = planfile.load(name, variant=variant)
    again = planfile.parse(tomllib.loads(plan.to_toml()))
    assert again == plan
    assert again.sha256 == plan.sha256


@pytest.mark.parametrize("name", planfile.names())
def test_our_plans_run_in_minutes_unless_asked_for_more(name: str) -> None:
    plan = planfile.load(name)
    takes = estimate(plan, parse_target(plan.target), schedule(plan))
    assert takes.time_ns is not None
    assert takes.time_ns < 9 * 60e9
    assert takes.cost is None


@pytest.mark.parametrize(
    ("change", "object_"),
    [
        ({"replicats": 3}, "plan: replicats"),
        ({"stop": {"width": 1}}, "stop: width"),
        ({"idle": 100}, "plan: idle"),
        ({"idle": "100 parsecs"}, "plan: idle"),
        ({"files": [{"size": "1"}]}, "files 1: size"),
        ({"files": [{"size": "1MB", "sise": 1}]}, "files 1: sise"),
        ({"replicates": 0}, "plan: replicates"),
        ({"replicates": True}, "plan: replicates"),
        ({"arms": [{"method": "blocs"}]}, "arms 1: method"),
        ({"arms": [{"method": "blocks", "concurrency": 0}]}, "arms 1: concurrency"),
        ({"arms": []}, "small: arms"),
        ({"files": []}, "small: files"),
        ({"again": "blocks"}, "small: again"),
        ({"directions": "sideways"}, "plan: directions"),
        ({"files": [{"size": "1MB"}, {"size": "1MB"}]}, "small: files"),
    ],
)
def test_what_is_wrong_is_refused_with_a_hint(
    change: dict[str, Any], object_: str, sentence: Sentence
) -> None:
    with pytest.raises(UsageError) as caught:
        planfile.parse(SMALL | change)
    assert caught.value.object == object_
    sentence(caught.value)


def test_a_plan_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(NotFoundError) as caught:
        planfile.load("block-uplaod")
    assert "block-upload" in str(caught.value.hint)
    with pytest.raises(UsageError, match="its variants: long, full"):
        planfile.load("block-upload", variant="huge")


def test_overrides_reach_into_tables() -> None:
    plan = planfile.load("block-upload", overrides={"stop.relative_width": 0.1, "replicates": 2})
    assert (plan.stop_width, plan.replicates) == (0.1, 2)


def test_every_replicate_holds_each_treatment_once_and_orders_differ() -> None:
    plan = planfile.parse(SMALL)
    cells = schedule(plan)
    assert [cell.number for cell in cells] == list(range(len(cells)))
    assert [cell.replicate for cell in cells[:2]] == [-1, -1]
    counted = [cell for cell in cells if not cell.warm_up]
    orders = []
    for replicate in range(3):
        found = Counter((cell.treatment, cell.files.name) for cell in counted if cell.replicate == replicate)
        assert set(found.values()) == {1}
        # The A/A arm takes part where it is wanted, large files only as often as they say. Files of 1 MB have
        # no two blocks of 1 MiB, so that both sizes are the baseline there.
        expected = 2 + 3 * (replicate < 2)
        assert len(found) == expected
        assert (("baseline-again", "4MB") in found) is False
        orders.append([cell.treatment for cell in counted if cell.replicate == replicate])
    assert orders[0] != orders[1]


def test_the_seed_decides_the_order() -> None:
    def order(seed: int) -> list[tuple[str, str, int]]:
        cells = schedule(planfile.parse(SMALL | {"seed": seed}))
        return [(cell.treatment, cell.files.name, cell.seed) for cell in cells]

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_names_hold_the_direction_and_the_node_where_there_are_several() -> None:
    plan = planfile.parse(
        SMALL | {"directions": ["up", "down"], "nodes": [{"name": "small", "cpus": 1}, {"name": "large"}]}
    )
    names = {cell.treatment for cell in schedule(plan)}
    assert "baseline up @small" in names
    assert "blocks 1MiB x16 down @large" in names
    assert {cell.treatment for cell in schedule(planfile.parse(SMALL))} == {
        "baseline",
        "baseline-again",
        "blocks 1MiB x16",
        "blocks 2MiB x16",
    }


def test_the_estimate_knows_the_link_and_the_price() -> None:
    plan = planfile.parse(
        SMALL | {"warm_up": 0, "ceiling": {"measure": False}, "idle": "0s", "replicates": 1}
    )
    cells = [cell for cell in schedule(plan) if cell.treatment == "baseline" and cell.files.name == "1MB"]
    takes = estimate(plan, parse_target("emulated:rtt=10ms,conn=8mbit"), cells)
    assert takes.time_ns == pytest.approx(1e9, rel=0.1)
    assert (takes.writes, takes.bytes_up, takes.cost) == (1, 1_000_000, None)
    real = estimate(plan, parse_target("https://account.blob.core.windows.net/c?sig=x"), cells)
    assert real.time_ns is None
    assert real.cost == pytest.approx(0.0000065)


def test_the_estimate_counts_the_ceiling_and_the_confirmation() -> None:
    """A small run took a minute for these two, and was said to have six seconds left."""
    bare = planfile.parse(SMALL | {"ceiling": {"measure": False}})
    plan = planfile.parse(SMALL | {"ceiling": {"measure": True, "connections": 64}})
    cells, target = schedule(plan), parse_target("emulated:rtt=5ms,conn=20mbit,total=40mbit")
    without, probed = estimate(bare, target, cells).time_ns, estimate(plan, target, cells).time_ns
    confirmed = estimate(plan, target, cells, confirm=True).time_ns
    assert without is not None
    assert probed is not None
    assert confirmed is not None
    # On an idle machine it takes ten seconds.
    assert 5e9 < probed - without < 20e9
    assert 10e9 < confirmed - probed < 40e9


def test_a_link_that_changes_is_understood() -> None:
    link = parse_link("rtt=20ms,total=8mbit,at=10s:total=1mbit")
    assert link.arrival_ns(10e6, 1) == pytest.approx(10e9)
    assert link.arrival_ns(11e6, 1) == pytest.approx(18e9)
    assert link.arrival_ns(1e6, 1, start_ns=9.5e9) == pytest.approx(14e9)
    assert parse_link("wan,conn=1mbit").first.connection_bits_per_second == 1e6


def test_plain_http_to_another_machine_is_refused_for_all_movers() -> None:
    """Only the engine refused it: a plan of other movers sent its SAS and its data in clear text."""
    for private in ("http://localhost:1/c?sig=x", "http://127.0.0.2/c", "http://[::1]:1/c", "az://c"):
        parse_target(private)
    for url in ("http://10.0.0.1/c?sig=x", "http://127.0.0.1@host/c?sig=x", "http://[bad/c?sig=x"):
        with pytest.raises(UsageError) as refused:
            parse_target(url)
        assert "sig=x" not in str(refused.value)
    assert parse_target("http://10.0.0.1/c?sig=x", insecure_http=True).insecure_http


def test_no_target_keeps_its_secret_in_its_name(sentence: Sentence) -> None:
    target = parse_target("https://account.blob.core.windows.net/c?sig=secret")
    assert "secret" not in target.text
    with pytest.raises(HaulageError) as error:
        parse_target("somewhere")
    sentence(error.value)


def test_a_manifest_keeps_no_sas_of_the_command() -> None:
    """It did: the command was written down with the URL as it was typed."""
    url = "https://account.blob.core.windows.net/c?sv=1&sig=secret"
    words = ["haul", "lab", "run", "scale-out", "--to", url, f"--to={url}", "--from", f"here,far={url}"]
    target = parse_target(url)
    manifest = new_manifest(planfile.load("concurrency"), target, words, {})
    assert "secret" not in json.dumps(manifest)
    assert manifest["command"][:4] == words[:4]
    assert manifest["command"][5] == "https://account.blob.core.windows.net/c?..."
