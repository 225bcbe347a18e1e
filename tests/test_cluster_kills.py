"""Nodes that are killed at random moments: a hundred trials, each from its seed.

pytest -m long tests/test_cluster_kills.py -s
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

import haulage
import trees
import workers
from command import Haul

TRIALS = 100
MIB = 1 << 20
#: What two lost nodes may have had in flight: their bodies, and a stretch that had not been staged.
IN_FLIGHT = 2 * 24 * MIB


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_of_four_nodes_are_killed_and_nothing_is_lost(tmp_path: Path) -> None:
    with haulage.Emulator() as emulator:
        environment = {"AZURE_STORAGE_CONNECTION_STRING": emulator.connection_string}
        haul = Haul(tmp_path, environment)
        tree = trees.make(tmp_path / "tree", files=1200, size=30_000)
        trees.random_file(tree / "large.bin", 264 * MIB)
        expected = trees.contents(tree)
        size = sum(map(len, expected.values()))
        with workers.cluster(tmp_path / "dask", 4, environment) as own:
            next_name = 4
            for seed in range(int(os.environ.get("FIRST_TRIAL", "0")), TRIALS):
                rng = random.Random(seed)
                haul("mb", f"az://trial-{seed}")
                before = emulator.stats()["bytes_in"]
                words = ["--scheduler", own.address, "--receipt", "receipt.jsonl", "--cap", "1gbit"]
                words += [
                    "--overwrite",
                    rng.choice(["if-different", "always"]),
                    "--json",
                    "--progress",
                    "none",
                ]
                process = haul.start("cp", "tree", f"az://trial-{seed}/t/", *words)
                began = time.monotonic()
                moments = sorted(rng.uniform(0.3, 3.2) for _ in range(2))
                for number, moment in enumerate(moments):
                    time.sleep(max(0.0, began + moment - time.monotonic()))
                    own.kill_worker(rng.choice(sorted(own.workers)))
                    if number == 0 and rng.random() < 0.5:
                        own.start_worker(f"node-{next_name}")
                        next_name += 1
                out, err = process.communicate(timeout=100)
                if process.returncode:
                    print(err.decode())
                assert process.returncode == 0, seed
                summary = json.loads(out.splitlines()[-1])
                assert summary["objects_done"] + summary["objects_skipped"] == len(expected), seed
                extra = emulator.stats()["bytes_in"] - before - size
                print(
                    f"trial {seed}: {summary['elapsed_ns'] / 1e9:.1f} s, {extra / MIB:.1f} MiB twice",
                    flush=True,
                )
                assert extra < IN_FLIGHT, seed
                haul("verify", "receipt.jsonl", f"az://trial-{seed}/t/")
                haul("verify", "tree", f"az://trial-{seed}/t/")
                haul("rb", "--force", f"az://trial-{seed}")
                while len(own.workers) < 4:
                    own.start_worker(f"node-{next_name}")
                    next_name += 1
                own.wait()
