"""Sub-file downloads as of 2010 (E2): ranges side by side into part files, then put together in order.

Both phases are timed by themselves: half the time went into the second one.
"""

from __future__ import annotations

import time
from pathlib import Path

from haulage.errors import HaulageError
from haulage.lab.arms import Item, Moved, Watch, Work, differing
from haulage.lab.arms.plain import Lanes, Recorder, Request, pieces

_COPY_BYTES = 1 << 20


def move(work: Work, watch: Watch) -> Moved:
    """Fetch file after file, each in ranges over all lanes."""
    offset, recorder = time.time_ns(), Recorder()
    lanes = Lanes(recorder, work.arm.concurrency or 1)
    transfers: list[dict[str, object]] = []
    network_ns = reassembly_ns = done = 0
    failure: HaulageError | None = None
    try:
        for number, item in enumerate(work.items):
            began = recorder.now()
            try:
                parts = _fetch(work, number, item, lanes)
                fetched = recorder.now()
                _put_together(parts, Path(item.local))
                done += item.size_bytes
                outcome = "ok"
            except HaulageError as error:
                failure, outcome, fetched = error, error.code, recorder.now()
            ended = recorder.now()
            network_ns += fetched - began
            reassembly_ns += ended - fetched
            transfers.append(recorder.transfer(number, item, began, ended, outcome, "ranges"))
            watch(done, done * 8e9 / max(1, recorder.now()))
        wall = recorder.now()
    finally:
        lanes.close()
    recorder.write(work.record)
    wrong = differing(work.items)
    return Moved(
        wall_ns=wall,
        bytes=done,
        transfers=transfers,
        monotonic_offset_ns=offset,
        outcome=failure.code if failure else "integrity" if wrong else "ok",
        cause=failure.cause if failure else f"{wrong} differs" if wrong else None,
        wire_bytes=recorder.wire_bytes,
        requests=len(recorder.rows),
        retries=0,
        lanes=1 + max(row["lane"] for row in recorder.rows),
        recorded=True,
        phase_network_ns=network_ns,
        phase_reassembly_ns=reassembly_ns,
    )


def _fetch(work: Work, number: int, item: Item, lanes: Lanes) -> list[Path]:
    url = work.endpoint.http_url(item.name)
    # How long it is has to be asked first, once more than a plain download asks.
    lanes.each(
        lambda request: lanes.send(request),
        [Request("GetBlobProperties", "HEAD", url, number, item.name, 0, 0)],
    )
    block = work.arm.block_size_bytes or item.size_bytes
    parts = []

    def one(piece: tuple[int, int, Path]) -> None:
        offset, length, path = piece
        header = (("x-ms-range", f"bytes={offset}-{offset + length - 1}"),)
        request = Request("GetBlob", "GET", url, number, item.name, offset, length, headers=header)
        with path.open("wb") as file:
            lanes.send(request, file.write)

    todo = []
    for place, (offset, length) in enumerate(pieces(item.size_bytes, block)):
        path = work.scratch / f"{number:06}.{place:06}.part"
        parts.append(path)
        todo.append((offset, length, path))
    lanes.each(one, todo)
    return parts


def _put_together(parts: list[Path], path: Path) -> None:
    with path.open("wb") as whole:
        for part in parts:
            with part.open("rb") as file:
                while piece := file.read(_COPY_BYTES):
                    whole.write(piece)
            part.unlink()
