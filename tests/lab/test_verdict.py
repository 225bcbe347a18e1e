"""Each rule of the verdict on evidence made by hand, and where it has to say nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from haulage.causes.effects import Effect, Effects, effect, effects_of
from haulage.causes.evidence import Evidence, Phase
from haulage.causes.rules import decide
from haulage.causes.split import split
from haulage.causes.vocabulary import ADVICE
from haulage.lab.analysis.ledger import CATEGORIES
from haulage.lab.analysis.phases import step


def gains(*, idle: float = 0.8, cores: float = 0.2, commit: float | None = None, **ratios: float) -> Effects:
    """Return effects whose intervals reach 4 % to each side, no effect where nothing is said."""
    plain = {"connections": 1.0, "blocks": 1.0, "memory": 1.0, "processors": 1.0}
    of = {name: around(ratio) for name, ratio in (plain | ratios).items()}
    return Effects(
        of=of,
        base_bits_per_second=1e8,
        cpu_idle_share=idle,
        cores_used=cores,
        commit=None if commit is None else around(commit),
        answer_ns=5e6,
        commit_ns=None if commit is None else 5e6 * commit,
        n=5,
    )


def around(ratio: float, reach: float = 1.04) -> Effect:
    return Effect(ratio, ratio / reach, ratio * reach, 5)


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
    "cpu": evidence(
        MOVING, slope=-1.0, spread=2.0, judged=40, cpu_idle_share=0.01, cpu_share_of_one_core=0.9
    ),
}


@pytest.mark.parametrize("cause", SEEN)
def test_a_clear_record_is_seen_and_not_more(cause: str) -> None:
    found = decide(SEEN[cause])
    assert (found.cause, found.status) == (cause, "seen")
    assert found.threshold
    assert found.advice == ADVICE[cause]
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
    assert split(waiting)["service"] == pytest.approx(0.75)


def test_empty_slots_are_no_cause_but_are_said() -> None:
    found = decide(evidence({"idle": 0.5, "send": 0.5}, slope=-1.0, spread=2.0, judged=40))
    assert found.cause == "total-rate"
    assert any("were empty for 50%" in line for line in found.evidence)


@pytest.mark.parametrize(
    ("connections", "blocks", "cause"),
    [
        (2.0, 1.0, "connection-rate"),
        (2.0, 3.9, "latency"),
        (1.0, 1.0, "total-rate"),
        (1.0, 3.9, "server"),
        (1.3, 1.0, "undetermined"),
        (1.0, 1.1, "undetermined"),
    ],
)
def test_connections_and_blocks_tell_four_causes_apart(connections: float, blocks: float, cause: str) -> None:
    found = decide(evidence(MOVING, took_ns=6e6), gains(connections=connections, blocks=blocks))
    assert found.cause == cause
    assert found.status == ("undetermined" if cause == "undetermined" else "confirmed")


def test_experiments_without_the_cap_say_nothing_of_it() -> None:
    """They run at another rate, which is no other path."""
    for effects in (gains(), replace(gains(connections=2.0), base_bits_per_second=1e9)):
        found = decide(SEEN["pacing"], effects)
        assert (found.cause, found.status) == ("pacing", "seen")


def test_two_causes_get_their_shares_and_not_one_name() -> None:
    # 57 % of a request is bound by its connection, 43 % is latency: four times the block gives 1.476 times.
    found = decide(evidence(MOVING, took_ns=11e6), gains(connections=2.0, blocks=1.476))
    assert (found.cause, found.status) == ("mixed", "confirmed")
    assert found.shares["connection-rate"][0] == pytest.approx(0.57, abs=0.005)
    assert found.shares["latency"][0] == pytest.approx(0.43, abs=0.005)
    assert any("holds 57% and latency 43%" in line for line in found.evidence)


def test_a_gain_of_a_quarter_from_memory_is_the_disk_and_no_total_rate() -> None:
    """A disk of 100 under a link of 120 or 135 Mbit/s was taken for the total rate, confirmed."""
    for ratio in (1.2, 1.36):
        found = decide(evidence({"disk": 0.3, "send": 0.7}), gains(memory=ratio))
        assert (found.cause, found.status) == ("disk", "confirmed")
        assert any("not limited by the link" in line for line in found.evidence)


def test_memory_that_saves_processors_is_no_slow_disk() -> None:
    """Files of this machine's memory over its loopback were confirmed as a slow disk, at 17 % idle."""
    reading = evidence({"send": 0.77, "disk": 0.13})
    found = decide(reading, gains(memory=1.32, processors=0.63, idle=0.17, cores=2.0))
    assert found.status != "confirmed"
    # A slow disk does not ask for processors, however busy they are.
    found = decide(reading, gains(memory=1.32, processors=0.97, idle=0.0, cores=0.1))
    assert (found.cause, found.status) == ("disk", "confirmed")


def test_what_needs_processors_waits_for_nothing_else_for_sure() -> None:
    for gain in ({"connections": 2.0, "blocks": 4.0}, {"connections": 2.0}, {"blocks": 3.9}):
        starved = gains(processors=0.6, idle=0.2, cores=1.6, **gain)
        assert decide(evidence(MOVING), starved).status != "confirmed"


