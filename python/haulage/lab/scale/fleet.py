"""Starts nodes, agrees with them on a moment, and gathers what they have moved."""

from __future__ import annotations

import base64
import secrets
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from haulage.errors import ServiceError
from haulage.lab.arms import Item, Moved, Watch
from haulage.lab.plan import Arm
from haulage.lab.scale.merge import merge
from haulage.lab.scale.wire import Line
from haulage.lab.target import Endpoint

#: Ample for a Python to start beside others on a busy machine.
_START_S = 60.0
#: A node that says nothing for so long, not even how far it is, is lost.
_SILENT_S = 120.0
#: A node ends by itself, and clears up, when its line is closed; one that has not by then is ended.
_END_S = 2.0
#: To a clock that is asked so often at least one answer comes without delay.
PINGS = 16
#: Between the word and the moment: for the word to reach everybody, a little more for each.
_NOTICE_NS, _NOTICE_EACH_NS = 30_000_000, 3_000_000

#: Starts a node that connects to this host and port with its number and the word; ``None`` where there is no
#: place for one.
Start = Callable[[str, int, int, str], "Handle | None"]


@dataclass(frozen=True)
class Handle:
    """How to end a node from outside, which has so many seconds to end by itself."""

    end: Callable[[float], object]


@dataclass
class Member:
    """A node that is connected."""

    number: int
    line: Line
    pid: int
    host: str
    handle: Handle
    heard_s: float = 0.0
    moved: dict[str, Any] | None = None
    lost: str | None = None
    bytes_done: int = 0
    rate: float = 0.0
    offset_ns: int = 0  #: its clock less ours
    bound_ns: int = 0  #: by how much the offset can be wrong
    record: Path | None = None  #: where its own record goes
    pieces: list[bytes] = field(default_factory=list)  #: of its record, where it sends it

    def close(self) -> None:
        """End it."""
        self.line.close()
        self.handle.end(_END_S)


@dataclass(frozen=True)
class Task:
    """What one node does in a cell."""

    number: int
    endpoint: Endpoint
    items: Sequence[Item]
    link: str | None = None


@dataclass
class Gathered:
    """What came of a cell: all nodes together, and a row for each that was declared."""

    moved: Moved
    nodes: list[dict[str, Any]] = field(default_factory=list)


def on_this_machine(host: str, port: int, number: int, word: str) -> Handle:
    """Start a node as a process of this machine."""
    process = subprocess.Popen(
        [sys.executable, "-m", "haulage.lab.scale.node", host, str(port), str(number)],
        stdin=subprocess.PIPE,
        # Ctrl-C is for the lab, which then stops this in order.
        start_new_session=True,
    )
    assert process.stdin is not None
    # Not among the arguments, which everybody on the machine can read.
    with suppress(BrokenPipeError):
        process.stdin.write(word.encode() + b"\n")
        process.stdin.close()

    def end(grace_s: float) -> None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
            return
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    return Handle(end)


def _end_all(handles: Iterable[Handle]) -> None:
    """End nodes whose lines are closed; all have the same time to end by themselves."""
    until = time.monotonic() + _END_S
    for handle in handles:
        handle.end(max(0.0, until - time.monotonic()))


