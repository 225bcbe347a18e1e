"""One short real transfer, in another process: what experiments are made of.

The process makes the files that it needs once, moves them with the engine, and says on stdout how
that went, as one line of JSON for each line of orders.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import duckdb
import psutil

import haulage
from haulage.lab.experiments.worker import Worker
from haulage.lab.generate import generate
from haulage.lab.target import Endpoint
from haulage.transfer import Job, Options

#: A transfer that takes longer than this many seconds is none of the short ones meant here.
LONGEST_S = 120
#: Requests that carry payload.
PAYLOAD = "('PutBlob', 'PutBlock', 'GetBlob', 'PutObject', 'UploadPart', 'GetObject')"


@dataclass(frozen=True)
class Setting:
    """What a trial does.

    Attributes:
        files: How many.
        file_bytes: Size of each.
        connections: Requests in flight; ``None`` leaves it to the engine.
        block_bytes: Of each request; ``None`` leaves it to the engine.
        memory: Read from memory (up) or write there (down) instead of the disk.
        direction: ``"up"`` or ``"down"``; down reads what a trial with the same files has sent up.
        cap_bits_per_second: Bound on the rate; default none.
        checksum: On the wire; ``None`` for the default, CRC64.
        half_the_processors: Run on half of them, and an endpoint on this machine too.
        look: Ask for each object first, as a second run does.
        seed: Of the bytes.
    """

    files: int
    file_bytes: int
    connections: int | None = None
    block_bytes: int | None = None
    memory: bool = False
    direction: str = "up"
    cap_bits_per_second: int | None = None
    checksum: str | None = None
    half_the_processors: bool = False
    look: bool = False
    seed: int = 1


@dataclass(frozen=True)
class Observation:
    """What a trial measured.

    Attributes:
        wall_ns: Of the job.
        bytes: Payload that arrived.
        rate_bits_per_second: While all lanes have work and none is at its first request; where that is too
            short, of requests over connections that had served before, times those in flight.
        requests: Sent.
        refused_share: Of these, refused.
        answer_ns: Median answer to a request without a body; ``None`` without any.
        write_ns: Median answer to a small PutBlob; ``None`` without any.
        cpu_idle_share: Of all processors meanwhile.
        cpu_ns: Processor time of this process.
        lanes: Highest number in flight.
        outcome: ``"ok"``, or the code of what failed.
        began_unix_ns: Start of the job.
        chosen: What the engine chose, in words.
        record: The engine's record of attempts.
        endpoint_cpu_ns: Processor time of the endpoint meanwhile; 0 where it is not on this machine.
    """

    wall_ns: int
    bytes: int
    rate_bits_per_second: float
    requests: int
    refused_share: float
    answer_ns: float | None
    write_ns: float | None
    cpu_idle_share: float
    cpu_ns: int
    lanes: int
    outcome: str
    began_unix_ns: int
    chosen: str
    record: str
    endpoint_cpu_ns: int = 0

    @property
    def cores_used(self) -> float:
        """Processor time over wall time, of the mover and of an endpoint on this machine."""
        return (self.cpu_ns + self.endpoint_cpu_ns) / max(self.wall_ns, 1)


class Route(Protocol):
    """Where experiments run: anything that can make a transfer with other settings, over the same path."""

    def transfer(self, setting: Setting) -> Observation:
        """Make one transfer and measure it."""
        ...


@dataclass(frozen=True)
class Site:
    """A path for experiments: an endpoint and a folder for files.

    Attributes:
        endpoint: Of an emulator or a service. Objects of the experiments are named ``trial-...`` below it.
        folder: On the disk that is to take part; files and records go there.
        environment: Beside this process's own, for the processes of the trials, which end with :meth:`close`.
    """

    endpoint: Endpoint
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    _workers: dict[bool, Worker] = field(default_factory=dict, init=False, repr=False, compare=False)

    def transfer(self, setting: Setting) -> Observation:
        """Make one transfer in a process for transfers alone.

        Raises:
            ServiceError: It did not end, or not well enough to be measured.
        """
        if setting.direction == "down":
            self._offer(setting)
        number = sum(1 for _ in self.folder.glob("trial-*.parquet"))
        order = {
            "setting": asdict(setting),
            "base": self.endpoint.base,
            "query": self.endpoint.query,
            "insecure_http": self.endpoint.insecure_http,
            "folder": str(self.folder),
            "record": str(self.folder / f"trial-{number:03}.parquet"),
        }
        before = self.endpoint.cpu_ns()
        if setting.half_the_processors:
            self.endpoint.pin(half_of_processors())
        try:
            said = self._worker(setting.half_the_processors).ask(order, LONGEST_S, self.endpoint.base)
        finally:
            if setting.half_the_processors:
                self.endpoint.pin(sorted(os.sched_getaffinity(0)))
        return replace(Observation(**said), endpoint_cpu_ns=self.endpoint.cpu_ns() - before)

    def close(self) -> None:
        """Stop the processes."""
        while self._workers:
            self._workers.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _worker(self, half: bool) -> Worker:
        """Return the process for all transfers on all processors, or on half of them."""
        if half in self._workers and self._workers[half].ended:
            self._workers.pop(half).close()
        if half not in self._workers:
            cpus = half_of_processors() if half else None
            self._workers[half] = Worker(__name__, self.environment, cpus)
        return self._workers[half]

    def _offer(self, setting: Setting) -> None:
        """Send up what a download reads, once."""
        mark = self.folder / f"sent-{setting.files}-{setting.file_bytes}-{setting.seed}"
        if not mark.exists():
            self.transfer(Setting(setting.files, setting.file_bytes, seed=setting.seed))
            mark.touch()


def half_of_processors() -> list[int]:
    """Return the first half of the processors that this process may use, one at least."""
    there = sorted(os.sched_getaffinity(0))
    return there[: max(1, len(there) // 2)]


def make_files(folder: Path, setting: Setting) -> list[Path]:
    """Return the files of a setting, written if they are not there, and out of the system's memory."""
    place = folder / f"files-{setting.file_bytes}-{setting.seed}"
    place.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(setting.files):
        path = place / f"{number:05}.bin"
        if not path.is_file() or path.stat().st_size != setting.file_bytes:
            generate(str(path), setting.file_bytes, setting.seed + number)
        file = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file)
            # What was just written lies in memory, where no disk could slow it.
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)
        paths.append(path)
    return paths


