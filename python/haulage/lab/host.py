"""What this machine is, and what it did while the cells ran: ten samples a second."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

#: Often enough to see a cell of half a second, rare enough to cost under 1 % of a core.
INTERVAL_S = 0.1


class HostSampler:
    """Samples processors, memory, network and disk in a thread of its own until it is closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[dict[str, Any]] = []
        self._cell: int | None = None
        self._stop = threading.Event()
        self._process = psutil.Process()
        self._thread = threading.Thread(target=self._run, name="lab-host", daemon=True)

    def begin(self, cell: int) -> None:
        """Mark the samples from now on as this cell's."""
        with self._lock:
            self._cell = cell
            self._rows = []

    def end(self) -> list[dict[str, Any]]:
        """Return the samples of the cell, and mark those from now on as nobody's."""
        with self._lock:
            rows, self._rows, self._cell = self._rows, [], None
        return rows

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(2)

    def _run(self) -> None:
        before, at = _counters(self._process), time.monotonic()
        while not self._stop.wait(INTERVAL_S):
            now, later = _counters(self._process), time.monotonic()
            row = _row(before, now, later - at)
            with self._lock:
                if self._cell is not None:
                    self._rows.append({"cell": self._cell, **row})
            before, at = now, later


def _counters(process: psutil.Process) -> dict[str, float]:
    cpu = psutil.cpu_times()
    network = psutil.net_io_counters()
    disk = psutil.disk_io_counters()
    own = process.cpu_times()
    return {
        "user": cpu.user + cpu.nice,
        "system": cpu.system + getattr(cpu, "irq", 0.0) + getattr(cpu, "softirq", 0.0),
        "idle": cpu.idle + getattr(cpu, "iowait", 0.0),
        "steal": getattr(cpu, "steal", 0.0),
        "own": own.user + own.system,
        "rx": network.bytes_recv if network else 0,
        "tx": network.bytes_sent if network else 0,
        "read": disk.read_bytes if disk else 0,
        "write": disk.write_bytes if disk else 0,
    }


def _row(before: Mapping[str, float], now: Mapping[str, float], elapsed_s: float) -> dict[str, Any]:
    moved = {name: now[name] - before[name] for name in now}
    ticks = sum(moved[name] for name in ("user", "system", "idle", "steal")) or 1.0
    return {
        "unix_ns": time.time_ns(),
        **{f"cpu_{name}_share": moved[name] / ticks for name in ("user", "system", "idle", "steal")},
        "process_cpu_share": moved["own"] / elapsed_s,
        "memory_available_bytes": psutil.virtual_memory().available,
        "nic_rx_bytes": int(moved["rx"]),
        "nic_tx_bytes": int(moved["tx"]),
        "disk_read_bytes": int(moved["read"]),
        "disk_write_bytes": int(moved["write"]),
    }


def facts() -> dict[str, Any]:
    """Return what a reader must know of the machine, and nothing that names it."""
    return {
        "cpus": len(os.sched_getaffinity(0)),
        "cpu_model": _cpu_model(),
        "memory_bytes": psutil.virtual_memory().total,
        "congestion_control": _line("/proc/sys/net/ipv4/tcp_congestion_control"),
        "kernel": platform.release(),
        "nic_bits_per_second": {
            name: stats.speed * 1_000_000 or None
            for name, stats in psutil.net_if_stats().items()
            if stats.isup
        },
        "load_1min": round(os.getloadavg()[0], 2),
    }


def pin(cpus: int | None) -> int:
    """Let every thread of this process run on the first ``cpus`` processors; ``None`` frees them.

    Returns:
        On how many they may run now: there may be fewer than asked for.
    """
    there = sorted(_ALL)
    chosen = there if cpus is None else there[:cpus]
    for thread in Path("/proc/self/task").iterdir():
        try:
            os.sched_setaffinity(int(thread.name), chosen)
        except ProcessLookupError:
            continue  # It has ended meanwhile.
    return len(chosen)


_ALL = os.sched_getaffinity(0)


def _cpu_model() -> str:
    lines = _line("/proc/cpuinfo", whole=True).splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _line(path: str, *, whole: bool = False) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError:
        return "unknown"
    return text if whole else text.strip()
