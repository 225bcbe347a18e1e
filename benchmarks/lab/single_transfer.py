"""A run directory of one cell, so that a single transfer is judged by the very queries that judge a run."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from haulage.causes.evidence import Evidence
from haulage.errors import ServiceError
from haulage.lab.analysis import evidence, ledger
from haulage.lab.analysis.query import open_run, run
from haulage.lab.experiments.trial import Observation, Setting
from haulage.lab.store import CELL_COLUMNS, HOST_COLUMNS, RunStore


def write_single(observation: Observation, setting: Setting, directory: Path) -> None:
    """Write a trial as a run of one cell."""
    store = RunStore.create(
        directory, "", {"plan": "trial", "state": "complete", "files": {}, "ceiling": None}
    )
    shutil.copy(observation.record, store.record_path(0))
    began, ended = observation.began_unix_ns, observation.began_unix_ns + observation.wall_ns
    row = dict.fromkeys(CELL_COLUMNS) | {
        "cell": 0,
        "replicate": 0,
        "treatment": "trial",
        "method": "adaptive" if setting.connections is None else "blocks",
        "direction": setting.direction,
        "size_bytes": setting.file_bytes,
        "files": setting.files,
        "concurrency": setting.connections,
        "block_size_bytes": setting.block_bytes,
        "factors": json.dumps(
            {
                "cap_bits_per_second": setting.cap_bits_per_second,
                "checksum": setting.checksum or "crc64",
            }
        ),
        "warmup": False,
        "seed": setting.seed,
        "intended_unix_ns": began,
        "began_unix_ns": began,
        "ended_unix_ns": ended,
        "wall_ns": observation.wall_ns,
        "idle_before_ns": 0,
        "bytes": observation.bytes,
        "requests": observation.requests,
        "lanes": observation.lanes,
        "chosen": observation.chosen,
        "outcome": observation.outcome,
        "recorded": True,
        "cpu_ns": observation.cpu_ns,
        "monotonic_offset_ns": began,
    }
    sample = dict.fromkeys(HOST_COLUMNS) | {
        "unix_ns": ended,
        "cell": 0,
        "cpu_idle_share": observation.cpu_idle_share,
    }
    store.keep(row, [], [sample])
    store.merge()


def evidence_of(observation: Observation, setting: Setting, directory: Path) -> Evidence:
    """Return the evidence of a trial.

    Args:
        observation: What it measured.
        setting: What it did.
        directory: A new folder for its run; several trials may name the same, a number is added.

    Raises:
        ServiceError: The transfer failed, so there is nothing to judge.
    """
    if observation.outcome != "ok":
        raise ServiceError(
            "analyse", "a trial", f"it failed: {observation.outcome}", "make a transfer that works"
        )
    place = directory.with_name(f"{directory.name}-{time.monotonic_ns()}")
    write_single(observation, setting, place)
    results = {
        result.name: result
        for result, _ in run(open_run(place), ["evidence", "ledger", "host_load", "rate_over_time"])
    }
    ledger.check(results["ledger"].frame.to_dict("records"))
    return evidence.gather(results)[0].evidence