def test_a_checksum_whose_removal_more_than_doubles_the_rate_is_named() -> None:
    """One MD5 for each stream: more streams help as well, so it is not confirmed."""
    hashing = evidence({"send": 0.8, "hash": 0.2}, checksum="md5")
    found = decide(hashing, gains(checksum=3.4, connections=1.6))
    assert (found.cause, found.status) == ("checksum", "seen")
    assert decide(hashing, gains(checksum=1.8, connections=1.6)).cause == "undetermined"


def test_a_checksum_that_takes_the_time_is_neither_disk_nor_link() -> None:
    """An MD5 at 3.2 of 8 Gbit/s was taken for the total rate, and booked as disk."""
    hashing = evidence({"hash": 0.7, "send": 0.3}, checksum="md5")
    assert decide(hashing).cause == "checksum"
    assert split(hashing)["disk"] == 0
    found = decide(hashing, gains(checksum=2.4, processors=0.7, idle=0.05, cores=1.4))
    assert (found.cause, found.status) == ("checksum", "confirmed")


def test_no_limit_but_this_machine_is_no_total_rate() -> None:
    """Loopback without a limit was answered with: ask for a faster link."""
    found = decide(evidence(MOVING), gains(processors=0.55, idle=0.02, cores=1.7))
    assert (found.cause, found.status) == ("cpu", "confirmed")
    # Nothing helps, but nothing shows that processors had no part either.
    assert decide(evidence(MOVING), gains(processors=0.87, idle=0.02, cores=1.7)).status != "confirmed"


def test_processors_are_never_confirmed_without_their_own_experiment() -> None:
    """A serial server under other load was called cpu."""
    busy = evidence({"server wait": 0.8, "send": 0.2}, cpu_idle_share=0.0, cpu_share_of_one_core=0.5)
    found = decide(busy, gains(blocks=3.9, processors=0.95, idle=0.0, cores=0.3))
    assert (found.cause, found.status) == ("server", "confirmed")
    without = Effects(of={"connections": around(1.0)}, base_bits_per_second=1e8, cpu_idle_share=0.0, n=5)
    assert decide(busy, without).status != "confirmed"


@pytest.mark.parametrize("change", ["connections", "blocks", "memory", "processors"])
def test_an_interval_that_allows_both_confirms_nothing(change: str) -> None:
    effects = gains()
    wide = Effects(
        of=dict(effects.of) | {change: Effect(1.05, 0.7, 1.6, 5)},
        base_bits_per_second=1e8,
        cpu_idle_share=0.0,
        cores_used=1.0,
        n=5,
    )
    found = decide(evidence(MOVING), wide)
    assert found.status != "confirmed"
    assert "would decide" in found.advice


def test_fewer_than_five_replicates_confirm_nothing() -> None:
    found = decide(evidence(MOVING), replace(gains(connections=2.0), n=4))
    assert (found.cause, found.status) == ("connection-rate", "seen")


FULL = {"slope": -1.0, "spread": 2.0, "judged": 40}


@pytest.mark.parametrize(
    ("values", "effects"),
    [
        ({}, replace(gains(), base_bits_per_second=3e7)),
        ({}, replace(gains(connections=2.0), base_bits_per_second=2.1e8)),
        # The path was full, and is said to be a third of what twice the connections move by now.
        ({"ceiling_share": 1.0}, gains(connections=2.0)),
        ({"ceiling_share": 0.97}, gains(memory=1.4)),
        ({"ceiling_share": 0.9}, gains(blocks=3.9)),
        (FULL, gains(connections=2.0)),
        (FULL, gains(connections=2.0, blocks=3.9)),
    ],
)
def test_a_path_that_is_another_one_by_now_confirms_nothing(values: dict[str, Any], effects: Effects) -> None:
    found = decide(evidence(MOVING, **values), effects)
    assert (found.cause, found.status) == ("undetermined", "undetermined")


@pytest.mark.parametrize(
    ("took_ms", "cause", "status"),
    [(6, "latency", "confirmed"), (10, "undetermined", "undetermined"), (40, "service", "confirmed")],
)
def test_a_service_that_is_slow_and_parallel_is_no_long_path(took_ms: int, cause: str, status: str) -> None:
    """An empty request takes 5 ms: what waits for much longer waits for the service."""
    found = decide(evidence(MOVING, took_ns=took_ms * 1e6), gains(connections=2.0, blocks=3.9))
    assert (found.cause, found.status) == (cause, status)
    if cause == "undetermined":
        assert set(found.rivals) >= {"latency", "service"}


def test_what_nothing_excludes_is_listed() -> None:
    """Busy processors alone are no evidence that the path would have been quicker."""
    busy = evidence(MOVING, cpu_idle_share=0.01, cpu_share_of_one_core=0.9)
    found = decide(busy)
    assert (found.cause, found.rivals) == ("undetermined", ("cpu", "connection-rate", "total-rate"))
    assert found.evidence[-1].count(" or ") == 1
    tried = decide(busy, gains(idle=0.02, cores=1.2, memory=1.1, processors=0.9))
    assert {"cpu", "disk", "total-rate"} <= set(tried.rivals)
    assert not {"connection-rate", "latency", "server"} & set(tried.rivals)