def run(setting: Setting, endpoint: Endpoint, folder: Path, record: Path) -> Observation:
    """Make one transfer in this process."""
    files = make_files(folder, setting)
    if setting.look:
        # What lies there unchanged since the last replicate would be looked at and left alone.
        for path in files:
            os.utime(path)
    # Names differ with the files, so that a download finds what was sent up with the same setting.
    remote = [endpoint.url(f"trial-{setting.file_bytes}-{setting.seed}-{path.name}") for path in files]
    if setting.direction == "up":
        local = [f"mem://trial/{path.name}" if setting.memory else str(path) for path in files]
        if setting.memory:
            haulage.copy([(str(a), b) for a, b in zip(files, local, strict=True)], overwrite="always")
        pairs = list(zip(local, remote, strict=True))
    else:
        sink = folder / "sink"
        sink.mkdir(exist_ok=True)
        local = [f"mem://trial/{path.name}" if setting.memory else str(sink / path.name) for path in files]
        pairs = list(zip(remote, local, strict=True))
    options: Options = {"record": record, "overwrite": "if-different" if setting.look else "always"}
    options["remember_link"] = False
    options.update(endpoint.reach)
    if setting.connections is not None:
        options["concurrency"] = setting.connections
    if setting.block_bytes is not None:
        options["block_size"] = f"{setting.block_bytes}B"
        options["method"] = "ranges" if setting.file_bytes > setting.block_bytes else "whole"
    if setting.checksum is not None:
        options["checksum"] = setting.checksum  # type: ignore[typeddict-item]  # a word of the plan
    if setting.cap_bits_per_second is not None:
        options["cap"] = f"{setting.cap_bits_per_second // 1000}kbit"
    job = Job.copy(pairs, **options)
    before, began_cpu, began_unix = psutil.cpu_times(), time.process_time_ns(), time.time_ns()
    summary = job.wait(check=False)
    after, cpu_ns = psutil.cpu_times(), time.process_time_ns() - began_cpu
    spent = [late - early for early, late in zip(before, after, strict=True)]
    idle = spent[before._fields.index("idle")] if hasattr(before, "_fields") else 0.0
    failure = summary.failures[0].kind if summary.failures else "ok"
    return Observation(
        wall_ns=summary.elapsed_ns,
        bytes=summary.bytes_done,
        requests=summary.requests,
        cpu_idle_share=idle / max(sum(spent), 1e-9),
        cpu_ns=cpu_ns,
        outcome=failure,
        began_unix_ns=began_unix,
        chosen=summary.chosen,
        record=str(record),
        **_measured(record),  # type: ignore[arg-type]  # columns of the query below
    )