class Fleet:
    """Nodes that are kept from cell to cell; one that was lost is started anew before the next.

    Args:
        start: Starts a node: as a process of this machine, or elsewhere.
        listen: The address at which nodes connect.
        here: Whether they write to the disk of this machine; else each sends its record over its line.
    """

    def __init__(
        self, start: Start = on_this_machine, *, listen: str = "127.0.0.1", here: bool = True
    ) -> None:
        self._start, self._here = start, here
        self._word = secrets.token_hex(16)
        self._listener = socket.create_server((listen, 0), backlog=256)
        self._members: dict[int, Member] = {}
        self._files: Sequence[tuple[str, int, int]] = ()

    def make(self, files: Sequence[tuple[str, int, int]]) -> None:
        """Have every node make these files (name, size, seed) as soon as it is there."""
        self._files = files

    def ready(self, count: int) -> list[Member]:
        """Have so many nodes and return those that are there; ask each for its clock.

        Raises:
            ServiceError: Not one of them could be started.
        """
        host, port = self._listener.getsockname()[:2]
        missing = [number for number in range(1, count + 1) if number not in self._members]
        handles: dict[int, Handle] = {}
        try:
            for number in missing:
                handle = self._start(host, port, number, self._word)
                if handle is not None:
                    handles[number] = handle
            until = time.monotonic() + _START_S
            while handles.keys() - self._members.keys() and (left := until - time.monotonic()) > 0:
                self._listener.settimeout(left)
                try:
                    self._admit(self._listener.accept()[0], handles)
                except TimeoutError:
                    break
        finally:
            # Also when it is interrupted: nobody else knows of these.
            _end_all(handles[number] for number in sorted(handles.keys() - self._members.keys()))
        for member in list(self._members.values()):
            if member.number <= count:
                self._ask_clock(member)
        there = [self._members[number] for number in sorted(self._members) if number <= count]
        if not there:
            raise ServiceError("start nodes", f"{count} nodes", "none of them connected", "see what they say")
        return there

    def _admit(self, connection: socket.socket, handles: Mapping[int, Handle]) -> None:
        line = Line(connection)
        connection.settimeout(_START_S)
        try:
            hello = line.hear()
            number = int(hello.get("node", 0))
            if not secrets.compare_digest(str(hello.get("word")), self._word) or number not in handles:
                raise EOFError
            if self._files:
                line.say(do="make", files=self._files)
                line.hear()
        except (EOFError, OSError, ValueError):
            line.close()
            return
        except BaseException:
            line.close()
            raise
        self._members[number] = Member(number, line, hello["pid"], hello["host"], handles[number])

    def _ask_clock(self, member: Member) -> None:
        best: tuple[int, int] | None = None
        try:
            for _ in range(PINGS):
                before = time.monotonic_ns()
                member.line.say(do="clock")
                theirs = member.line.hear()["now_ns"]
                after = time.monotonic_ns()
                if best is None or after - before < best[0]:
                    best = after - before, theirs - (before + after) // 2
        except (EOFError, OSError):
            self._lose(member, "its connection broke")
        if best is not None:
            member.bound_ns, member.offset_ns = -(-best[0] // 2), best[1]

    def _lose(self, member: Member, why: str) -> None:
        member.lost = why
        member.close()
        self._members.pop(member.number, None)

    def move(
        self, arm: Arm, direction: str, tasks: Sequence[Task], folder: Path, record: Path, watch: Watch
    ) -> Gathered:
        """Have one node do each task, all from one moment on, and put what they have recorded together.

        Args:
            arm: How to move.
            direction: Which way.
            tasks: One for each node.
            folder: Where each node writes its own file.
            record: Where the requests of all are put together.
            watch: Told how far all are.
        """
        there = {member.number: member for member in self.ready(len(tasks))}
        for task in tasks:
            if (member := there.get(task.number)) is not None:
                self._prepare(member, arm, direction, task, folder)
        waiting = [member for member in there.values() if member.lost is None]
        zero_ns = time.monotonic_ns() + _NOTICE_NS + _NOTICE_EACH_NS * len(tasks)
        unix_ns = time.time_ns() - time.monotonic_ns() + zero_ns
        for member in waiting:
            member.heard_s = time.monotonic()
            try:
                member.line.say(at_ns=zero_ns + member.offset_ns)
            except OSError:
                self._lose(member, "its connection broke")
        self._gather([member for member in waiting if member.lost is None], watch)
        return _summed(tasks, there, zero_ns, unix_ns, folder, record)

    def _prepare(self, member: Member, arm: Arm, direction: str, task: Task, folder: Path) -> None:
        member.moved, member.lost, member.bytes_done, member.rate = None, None, 0, 0.0
        member.record, member.pieces = (folder / f"{task.number:02}.parquet").resolve(), []
        try:
            member.line.say(
                do="cell",
                arm=vars(arm),
                direction=direction,
                items=[[item.name, item.local, item.size_bytes, item.original] for item in task.items],
                base=task.endpoint.base,
                insecure_http=task.endpoint.insecure_http,
                query=task.endpoint.query,
                record=str(member.record) if self._here else None,
            )
            member.line.hear()
        except (EOFError, OSError):
            self._lose(member, "lost before the moment")

    def _gather(self, running: list[Member], watch: Watch) -> None:
        members = list(running)
        while running:
            ready, _, _ = select.select([member.line for member in running], [], [], 1.0)
            now = time.monotonic()
            for member in list(running):
                if member.line in ready:
                    member.heard_s = now
                    self._hear(member)
                elif now - member.heard_s > _SILENT_S:
                    self._lose(member, f"said nothing for {_SILENT_S:.0f} s")
                if member.moved is not None or member.lost is not None:
                    running.remove(member)
            watch(sum(one.bytes_done for one in members), sum(one.rate for one in running))

    def _hear(self, member: Member) -> None:
        try:
            for message in member.line.messages():
                if "piece" in message:
                    member.pieces.append(base64.b64decode(message["piece"]))
                elif "moved" in message:
                    if member.pieces and member.record is not None:
                        member.record.parent.mkdir(parents=True, exist_ok=True)
                        member.record.write_bytes(b"".join(member.pieces))
                    member.moved = message["moved"] | {"cpu_ns": message["cpu_ns"]}
                    member.bytes_done = message["moved"]["bytes"]
                else:
                    member.bytes_done, member.rate = message["bytes_done"], message["rate"]
        except (EOFError, OSError, ValueError):
            self._lose(member, "lost while it ran")

    def close(self) -> None:
        """End all nodes."""
        members = list(self._members.values())
        self._members.clear()
        for member in members:
            member.line.close()
        _end_all(member.handle for member in members)
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _summed(
    tasks: Sequence[Task], there: Mapping[int, Member], zero_ns: int, unix_ns: int, folder: Path, record: Path
) -> Gathered:
    """Return what all nodes have moved together, on the cell's clock."""
    rows: list[dict[str, Any]] = []
    transfers: list[dict[str, Any]] = []
    shifts: dict[int, int] = {}
    for task in tasks:
        row = _row(task, there.get(task.number), zero_ns)
        own = row.pop("transfers")
        if row["outcome"] != "node_lost":
            shifts[task.number] = row["began_ns"]
        row |= {"first_transfer": len(transfers), "transfers": len(own)}
        transfers += [
            item | {name: item[name] + row["began_ns"] for name in ("began_ns", "ended_ns")} for item in own
        ]
        rows.append(row)
    done = [row for row in rows if row["outcome"] != "node_lost"]
    failed = next((row for row in rows if row["outcome"] != "ok"), None)
    lanes = merge(folder, record, {number: began for number, began in shifts.items() if _wrote(rows, number)})
    moved = Moved(
        wall_ns=max((row["ended_ns"] for row in done), default=0),
        bytes=sum(row["bytes"] for row in done),
        transfers=transfers,
        monotonic_offset_ns=unix_ns,
        outcome="ok" if failed is None else failed["outcome"],
        cause=None if failed is None else f"{failed['name']}: {failed['cause']}",
        wire_bytes=sum(row["wire_bytes"] or 0 for row in done),
        requests=sum(row["requests"] or 0 for row in done),
        retries=sum(row["retries"] or 0 for row in done),
        lanes=lanes or None,
        recorded=record.is_file(),
    )
    return Gathered(moved, rows)


def _wrote(rows: Sequence[Mapping[str, Any]], number: int) -> bool:
    return any(row["node"] == number and row["recorded"] for row in rows)


def _row(task: Task, member: Member | None, zero_ns: int) -> dict[str, Any]:
    """Return the row of a node that was declared, whether or not it came to its end."""
    row: dict[str, Any] = {
        "node": task.number,
        "name": f"node-{task.number:02}",
        "link": task.link,
        "host": None if member is None else member.host,
        "pid": None if member is None else member.pid,
        "offset_ns": None if member is None else member.offset_ns,
        "offset_bound_ns": None if member is None else member.bound_ns,
        "files": len(task.items),
        "bytes_declared": sum(item.size_bytes for item in task.items),
    }
    if member is None or member.moved is None:
        cause = "did not start" if member is None else member.lost or "lost"
        nothing = dict.fromkeys(("began_ns", "ended_ns", "wire_bytes", "requests", "retries", "cpu_ns"))
        return row | nothing | {
            "outcome": "node_lost",
            "cause": cause,
            "bytes": 0 if member is None else member.bytes_done,
            "recorded": False,
            "transfers": [],
        }  # fmt: skip
    moved = member.moved
    began = moved["monotonic_offset_ns"] - member.offset_ns - zero_ns
    return row | {
        "outcome": moved["outcome"],
        "cause": moved["cause"],
        "began_ns": max(0, began),
        "ended_ns": max(0, began) + moved["wall_ns"],
        "bytes": moved["bytes"],
        "wire_bytes": moved["wire_bytes"],
        "requests": moved["requests"],
        "retries": moved["retries"],
        "cpu_ns": moved["cpu_ns"],
        "recorded": moved["recorded"],
        "transfers": moved["transfers"],
    }