def test_a_rate_that_is_not_near_the_ceiling_is_not_the_total_rate() -> None:
    assert decide(evidence(MOVING, ceiling_share=0.97), gains()).status == "confirmed"
    for share in (0.5, 3.27):
        assert decide(evidence(MOVING, ceiling_share=share), gains()).cause == "undetermined"


def test_a_ceiling_below_the_rate_is_an_error_and_no_evidence() -> None:
    """ "Used 327 % of the ceiling" made a rule say that the total rate was the cause."""
    assert decide(evidence(MOVING, ceiling_share=3.27)).cause == "undetermined"
    said = decide(evidence(MOVING, ceiling_wrong=3.27)).evidence
    assert any("327% of the measured ceiling: that measurement is wrong" in line for line in said)


def test_a_link_that_changed_gets_a_row_for_each_phase() -> None:
    phases = (Phase(0.0, 0.4, 3e8), Phase(0.4, 1.0, 1e8))
    found = decide(evidence(MOVING, phases=phases), gains())
    assert (found.cause, found.status) == ("changed", "seen")
    assert [(row.cause, row.status) for row in found.phases] == [
        ("undetermined", "undetermined"),
        ("total-rate", "confirmed"),
    ]
    busy = decide(evidence(MOVING, phases=phases, cpu_idle_share=0.0, cpu_share_of_one_core=0.5))
    assert (busy.status, busy.rivals) == ("undetermined", ("changed", "cpu"))


def test_one_step_of_the_rate_is_a_phase_and_a_pause_or_more_requests_are_none() -> None:
    steady = [8.0] * 25
    fall = [1e8] * 10 + [3e7] * 15
    first, second = step(fall, steady)
    assert first.to_share == 0.4
    assert first.rate_bits_per_second == pytest.approx(1e8)
    assert second.rate_bits_per_second == pytest.approx(3e7)
    assert step([1e8] * 25, steady) == ()
    assert step([1e8] * 12 + [2e7] + [1e8] * 12, steady) == ()
    assert step(fall, [8.0] * 10 + [2.0] * 15) == ()
    # A transfer that begins slowly is on no other path.
    assert step([3e7] * 8 + [1e8] * 17, steady) == ()
    assert len(step([3e7] * 15 + [1e8] * 10, steady)) == 2


def test_the_first_answers_of_connections_are_no_phase() -> None:
    # Opening takes a round trip more than what follows: of seven, two.
    rates, opening = [6e6] * 10 + [1.2e7] * 15, [1.0] * 10 + [0.0] * 15
    assert step(rates, [8.0] * 25), "without knowing of it"
    assert step(rates, [8.0] * 25, opening) == ()
    late = [1.2e7] * 15 + [4e6] * 10
    assert len(step(late, [8.0] * 25, opening)) == 2


def test_slow_commits_are_told_from_a_long_path() -> None:
    small = evidence({"commit": 0.9, "send": 0.1}, took_ns=205e6, answer_ns=5e6, commits_share=1.0)
    assert decide(small, gains(connections=2.0, commit=41.0)).cause == "commit"
    quick = replace(small, took_ns=6e6)
    assert decide(quick, gains(connections=2.0, blocks=3.9, commit=1.01)).cause == "latency"
    # Larger files wait as long for their commit: that alone does not make it the path.
    unsure = replace(gains(connections=2.0, blocks=3.9), commit=Effect(8.0, 0.9, 60.0, 5))
    assert decide(small, unsure).status != "confirmed"


def test_refusals_that_come_each_time_are_confirmed() -> None:
    again = Effects(refused_again=0.09, refused_slower=0.0, base_bits_per_second=1e8, n=5)
    assert decide(SEEN["throttled"], again).status == "confirmed"
    gone = Effects(refused_again=0.0, refused_slower=0.0, base_bits_per_second=1e8, n=5)
    assert decide(SEEN["throttled"], gone).status == "seen"


def test_an_effect_has_an_interval_and_needs_replicates() -> None:
    found = effect([2e8, 2.1e8, 1.9e8, 2e8, 2.05e8], [1e8, 1.02e8, 0.98e8, 1e8, 1.01e8])
    assert found is not None
    assert found.low < 2 < found.high
    assert found.is_there
    assert effect([2e8], [1e8]) is None
    noisy = effect([2e8, 0.5e8, 1.9e8, 0.7e8, 1e8], [1e8, 0.6e8, 1.8e8, 1e8, 0.5e8])
    assert noisy is not None
    assert not noisy.is_there
    assert not noisy.is_not_there
    assert effects_of([]).n == 0


def test_scores_are_shares_of_the_time_in_flight() -> None:
    for one in SEEN.values():
        assert all(0 <= value <= 1 for value in split(one).values())
    assert split(SEEN["disk"])["disk"] == pytest.approx(0.7)
    assert split(evidence({"disk": 0.2, "idle": 0.6, "send": 0.2}))["disk"] == pytest.approx(0.5)
