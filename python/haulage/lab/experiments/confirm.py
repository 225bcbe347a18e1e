"""Experiments that confirm a cause or rule it out: each changes one thing and moves bytes once more.

===================  =====================================  ==============================================
experiment           what changes                           what it tells apart
===================  =====================================  ==============================================
connections          twice the requests in flight           a bound on each connection, or round trips,
                                                            from a bound on all
blocks               four times the block size              round trips, or a server that takes one request
                                                            at a time, from a bound on bytes
memory               memory instead of the disk             the disk
requests             eight objects  of 1,000 bytes, each    slow commits from a long path
                     asked for first, one at a time
again, slower        the same again; at half the rate       refusals that come and go with the rate
loop                 a loop alone, no transfer              processors that somebody else has
===================  =====================================  ==============================================

Transfers with nothing changed are made between them, and each is compared with the median of those. What
is undetermined after one round gets a second.
"""

from __future__ import annotations

import json
import os
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path

from haulage.lab.analysis.causes import Effects, Evidence
from haulage.lab.analysis.model import Verdict
from haulage.lab.experiments.trial import Observation, Route, Setting
from haulage.lab.analysis.verdict import (
    CPU_GRANTED,
    THROTTLED_SHARE,
    decide,
    score,
    starved,
)
from haulage.lab.store import write_whole

#: A short transfer: long enough for some rounds of requests, short enough to make six of them.
SECONDS = 0.7
#: In flight and of a block, at most, however the transfer was that is looked into.
MOST_CONNECTIONS, LARGEST_BLOCK = 64, 16 << 20
#: Bytes of a short transfer, at most.
MOST_BYTES = 192 << 20
SMALL_BYTES, SMALL_FILES = 1000, 8
#: Long enough for several turns of a scheduler, which come about every 4 ms.
LOOP_S = 0.15


def base_setting(evidence: Evidence, *, seed: int = 1) -> Setting:
    """Return the setting that repeats, in short, what the evidence is about."""
    lanes = max(1, min(evidence.lanes, MOST_CONNECTIONS // 2))
    block = int(max(evidence.usual_bytes or 256 << 10, 1))
    return sized(Setting(1, block, lanes, block, direction=evidence.direction, seed=seed), evidence)


def sized(setting: Setting, evidence: Evidence) -> Setting:
    """Give a setting as many bytes as fill its lanes three times over, and its time.

    In one file, or in files of one request each where the transfer was one of small files: commits are to
    have the part that they had.
    """
    block, lanes = setting.block_bytes or 256 << 10, setting.connections or 16
    wanted = max(int(evidence.rate_bits_per_second / 8 * SECONDS), 3 * lanes * block)
    requests = max(lanes, min(wanted, MOST_BYTES) // block)
    if evidence.commits_share >= 0.4:
        return replace(setting, files=requests, file_bytes=block)
    return replace(setting, files=1, file_bytes=requests * block)


def confirm(evidence: Evidence, route: Route, *, seed: int = 1) -> Verdict:
    """Make the experiments and decide again.

    Args:
        evidence: From the record of the transfer that was not fast enough.
        route: The path that it took.
        seed: Of the bytes that are moved.
    """
    return settle(evidence, route, seed=seed)[0]


def settle(evidence: Evidence, route: Route, *, seed: int = 1) -> tuple[Verdict, Effects]:
    """As :func:`confirm`, with the effects; what a first round leaves undetermined gets a second."""
    effects = experiment(evidence, route, seed=seed)
    verdict = decide(evidence, effects)
    if verdict.cause == "undetermined":
        effects = _both(effects, experiment(evidence, route, seed=seed))
        verdict = decide(evidence, effects)
    return verdict, effects


def experiment(evidence: Evidence, route: Route, *, seed: int = 1) -> Effects:
    """Make the experiments once: seven short transfers at most.

    Raises:
        ServiceError: The path does not work at all.
    """
    granted = loop_share()
    if granted < CPU_GRANTED and starved(evidence, granted):
        # Whatever else were tried, the processors would decide.
        return Effects(cpu_granted=granted, made=("loop",))
    base = base_setting(evidence, seed=seed)
    if score(evidence)["throttled"] >= THROTTLED_SHARE:
        half = max(int(evidence.rate_bits_per_second / 2), 64_000)
        return Effects(
            refused_again=route.transfer(base).refused_share,
            refused_slower=route.transfer(replace(base, cap_bits_per_second=half)).refused_share,
            cpu_granted=granted,
            made=("loop", "again", "slower"),
        )
    changes = {
        "connections": replace(base, connections=2 * (base.connections or 1)),
        "blocks": replace(base, block_bytes=min(4 * (base.block_bytes or 1), LARGEST_BLOCK)),
        "memory": replace(base, memory=True),
    }
    without: list[float | None] = []
    changed: dict[str, float | None] = {}
    for name, setting in changes.items():
        without.append(_rate(route.transfer(base)))
        changed[name] = _rate(route.transfer(sized(setting, evidence)))
    usual = _median(without)
    gains = {name: rate / usual if rate and usual else None for name, rate in changed.items()}
    small = Setting(SMALL_FILES, SMALL_BYTES, 1, direction="up", look=True, seed=seed)
    requests = route.transfer(small) if evidence.direction == "up" else None
    return Effects(
        **gains,
        cpu_granted=granted,
        answer_ns=requests.answer_ns if requests else None,
        commit_ns=requests.write_ns if requests else None,
        made=("loop", *changes, *(["requests"] if requests else [])),
    )


def _rate(observation: Observation) -> float | None:
    return observation.rate_bits_per_second if observation.outcome == "ok" else None


def _median(rates: Sequence[float | None]) -> float | None:
    """Return the median of those that ended well: one transfer may have met a pause of the machine."""
    known = [rate for rate in rates if rate]
    return statistics.median(known) if known else None


def _both(first: Effects, second: Effects) -> Effects:
    """Return the means of two rounds: of gains the geometric, so that twice and half cancel out."""

    def mean(name: str) -> float | None:
        values = [value for value in (getattr(first, name), getattr(second, name)) if value]
        return statistics.geometric_mean(values) if values else getattr(second, name)

    names = [field.name for field in fields(Effects) if field.name != "made"]
    return Effects(**{name: mean(name) for name in names}, made=(*first.made, *second.made))


def loop_share(seconds: float = LOOP_S) -> float:
    """Return the share of a core that a loop alone receives, the least of as many as there are cores.

    One loop on each core that this process may use, one after another, so that they do not take it from
    each other.
    """
    shares: list[float] = []
    cores: Sequence[int | None] = (
        sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [None]
    )
    for core in cores[:4]:
        thread = threading.Thread(target=_loop, args=(core, seconds, shares))
        thread.start()
        thread.join()
    # The mean: a single busy core slows a transfer on two cores by half only.
    return sum(shares) / len(shares)


def _loop(core: int | None, seconds: float, shares: list[float]) -> None:
    if core is not None:
        os.sched_setaffinity(0, {core})  # of this thread alone
    began, began_cpu = time.monotonic(), time.thread_time()
    while (wall := time.monotonic() - began) < seconds:
        pass
    shares.append((time.thread_time() - began_cpu) / wall)


def save(effects: Effects, directory: Path) -> Path:
    """Keep the effects in a run directory, where :func:`haulage.lab.analysis.analyse` finds them."""
    path = directory / "confirmations.json"
    write_whole(path, json.dumps({"effects": asdict(effects)}, indent=1) + "\n")
    return path