def _measured(record: Path) -> dict[str, float | int | None]:
    with duckdb.connect() as database:
        rows = database.execute(
            f"""
            with all_of as (select *, ended_ns::bigint - slot_ns::bigint as held_ns from read_parquet(?)),
            payload as (from all_of where api in {PAYLOAD} and fate = 'ok' and size_bytes > 0),
            -- The first request of a connection opens it; where there are no others, it has to do.
            warm as (
                from payload
                where connection_reused or (select count(*) filter (connection_reused) from payload) * 2 < (
                    select count(*) from payload)
            )
            select
                (select 8e9 * sum(size_bytes) / nullif(sum(held_ns), 0) from warm)
                    * (select max(lane) + 1 from payload) as rate_bits_per_second,
                (select coalesce(count(*) filter (fate = 'busy') / nullif(count(*), 0), 0) from all_of)
                    as refused_share,
                (select median(first_byte_ns::bigint - connected_ns::bigint) from all_of
                    where api in ('Begin', 'GetBlobProperties', 'HeadObject') and connection_reused)
                    as answer_ns,
                (select median(first_byte_ns::bigint - connected_ns::bigint) from all_of
                    where api in ('PutBlob', 'PutObject') and connection_reused and fate = 'ok'
                        and size_bytes <= 4096)
                    as write_ns,
                (select coalesce(max(lane) + 1, 0) from all_of) as lanes
            """,
            [str(record)],
        )
        names = [column[0] for column in rows.description or ()]
        values = rows.fetchone() or ()
        pieces = database.execute(
            f"""select lane, slot_ns::bigint, ended_ns::bigint, size_bytes::bigint from read_parquet(?)
            where fate = 'ok' and api in {PAYLOAD} and size_bytes > 0""",
            [str(record)],
        ).fetchall()
    steady = _steady(pieces)
    found = dict(zip(names, values, strict=True))
    found["rate_bits_per_second"] = steady or found["rate_bits_per_second"] or 0.0
    return found


def _steady(pieces: list[tuple[int, int, int, int]]) -> float | None:
    """Return bits per second while every lane is past its first request and none is out of work.

    ``None`` where that is less than a fifth of the time: short transfers are mostly beginning and end.
    """
    if not pieces:
        return None
    firsts: dict[int, int] = {}
    for lane, _, end, _ in pieces:
        firsts[lane] = min(end, firsts.get(lane, end))
    begin, end = max(firsts.values()), max(slot for _, slot, _, _ in pieces)
    whole = max(one[2] for one in pieces) - min(one[1] for one in pieces)
    if end - begin < whole / 5:
        return None
    bits = sum(
        8 * size * max(0, min(ended, end) - max(slot, begin)) / max(1, ended - slot)
        for _, slot, ended, size in pieces
    )
    return bits * 1e9 / (end - begin)


def main() -> None:
    """Make the transfers that stdin orders, on the processors that the argument names."""
    if sys.argv[1]:
        os.sched_setaffinity(0, map(int, sys.argv[1].split(",")))  # Before the engine starts its threads.
    for line in sys.stdin:
        order = json.loads(line)
        endpoint = Endpoint(order["base"], order["query"], insecure_http=order["insecure_http"])
        seen = run(Setting(**order["setting"]), endpoint, Path(order["folder"]), Path(order["record"]))
        sys.stdout.write(json.dumps(asdict(seen)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
