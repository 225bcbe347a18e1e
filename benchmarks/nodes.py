"""How much faster are several nodes: workers of a Dask cluster, each behind a link of packets of its own.

unshare --net python benchmarks/nodes.py                        all cases, medians of 3, about an hour
unshare --net python benchmarks/nodes.py --only files --repeat 1  a look at one
unshare --net python benchmarks/nodes.py --cap 200mbit --only files

Needs root. One endpoint is at the near end of all links; the nodes are at the far ends, each in a network
namespace. `alone` is the command without nodes at the far end of one link, `one` a cluster of one node. A row
says what each kind of process took of the processors, in seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import random_files

BIN = Path(sys.executable).parent
MIB = 1 << 20
ENDPOINT_PORT = 10000
SCHEDULER_PORT = 8786
#: The processes that run all the time, or while a cluster does, by what they are.
RUNNING: dict[str, list[int]] = {"links": [], "endpoint": [], "scheduler": [], "workers": []}
#: Files, and the bytes of each.
CASES = {
    "files": (64, 16 * MIB),
    "large": (1, 1024 * MIB),
    "huge": (1, 4096 * MIB),
    "small": (100_000, 4096),
}
ACCOUNT = "devstoreaccount1"


@dataclass(frozen=True)
class Link:
    """A node's way to the endpoint: its number and its namespace."""

    number: int
    namespace: str

    @property
    def near(self) -> str:
        """Address of the near end."""
        return f"127.254.{self.number}.1"

    @property
    def far(self) -> str:
        """Address of the far end."""
        return f"127.254.{self.number}.2"

    def environment(self, key: str) -> dict[str, str]:
        """Return what leads a client at the far end to the endpoint."""
        blob = f"http://{self.near}:{ENDPOINT_PORT}/{ACCOUNT}"
        string = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={key};BlobEndpoint={blob};"
        return os.environ | {"AZURE_STORAGE_CONNECTION_STRING": string}


def main() -> None:
    """Run the cases and print a line of JSON for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=4, help="nodes of the cluster [4]")
    parser.add_argument(
        "--link", default="rtt=20ms,total=100mbit", help="of each node [rtt=20ms,total=100mbit]"
    )
    parser.add_argument("--repeat", type=int, default=3, help="runs of each case [3]")
    parser.add_argument("--only", choices=[*CASES], help="one case")
    parser.add_argument("--cap", help="bound for all nodes together")
    parser.add_argument("--arms", default="alone,one,all", help="of alone, one and all [all three]")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="haul-nodes-", dir="/dev/shm") as folder, ExitStack() as stack:
        scratch = Path(folder)
        links = [stack.enter_context(link(args.link)) for _ in range(args.nodes)]
        key = stack.enter_context(endpoint())
        for case, (files, size) in CASES.items():
            if args.only in (None, case):
                measure(case, files, size, links, key, scratch, args)


def measure(
    case: str, files: int, size: int, links: list[Link], key: str, scratch: Path, args: argparse.Namespace
) -> None:
    """Run one case with each arm in turn, as often as is asked for."""
    tree = scratch / case
    random_files(tree, files, size)
    seen: dict[str, list[float]] = {}
    for turn in range(args.repeat):
        for arm in args.arms.split(","):
            container = f"{case}-{arm}-{turn}"
            haul(links[0], key, "mb", f"az://{container}")
            words = ["cp", f"{tree}/", f"az://{container}/", "--json"]
            words += ["--cap", args.cap] if args.cap else []
            if arm == "alone":
                before = taken()
                summary = haul(links[0], key, *words)
                after = taken()
            else:
                with cluster(links[: 1 if arm == "one" else None], key, scratch) as scheduler:
                    before = taken()
                    summary = haul(None, key, *words, "--scheduler", scheduler)
                    after = taken()
            cpu = {what: round(after[what] - before[what], 2) for what in after}
            seconds = summary["elapsed_ns"] / 1e9
            seen.setdefault(arm, []).append(seconds)
            row = {"case": case, "arm": arm, "seconds": round(seconds, 2), "wire": summary["bytes_wire"]}
            row |= {
                "mbit": round(summary["bytes_wire"] * 8 / seconds / 1e6, 1),
                "requests": summary["requests"],
            }
            row |= {"done": summary["objects_done"], "retries": summary["retries"], "cpu": cpu}
            print(json.dumps(row), flush=True)
            haul(links[0], key, "rb", "--force", f"az://{container}")
    shutil.rmtree(tree)
    middle = {arm: statistics.median(times) for arm, times in seen.items()}
    if "alone" in middle:
        times = {arm: round(middle["alone"] / seconds, 2) for arm, seconds in middle.items()}
        print(json.dumps({"case": case, "nodes": len(links), "times_alone": times}), flush=True)


def taken() -> dict[str, float]:
    """Return what each kind of process has taken of the processors, in seconds; `command` is what was run."""
    ticks = os.sysconf("SC_CLK_TCK")
    seen = {what: sum(map(ticks_of, pids)) / ticks for what, pids in RUNNING.items()}
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seen | {"command": children.ru_utime + children.ru_stime}


def ticks_of(pid: int) -> int:
    """Return what a process has taken of the processors; nothing of one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0
    return int(fields[11]) + int(fields[12])


