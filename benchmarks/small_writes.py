"""One small blob from Python: haulage beside Azure's own client, in rounds of random order.

python benchmarks/small_writes.py               50 kB, 30 rounds of 50 calls each, under a minute
python benchmarks/small_writes.py --rounds 5    a look
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable

from azure.storage.blob import BlobServiceClient

import haulage
from harness import median_with_interval
from many import serving

Call = Callable[[], object]


def main() -> None:
    """Print a line of JSON for each pair of arms."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--calls", type=int, default=50, help="calls in a round")
    parser.add_argument("--size", type=int, default=50_000, help="bytes of the blob")
    parser.add_argument("--link", default="none", help="the emulator's link, such as rtt=20ms")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with serving(args.link, "memory") as said:
        pairs = arms(said["connection_string"], rng.randbytes(args.size))
        for name, pair in pairs.items():
            for call in pair:
                call()
            rounds = []
            for _ in range(args.rounds):
                seen = {at: milliseconds(pair[at], args.calls) for at in rng.sample(range(2), 2)}
                rounds.append((seen[0], seen[1]))
            print(json.dumps(row(name, args.size, args.link, rounds)), flush=True)


def arms(connection_string: str, data: bytes) -> dict[str, tuple[Call, Call]]:
    """Return for each kind of call ours and that of Azure's client, which keeps its connection too."""
    os.environ["AZURE_STORAGE_CONNECTION_STRING"] = connection_string
    container = BlobServiceClient.from_connection_string(connection_string).create_container("small")
    blob = container.get_blob_client("theirs")
    url = "az://small/ours"

    def stream() -> None:
        with haulage.open(url, "wb") as file:
            file.write(data)

    def upload() -> object:
        return blob.upload_blob(data, overwrite=True)

    return {
        "put": (lambda: haulage.put(url, data), upload),
        "open and write": (stream, upload),
        "get": (lambda: haulage.get(url), lambda: blob.download_blob().readall()),
    }


def milliseconds(call: Call, count: int) -> float:
    """Return the median time of some calls one after another."""
    took = []
    for _ in range(count):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return statistics.median(took) * 1000


def row(name: str, size: int, link: str, rounds: list[tuple[float, float]]) -> dict[str, object]:
    """Return the median times, and how many times as long the other takes, with its interval."""
    middle, low, high = median_with_interval([theirs / ours for ours, theirs in rounds])
    return {
        "call": name,
        "size_bytes": size,
        "link": link,
        "rounds": len(rounds),
        "haulage_ms": round(statistics.median(ours for ours, _ in rounds), 3),
        "azure_ms": round(statistics.median(theirs for _, theirs in rounds), 3),
        "times_as_long": round(middle, 2),
        "times_as_long_95": [round(low, 2), round(high, 2)],
    }


if __name__ == "__main__":
    main()
