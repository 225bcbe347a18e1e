"""From Azure to S3 and back, without a file in between: `make must-show`.

The first run each way is killed; the second goes on from what has arrived. Neither may write a file.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import endpoints
import trees
from command import HAUL, Haul, clean_environment
from endpoints import Endpoint, S3Endpoint

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]

KIB, MIB = 1 << 10, 1 << 20
#: 2 GiB: what takes hundreds of parts, what takes a few, what takes one request, and nothing.
SIZES = (
    *([700 * MIB + 12_345] * 1),
    *([150 * MIB + 1] * 5),
    *([20 * MIB] * 20),
    *([5 * MIB - 1] * 25),
    *([300 * KIB] * 150),
    *([4 * KIB + 3] * 400),
    *([0] * 20),
)
RSS_MAX = 256 * MIB
#: Of the rate of the link: other work on the same processors is part of what is measured here.
LINK = "rtt=20ms,total=400mbit"
LINK_BITS = 400e6
CARRIED = ("PutBlob", "PutBlock", "PutObject", "UploadPart")


@dataclass(frozen=True)
class Clouds:
    """Two services that know nothing of each other."""

    azure: Endpoint
    s3: S3Endpoint
    rate: float | None  #: bits a second, where the link between is known

    @property
    def env(self) -> dict[str, str]:
        return self.azure.env | self.s3.env


@pytest.fixture(params=["azurite and versitygw", "emulators over links"])
def clouds(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Clouds]:
    with ExitStack() as stack:
        folders = [tmp_path / name for name in ("service-a", "service-b")]
        for folder in folders:
            folder.mkdir()
        if request.param == "emulators over links":
            near, far = (stack.enter_context(endpoints.emulator(folder, link=LINK)) for folder in folders)
            yield Clouds(near, endpoints.by_s3(far), LINK_BITS)
        else:
            azure = stack.enter_context(endpoints.azurite(folders[0]))
            yield Clouds(azure, stack.enter_context(endpoints.versitygw(folders[1])), None)


def make_tree(folder: Path) -> int:
    """Write the tree; return its bytes."""
    rng = random.Random(8)
    for number, size in enumerate(SIZES):
        path = folder / f"run {number % 7}" / f"{number:04d} ü#{size}.nc"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for at in range(0, size, 16 * MIB):
                file.write(rng.randbytes(min(16 * MIB, size - at)))
    return sum(SIZES)


@dataclass
class Run:
    """A run of the command that may write no file, and what it took."""

    events: list[dict[str, Any]]
    code: int
    rss_bytes: int

    @property
    def carried(self) -> int:
        """Payload of the requests that succeeded at the destination."""
        attempts = (event for event in self.events if event["event"] == "attempt")
        return sum(one["size_bytes"] for one in attempts if one["api"] in CARRIED and one["fate"] == "ok")

    @property
    def finished(self) -> set[str]:
        """Objects that are done."""
        ended = (event for event in self.events if event["event"] == "object")
        return {one["source"] for one in ended if one["outcome"] == "copied"}

    @property
    def summary(self) -> dict[str, Any]:
        assert self.events[-1]["event"] == "summary"
        return self.events[-1]


def copy(clouds: Clouds, folder: Path, source: str, destination: str, kill_after: int | None = None) -> Run:
    """Copy; kill it when so many bytes were carried."""
    folder.mkdir(exist_ok=True)
    # A file of more than 0 bytes cannot be written, wherever it is.
    line = ["prlimit", "--fsize=0", str(HAUL), "cp", source, destination, "--json"]
    env = clean_environment(folder) | clouds.env | {"TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=env)
    assert process.stdout is not None
    carried, events = 0, []
    for text in process.stdout:
        if not text.endswith(b"}\n"):
            break  # it was killed while it wrote
        event = json.loads(text)
        events.append(event)
        if event["event"] == "attempt" and event["api"] in CARRIED and event["fate"] == "ok":
            carried += event["size_bytes"]
            if kill_after is not None and carried >= kill_after:
                process.send_signal(signal.SIGKILL)
                kill_after = None
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert not [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size > 0]
    return Run(events, process.returncode, usage.ru_maxrss * KIB)


def test_2_gib_go_from_azure_to_s3_and_back(
    clouds: Clouds, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    tree = tmp_path / "tree"
    size = make_tree(tree)
    haul = Haul(tmp_path, clouds.env, [endpoints.KEY, clouds.s3.keys[1]])
    first, bucket, last = clouds.azure.container(), clouds.s3.new_name(), clouds.azure.container()
    haul("mb", f"s3://{bucket}")
    haul("cp", tree, first.az(), timeout=1500)
    ends = [first.az(), f"s3://{bucket}/", last.az()]
    for source, destination in pairwise(ends):
        begun = copy(clouds, tmp_path / "own", source, destination, kill_after=size // 3)
        assert begun.code == -signal.SIGKILL
        rest = copy(clouds, tmp_path / "own", source, destination)
        assert (rest.code, rest.summary["objects_failed"]) == (0, 0)
        again = begun.carried + rest.carried - size
        seconds = rest.summary["elapsed_ns"] / 1e9
        # What was sent before the kill is read again, to be compared: it takes the link from the source.
        rate = 8 * (rest.carried + rest.summary["bytes_resumed"]) / seconds
        share = f", {rate / clouds.rate:.0%} of the link" if clouds.rate else ""
        rss = max(begun.rss_bytes, rest.rss_bytes)
        proofs = rest.summary["proofs"]
        told = (
            f"{source} to {destination}: {begun.carried / MIB:.0f} MiB before the kill, "
            f"{rest.carried / MIB:.0f} MiB after it, {again} bytes again, "
            f"{rest.summary['bytes_resumed'] / MIB:.0f} MiB taken up, {rss / MIB:.0f} MiB of memory, "
            f"{rate / 1e6:.0f} Mbit/s{share}, {proofs}"
        )
        print(told)
        record_property("told", told)
        assert rest.finished.isdisjoint(begun.finished), "what was done is not sent again"
        assert again <= 0, "nor are parts of what was not"
        assert rss < RSS_MAX
        assert proofs["crc64"] == rest.summary["objects_done"] - proofs.get("sent", 0)
        if clouds.rate:
            assert proofs.get("sent", 0) == 0
            assert rate >= 0.8 * clouds.rate
        assert copy(clouds, tmp_path / "own", source, destination).carried == 0
        # The checksums that both services keep, and then the bytes.
        haul("verify", source, destination, "--stored", timeout=1500)
    haul("verify", tree, last.az(), timeout=1500)
    assert haul("clean", f"s3://{bucket}/").stderr.startswith("removed 0 leftovers")
    haul("cp", f"s3://{bucket}/", "back/", timeout=1500)
    trees.assert_same_files(tmp_path / "back", tree)
