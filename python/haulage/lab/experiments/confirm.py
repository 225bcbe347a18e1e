"""Experiments that confirm a cause or rule it out: each changes one thing and moves bytes once more.

===================  =====================================  ==============================================
experiment           what changes                           what it tells apart
===================  =====================================  ==============================================
connections          twice the requests in flight           a bound on each connection, or round trips,
                                                            from a bound on all
blocks               four times the block size, or twice    waiting for each request, or a limit on
                                                            requests per second, from a bound on bytes
memory               memory instead of the disk             the disk
checksum             none instead of an MD5                 computing checksums
processors           half of them                           the processors
requests             eight objects of 1,000 bytes, each     slow commits from a long path
                     asked for first, one at a time
again, slower        the same again; at half the rate       refusals that come and go with the rate
===================  =====================================  ==============================================

Five replicates of each and of transfers with nothing changed, interleaved in random order. What is
undetermined then gets five more, as far as time allows. Every transfer is a row that is kept.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from haulage.causes.effects import effects_of
from haulage.causes.evidence import Evidence
from haulage.causes.rules import decide
from haulage.causes.split import REFUSED, split
from haulage.causes.verdict import Verdict
from haulage.lab.experiments.trial import Observation, Route, Setting
from haulage.lab.store import write_whole

#: A short transfer: long enough for some rounds of requests, short enough to make thirty of them.
SECONDS = 0.4
#: Of each experiment; what is undetermined then gets as many again.
REPLICATES = 5
#: More than five replicates are begun only before the first, and more than three only before the second: with
#: fewer than five nothing is confirmed.
BUDGET_S, LONGEST_S = 20.0, 40.0
#: In flight and of a block, at most, however the transfer was that is looked into.
MOST_CONNECTIONS, LARGEST_BLOCK = 64, 16 << 20
#: Bytes of a short transfer, at most: enough for its time up to 5 Gbit/s.
MOST_BYTES = 256 << 20
#: Requests of each lane: the first opens its connection, the last leaves others alone.
ROUNDS = 4
#: Of all requests, commits that have a part in the time: one for twenty.
COMMITS_COUNT = 0.05
#: Blocks are made four times as large where a transfer of them takes no longer than this, else twice.
BLOCKS_S = 2.0
SMALL_BYTES, SMALL_FILES = 1000, 8

#: Called with the transfers made and planned.
Said = Callable[[int, int], object]


def base_setting(evidence: Evidence, *, seed: int = 1) -> Setting:
    """Return the setting that repeats, in short, what the evidence is about."""
    lanes = max(1, min(evidence.lanes, MOST_CONNECTIONS // 2))
    block = int(max(evidence.usual_bytes or 256 << 10, 1))
    checksum = None if evidence.checksum == "crc64" else evidence.checksum
    plain = Setting(1, block, lanes, block, direction=evidence.direction, checksum=checksum, seed=seed)
    return sized(plain, evidence)


def sized(setting: Setting, evidence: Evidence) -> Setting:
    """Give a setting as many bytes as fill its lanes four times over, and its time.

    In one file, or in files of as many blocks as they had where commits have a part in it.
    """
    block, lanes = setting.block_bytes or 256 << 10, setting.connections or 16
    wanted = max(int(evidence.rate_bits_per_second / 8 * SECONDS), ROUNDS * lanes * block)
    requests = max(lanes, min(wanted, MOST_BYTES) // block)
    if evidence.commits_share < COMMITS_COUNT:
        return replace(setting, files=1, file_bytes=requests * block)
    # Beside its blocks, a file takes a request before them and one after them; a whole one takes one alone.
    blocks = max(1, round(1 / evidence.commits_share) - 2)
    return replace(setting, files=max(lanes, requests // blocks), file_bytes=blocks * block)


def settle(
    evidence: Evidence, route: Route, *, seed: int = 1, said: Said | None = None
) -> tuple[Verdict, list[dict[str, Any]]]:
    """Make the experiments and decide again; what is left undetermined gets as many again.

    Args:
        evidence: From the record of the transfer that was not fast enough.
        route: The path that it took.
        seed: Of the bytes that are moved, and of the order of the experiments.
        said: Called with the transfers made and planned.

    Returns:
        The verdict, and the rows of all transfers.
    """
    began = time.monotonic()
    plan = changes(evidence, seed=seed)
    rows: list[dict[str, Any]] = []
    most = 2 * REPLICATES
    for replicate in range(most):
        if replicate == REPLICATES and decide(evidence, effects_of(rows)).status == "confirmed":
            break
        spent = time.monotonic() - began
        if (replicate >= REPLICATES and spent > BUDGET_S) or (replicate >= 3 and spent > LONGEST_S):
            break
        order = list(plan)
        random.Random(f"{seed} {replicate}").shuffle(order)
        for name in order:
            rows.append(row_of(name, replicate, plan[name], route.transfer(plan[name]), plan["base"]))
            if said is not None:
                said(len(rows), len(plan) * (REPLICATES if replicate < REPLICATES else most))
    return decide(evidence, effects_of(rows)), rows


def changes(evidence: Evidence, *, seed: int = 1) -> dict[str, Setting]:
    """Return by name what is tried: the base, and for each candidate a change of one thing alone."""
    base = base_setting(evidence, seed=seed)
    if split(evidence)["throttled"] >= REFUSED:
        half = max(int(evidence.rate_bits_per_second / 2), 64_000)
        return {"base": base, "again": base, "slower": replace(base, cap_bits_per_second=half)}
    lanes, block = base.connections or 1, base.block_bytes or 1
    # A request that waits most of its time takes no longer with a larger block; one that moves, does.
    moving_s = (evidence.took_ns or 0.0) / 1e9
    factor = 4 if 4 * moving_s * ROUNDS <= BLOCKS_S and 4 * block <= LARGEST_BLOCK else 2
    tried = {
        "base": base,
        "connections": sized(replace(base, connections=2 * lanes), evidence),
        "blocks": sized(replace(base, block_bytes=factor * block), evidence),
        "memory": replace(base, memory=True),
    }
    if base.checksum == "md5":
        tried["checksum"] = replace(base, checksum="none")
    if hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1:
        tried["processors"] = replace(base, half_the_processors=True)
    if evidence.direction == "up":
        tried["requests"] = Setting(SMALL_FILES, SMALL_BYTES, 1, direction="up", look=True, seed=seed)
    return tried


def row_of(name: str, replicate: int, setting: Setting, seen: Observation, base: Setting) -> dict[str, Any]:
    """Return the row of a transfer as it is kept."""
    measured = {key: value for key, value in asdict(seen).items() if key != "record"}
    factor = (setting.block_bytes or 1) / (base.block_bytes or 1)
    return {
        "name": name,
        "replicate": replicate,
        "factor": factor,
        **measured,
        "cores_used": seen.cores_used,
        "setting": asdict(setting),
    }


def save(rows: Sequence[dict[str, Any]], directory: Path) -> Path:
    """Keep the rows in a run directory, where :func:`haulage.lab.analysis.analyse` finds them."""
    path = directory / "confirmations.json"
    write_whole(path, json.dumps({"trials": list(rows)}, indent=1) + "\n")
    return path