def haul(link: Link | None, key: str, *words: str) -> dict[str, Any]:
    """Run the command at the far end of a link, or at the near end of all; return its summary, if any."""
    inside = ["nsenter", f"--net={link.namespace}"] if link else []
    where = link or Link(0, "")
    ran = subprocess.run(
        [*inside, str(BIN / "haul"), *words, "--quiet"],
        env=where.environment(key),
        stdout=subprocess.PIPE,
        check=False,
    )
    if ran.returncode:
        raise SystemExit(f"haul {' '.join(words)}: exit code {ran.returncode}")
    lines = ran.stdout.splitlines()
    return json.loads(lines[-1]) if lines and "--json" in words else {}


@contextmanager
def link(spec: str) -> Iterator[Link]:
    """Make a link whose near end is here."""
    line = [str(BIN / "haul"), "emulate", "--link", f"packets:{spec}", "--here", "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            number = int(said["endpoint"].split("//127.254.")[1].split(".")[0])
            RUNNING["links"].append(process.pid)
            yield Link(number, said["far"])
        finally:
            process.terminate()


@contextmanager
def endpoint() -> Iterator[str]:
    """Serve at the near end of all links; yield the account's key."""
    line = [str(BIN / "haul"), "emulate", "--listen", f"0.0.0.0:{ENDPOINT_PORT}", "--allow-remote", "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            RUNNING["endpoint"].append(process.pid)
            yield said["connection_string"].split("AccountKey=")[1].split(";")[0]
        finally:
            process.terminate()


@contextmanager
def cluster(links: list[Link], key: str, scratch: Path) -> Iterator[str]:
    """Start a scheduler at the near end and a worker at each far end; yield the scheduler's address."""
    address = f"tcp://127.254.0.1:{SCHEDULER_PORT}"
    dask = [str(BIN / "dask")]
    with ExitStack() as stack:
        log = stack.enter_context((scratch / "dask.log").open("ab"))
        started = []

        def start(what: str, words: list[str], environment: dict[str, str]) -> None:
            started.append(subprocess.Popen(words, env=environment, stdout=log, stderr=log, cwd=scratch))
            RUNNING[what].append(started[-1].pid)

        scheduler = [*dask, "scheduler", "--host", "0.0.0.0", "--port", str(SCHEDULER_PORT)]
        start("scheduler", [*scheduler, "--no-dashboard", "--no-jupyter"], dict(os.environ))
        for one in links:
            worker = [*dask, "worker", f"tcp://{one.near}:{SCHEDULER_PORT}", "--host", one.far]
            worker += ["--nthreads", "2", "--no-nanny", "--no-dashboard", "--memory-limit", "0"]
            worker += ["--name", f"node-{one.number}", "--local-directory", str(scratch)]
            start("workers", ["nsenter", f"--net={one.namespace}", *worker], one.environment(key))
        try:
            wait(address, len(links))
            yield address
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                process.wait()
            RUNNING.update({"scheduler": [], "workers": []})


def wait(address: str, workers: int) -> None:
    """Wait until all workers are there."""
    from distributed import Client

    for _ in range(100):
        try:
            with Client(address, timeout=5, set_as_default=False) as client:
                client.wait_for_workers(workers, timeout=60)
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the scheduler did not start")


if __name__ == "__main__":
    main()
