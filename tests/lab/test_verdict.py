"""Each rule of the verdict on evidence made by hand, and where it has to say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from haulage.lab.analysis.causes import CAUSES, Effects, Evidence
from haulage.lab.analysis.ledger import CATEGORIES
from haulage.lab.analysis.verdict import decide, score

QUIET: dict[str, Any] = {"cpu_granted": 1.0}


def evidence(shares: dict[str, float], **values: Any) -> Evidence:
    plain = {
        "lanes": 8,
        "rate_bits_per_second": 1e8,
        "answer_ns": 5e6,
        "took_ns": 100e6,
        "cpu_idle_share": 0.8,
    }
    return Evidence("trial", dict.fromkeys(CATEGORIES, 0.0) | shares, **(plain | values))


MOVING = {"send": 0.9, "server wait": 0.1}
SEEN = {
    "throttled": evidence({"throttled": 0.3, "send": 0.6, "idle": 0.1}, refused_share=0.1),
    "disk": evidence({"disk": 0.7, "send": 0.3}),
    "commit": evidence({"commit": 0.6, "send": 0.4}, commit_ns=200e6),
    "connect": evidence({"connect": 0.5, "send": 0.5}),
    "pacing": evidence({"pacing": 0.9, "server wait": 0.1}),
    "ordering": evidence({"ordering": 0.5, "receive": 0.5}, direction="down"),
    "latency": evidence({"server wait": 0.8, "send": 0.2}, took_ns=6e6),
    "total-rate": evidence(MOVING, slope=-1.0, spread=2.0, judged=40),
    "connection-rate": evidence(MOVING, slope=0.05, spread=2.0, judged=40),
    "cpu": evidence(MOVING, cpu_idle_share=0.01, cpu_share_of_one_core=0.9),
}


@pytest.mark.parametrize("cause", SEEN)
def test_a_clear_record_is_seen_and_not_more(cause: str) -> None:
    found = decide(SEEN[cause])
    assert (found.cause, found.status) == (cause, "seen")
    assert found.threshold
    assert found.advice == CAUSES[cause][1]
    assert any(letter.isdigit() for letter in found.evidence[0])


@pytest.mark.parametrize(
    "unclear",
    [
        evidence(MOVING),
        evidence(MOVING, slope=-0.9, spread=1.05, judged=40),
        evidence(MOVING, slope=-0.9, spread=2.0, judged=5),
        evidence(MOVING, slope=-0.45, spread=2.0, judged=40),
        evidence(MOVING, slope=float("nan"), spread=2.0, judged=40),
        # Others have the processors, but this transfer hardly wants them.
        evidence(MOVING, cpu_idle_share=0.0, cpu_share_of_one_core=0.02),
        evidence({"send": 0.35, "disk": 0.33, "connect": 0.32}),
        evidence({}),
    ],
)
def test_a_record_that_does_not_tell_is_undetermined(unclear: Evidence) -> None:
    found = decide(unclear)
    assert (found.cause, found.status) == ("undetermined", "undetermined")


def test_a_busy_machine_does_not_outrank_requests_that_do_not_slow() -> None:
    slow = evidence(MOVING, slope=0.0, spread=2.0, judged=40, cpu_idle_share=0.0, cpu_share_of_one_core=0.5)
    assert decide(slow).cause == "connection-rate"


def test_whole_files_alone_do_not_tell_a_long_path_from_slow_commits() -> None:
    small = evidence({"commit": 0.9, "send": 0.1}, took_ns=205e6, answer_ns=200e6, is_of_empty_request=False)
    assert decide(small).cause == "undetermined"


def test_an_answer_that_takes_longer_than_the_path_is_no_latency() -> None:
    waiting = evidence({"server wait": 0.8, "receive": 0.2}, direction="down", took_ns=100e6, answer_ns=5e6)
    assert decide(waiting).cause != "latency"
    assert score(waiting)["server"] == pytest.approx(0.75)


def test_empty_slots_are_no_cause_but_are_said() -> None:
    found = decide(evidence({"idle": 0.5, "send": 0.5}, slope=-1.0, spread=2.0, judged=40))
    assert found.cause == "total-rate"
    assert any("stood empty for 50%" in line for line in found.evidence)


@pytest.mark.parametrize(
    ("connections", "blocks", "cause"),
    [
        (2.0, 1.0, "connection-rate"),
        (2.0, 3.9, "latency"),
        (1.0, 1.0, "total-rate"),
        (1.0, 3.9, "server"),
        (1.3, 1.0, "undetermined"),
        (2.0, 1.3, "undetermined"),
        (1.0, 1.3, "undetermined"),
    ],
)
def test_connections_and_blocks_tell_four_causes_apart(connections: float, blocks: float, cause: str) -> None:
    effects = Effects(connections=connections, blocks=blocks, memory=1.0, **QUIET)
    found = decide(evidence(MOVING), effects)
    assert found.cause == cause
    assert found.status == ("undetermined" if cause == "undetermined" else "confirmed")


def test_an_experiment_outranks_what_was_seen() -> None:
    found = decide(SEEN["connection-rate"], Effects(connections=1.0, blocks=1.02, memory=1.0, **QUIET))
    assert (found.cause, found.status) == ("total-rate", "confirmed")
    assert any("Twice the connections: 1.00 times" in line for line in found.evidence)


def test_memory_that_helps_confirms_the_disk() -> None:
    found = decide(SEEN["disk"], Effects(connections=1.0, blocks=1.0, memory=5.0, **QUIET))
    assert (found.cause, found.status) == ("disk", "confirmed")
    assert decide(SEEN["disk"], Effects(connections=1.0, blocks=1.0, memory=1.0, **QUIET)).cause != "disk"


def test_slow_commits_are_told_from_a_long_path() -> None:
    small = evidence({"commit": 0.9, "send": 0.1}, took_ns=205e6, answer_ns=200e6, commits_share=1.0)
    slow = Effects(connections=2.0, blocks=1.0, memory=1.0, answer_ns=5e6, commit_ns=205e6, **QUIET)
    assert decide(small, slow).cause == "commit"
    far = Effects(connections=2.0, blocks=3.0, memory=1.0, answer_ns=200e6, commit_ns=201e6, **QUIET)
    assert decide(small, far).cause == "latency"


def test_refusals_that_come_again_are_confirmed() -> None:
    assert (
        decide(SEEN["throttled"], Effects(refused_again=0.09, refused_slower=0.0, **QUIET)).status
        == "confirmed"
    )
    assert decide(SEEN["throttled"], Effects(refused_again=0.0, refused_slower=0.0, **QUIET)).status == "seen"


def test_processors_that_others_have_are_confirmed_by_a_loop() -> None:
    effects = Effects(connections=1.1, blocks=2.0, memory=1.0, cpu_granted=0.3)
    assert decide(SEEN["cpu"], effects).cause == "cpu"
    # A transfer that takes next to no processor time is not held up by it.
    assert decide(evidence(MOVING, cpu_idle_share=0.0), effects).cause != "cpu"


def test_scores_are_shares_of_the_time_in_flight() -> None:
    for one in SEEN.values():
        assert all(0 <= value <= 1 for value in score(one).values())
    assert score(SEEN["disk"])["disk"] == pytest.approx(0.7)
    assert score(evidence({"disk": 0.2, "idle": 0.6, "send": 0.2}))["disk"] == pytest.approx(0.5)
