"""What the kernel counts of this process's TCP connections: bytes acknowledged and bytes received.

Linux answers over a netlink socket (``sock_diag``), as it does to ``ss -ti``. No other layer counts so
directly what a path has carried: neither buffers nor requests that are not finished are in it.
"""

from __future__ import annotations

import math
import socket
import struct
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

#: From the kernel's headers; they never change.
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _NLMSG_DONE, _NLM_F_DUMP_REQUEST = 4, 20, 3, 0x301
_INET_DIAG_INFO, _TCP_ESTABLISHED = 2, 1
_HEADER, _MESSAGE_BYTES, _INODE_AT = struct.Struct("=IHHII"), 72, 68
#: Of ``tcpi_bytes_acked`` within ``tcp_info``; ``tcpi_bytes_received`` follows.
_ACKED_AT = 120
#: Between two samples.
EVERY_S = 0.01


@dataclass
class Counters:
    """Samples of each connection of this process while it is entered.

    Attributes:
        samples: By connection: monotonic seconds, bytes acknowledged, bytes received.
    """

    samples: dict[int, list[tuple[float, int, int]]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(EVERY_S):
            try:
                for inode, acked, received in connections():
                    self.samples.setdefault(inode, []).append((time.monotonic(), acked, received))
            except OSError:
                return  # The kernel does not tell: there are no samples then.

    def rates(self, direction: str, begin: float, end: float) -> list[float]:
        """Return bits per second of each connection that moved bytes between two moments."""
        column = 1 if direction == "up" else 2
        found = []
        for rows in self.samples.values():
            steps = [
                ((before[0] + after[0]) / 2, after[column] - before[column])
                for before, after in pairwise(rows)
                if after[column] > before[column]
            ]
            rate = weighted_rate(steps, begin, end)
            if rate > 0:
                found.append(rate)
        return found

    def all_busy_until(self, direction: str) -> float:
        """Return when the first connections had moved all they had to; a tenth may rest before."""
        column = 1 if direction == "up" else 2
        last = []
        for rows in self.samples.values():
            moves = [after[0] for before, after in pairwise(rows) if after[column] > before[column]]
            if moves:
                last.append(moves[-1])
        return sorted(last)[len(last) // 10] if last else 0.0


def weighted_rate(steps: Iterable[tuple[float, float]], begin: float, end: float) -> float:
    """Return bits per second of what comes in steps, those in the middle of the window weighing most.

    A receiver opens its window by up to 128 KiB at a time: at 2 Mbit/s that is half a second. Counted from
    edge to edge, a step more or less would be an error of that size. Under a raised cosine
    (Hann) steps that come at even distances add up to their rate, wherever the edges lie.

    Args:
        steps: Moment and bytes.
        begin: Of the window, in the unit of the moments: seconds.
        end: Of the window.
    """
    width = end - begin
    weighted = sum(
        amount * (1 - math.cos(2 * math.pi * (moment - begin) / width))
        for moment, amount in steps
        if begin < moment < end
    )
    return 8.0 * weighted / width


def connections() -> list[tuple[int, int, int]]:
    """Return inode, bytes acknowledged and bytes received of each open TCP connection of this process.

    Raises:
        OSError: This system does not tell.
    """
    if not hasattr(socket, "AF_NETLINK"):
        raise OSError("no netlink here")
    own = _own_inodes()
    found: list[tuple[int, int, int]] = []
    for family in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
            kernel.settimeout(1.0)
            body = struct.pack(
                "=BBBBI48x", family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), 0, 1 << _TCP_ESTABLISHED
            )
            size = _HEADER.size + len(body)
            kernel.send(_HEADER.pack(size, _SOCK_DIAG_BY_FAMILY, _NLM_F_DUMP_REQUEST, 1, 0) + body)
            done = False
            while not done:
                block = kernel.recv(1 << 18)
                done = not block or _read(block, own, found)
    return found


def _read(block: bytes, own: set[int], into: list[tuple[int, int, int]]) -> bool:
    """Read messages; whether the last was among them."""
    at = 0
    while at + _HEADER.size <= len(block):
        size, kind, _, _, _ = _HEADER.unpack_from(block, at)
        if kind != _SOCK_DIAG_BY_FAMILY or size < _HEADER.size:
            return True
        (inode,) = struct.unpack_from("=I", block, at + _HEADER.size + _INODE_AT)
        if inode in own:
            attribute, end = at + _HEADER.size + _MESSAGE_BYTES, at + size
            while attribute + 4 <= end:
                length, name = struct.unpack_from("=HH", block, attribute)
                if name == _INET_DIAG_INFO and length >= 4 + _ACKED_AT + 16:
                    acked, received = struct.unpack_from("=QQ", block, attribute + 4 + _ACKED_AT)
                    into.append((inode, acked, received))
                attribute += max(4, (length + 3) & ~3)
        at += (size + 3) & ~3
    return False


def _own_inodes() -> set[int]:
    found = set()
    for name in Path("/proc/self/fd").iterdir():
        try:
            target = str(name.readlink())
        except OSError:
            continue  # Closed meanwhile.
        if target.startswith("socket:["):
            found.add(int(target[8:-1]))
    return found
