"""Processors, memory, limits and the network's set-up of this machine, from ``/proc`` and ``/sys``."""

from __future__ import annotations

import os
import platform
import resource
from collections.abc import Iterator
from pathlib import Path

from haulage.doctor.finding import Finding
from haulage.words.numbers import counted, format_size

#: A job opens as many connections as the link bears, and a file for each object that is on its way.
FILES_NEEDED, FILES_WANTED = 256, 1024
#: What jobs take at most by default, and what is left of it that still works.
MEMORY_NEEDED, MEMORY_WANTED = 256 << 20, 1 << 30
#: A window of the socket for 1 Gbit/s at 60 ms.
WINDOW_WANTED = 8 << 20


def examine_machine(root: Path = Path("/")) -> Iterator[Finding]:
    """Yield what this machine has; ``root`` is where ``proc`` and ``sys`` lie."""
    yield _system(root)
    yield _processors(root)
    yield _memory(root)
    yield _files()
    yield from _processes()
    yield from _file_size()
    yield _congestion(root)
    yield _buffers(root)
    yield from _interfaces(root)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except (OSError, ValueError):
        return None


def _system(root: Path) -> Finding:
    names = (_read(root / "etc/os-release") or "").splitlines()
    pretty = next(
        (line.partition("=")[2].strip('"') for line in names if line.startswith("PRETTY_NAME=")), ""
    )
    system, release, machine = platform.system(), platform.release(), platform.machine()
    text = ", ".join(part for part in (f"{system} {release} on {machine}", pretty) if part)
    values = {"kernel": release, "architecture": machine, "distribution": pretty}
    if system != "Linux":
        return Finding("machine.system", "warning", text, "haulage is tested on Linux only", values=values)
    return Finding("machine.system", "ok", text, values=values)


def _cgroup(root: Path) -> Iterator[Path]:
    """Yield the folders of our control group and of those above it, nearest first."""
    for line in (_read(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        for base in (
            root / "sys/fs/cgroup",
            *(root / "sys/fs/cgroup" / one for one in controllers.split(",") if one),
        ):
            here = base / path.lstrip("/")
            while here.is_relative_to(base):
                if here.is_dir():
                    yield here
                if here == base:
                    break
                here = here.parent


def cpu_limit(root: Path) -> float | None:
    """Return the processors that the control group allows; ``None`` for no limit."""
    found = []
    for folder in _cgroup(root):
        quota, _, period = (_read(folder / "cpu.max") or "").partition(" ")
        if not quota:
            quota = _read(folder / "cpu.cfs_quota_us") or ""
            period = _read(folder / "cpu.cfs_period_us") or ""
        if quota.isdigit() and period.isdigit() and int(period):
            found.append(int(quota) / int(period))
    return min(found, default=None)


def memory_limit(root: Path) -> int | None:
    """Return the bytes that the control group allows; ``None`` for no limit."""
    texts = [
        _read(folder / name) for folder in _cgroup(root) for name in ("memory.max", "memory.limit_in_bytes")
    ]
    # Version 1 writes a number near 2**63 for none.
    return min((int(text) for text in texts if text and text.isdigit() and int(text) < 1 << 60), default=None)


def _processors(root: Path) -> Finding:
    there, ours = os.cpu_count() or 1, len(os.sched_getaffinity(0))
    limit = cpu_limit(root)
    allowed = min(ours, limit) if limit is not None else ours
    values = {"cores": there, "affinity": ours, "cgroup_cores": limit}
    text = counted(there, "core")
    if ours < there:
        text += f", {ours} for this process"
    if limit is not None and limit < ours:
        text += f", {limit:.1f} by the control group"
    if allowed < 1:
        hint = "raise the limit of the container or job: checksums and TLS need CPU time"
        return Finding("machine.cores", "warning", text, hint, values=values)
    return Finding("machine.cores", "ok", text, values=values)


def _memory(root: Path) -> Finding:
    lines = (_read(root / "proc/meminfo") or "").splitlines()
    known = {line.partition(":")[0]: int(line.split()[1]) << 10 for line in lines if len(line.split()) > 1}
    total, free = known.get("MemTotal", 0), known.get("MemAvailable", 0)
    limit = memory_limit(root)
    bound, _ = resource.getrlimit(resource.RLIMIT_AS)
    values = {"total_bytes": total, "available_bytes": free, "cgroup_bytes": limit}
    values["address_space_bytes"] = None if bound == resource.RLIM_INFINITY else bound
    text = f"{format_size(total)} of memory, {format_size(free)} available"
    usable = free
    if limit is not None and limit < total:
        text += f", {format_size(limit)} by the control group"
        usable = min(usable, limit)
    if bound != resource.RLIM_INFINITY:
        text += f", address space limited to {format_size(bound)}"
        usable = min(usable, bound)
    if usable < MEMORY_NEEDED:
        hint = "free some memory or raise the limit; --max-memory 64MiB needs less"
        return Finding("machine.memory", "fault", text, hint, "io", values)
    if usable < MEMORY_WANTED:
        hint = "give --max-memory 128MiB, so that a copy is not killed for lack of memory"
        return Finding("machine.memory", "warning", text, hint, values=values)
    return Finding("machine.memory", "ok", text, values=values)


def _files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    shown = "unlimited" if hard == unlimited else str(hard)
    values = {"soft": soft, "hard": hard}
    text = f"{soft if soft != unlimited else 'unlimited'} open files, can be raised to {shown}"
    if soft == unlimited or soft >= FILES_WANTED:
        return Finding("machine.files", "ok", text, values=values)
    if hard == unlimited or hard >= FILES_WANTED:
        hint = f"raise it in this shell: ulimit -n {4096 if hard == unlimited else min(hard, 4096)}"
    else:
        hint = "ask for a larger nofile in /etc/security/limits.conf, or LimitNOFILE of the service"
    if soft < FILES_NEEDED:
        few = f"only {text}: connections and files share them"
        return Finding("machine.files", "fault", few, hint, "io", values)
    return Finding("machine.files", "warning", text, hint, values=values)


def _processes() -> Iterator[Finding]:
    soft, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if soft != resource.RLIM_INFINITY and soft < 64:
        hint = "raise it in this shell: ulimit -u 4096"
        text = f"only {soft} processes and threads for this user"
        yield Finding("machine.processes", "warning", text, hint, values={"soft": soft})


def _file_size() -> Iterator[Finding]:
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if soft != resource.RLIM_INFINITY:
        text = f"no file may be larger than {format_size(soft)}"
        yield Finding(
            "machine.file-size",
            "warning",
            text,
            "raise it in this shell: ulimit -f unlimited",
            values={"soft": soft},
        )


def _congestion(root: Path) -> Finding:
    folder = root / "proc/sys/net/ipv4"
    used = _read(folder / "tcp_congestion_control")
    there = _read(folder / "tcp_available_congestion_control") or ""
    values = {"congestion_control": used, "available": there.split()}
    if used is None:
        return Finding("machine.congestion", "note", "TCP congestion control: unknown", values=values)
    text = f"TCP congestion control: {used}"
    if used in ("reno", "cubic") and "bbr" in there.split():
        hint = "on links that lose packets, bbr is often faster: sysctl net.ipv4.tcp_congestion_control=bbr"
        return Finding("machine.congestion", "note", text, hint, values=values)
    return Finding("machine.congestion", "ok", text, values=values)


def _buffers(root: Path) -> Finding:
    folder = root / "proc/sys/net/ipv4"
    most = {}
    for name, direction in (("tcp_rmem", "receive"), ("tcp_wmem", "send")):
        numbers = (_read(folder / name) or "").split()
        most[direction] = int(numbers[2]) if len(numbers) == 3 else None
    known = [value for value in most.values() if value is not None]
    text = ", ".join(f"{name} {format_size(value)}" for name, value in most.items() if value is not None)
    values = {f"{name}_bytes": value for name, value in most.items()}
    if not known:
        return Finding("machine.buffers", "note", "largest TCP buffers: unknown", values=values)
    text = f"largest TCP buffers: {text}"
    if min(known) < WINDOW_WANTED:
        hint = "a distant, fast link may need more for each connection: sysctl net.ipv4.tcp_rmem, tcp_wmem"
        level = "note" if min(known) >= 1 << 20 else "warning"
        return Finding("machine.buffers", "note" if level == "note" else "warning", text, hint, values=values)
    return Finding("machine.buffers", "ok", text, values=values)


def _interfaces(root: Path) -> Iterator[Finding]:
    folder = root / "sys/class/net"
    try:
        names = sorted(path.name for path in folder.iterdir() if path.name != "lo")
    except OSError:
        return
    up = {}
    for name in names:
        mtu, state = _read(folder / name / "mtu"), _read(folder / name / "operstate")
        if mtu and mtu.isdigit() and state in ("up", "unknown"):
            up[name] = int(mtu)
    if not up:
        hint = "check: ip link; only this machine itself can be reached"
        yield Finding("machine.mtu", "warning", "no network interface is up", hint)
        return
    text = "MTU: " + ", ".join(f"{name} {mtu}" for name, mtu in up.items())
    small = min(up.values()) < 1280
    least = min(up, key=lambda name: up[name])
    hint = f"with an MTU below 1280, some paths drop large packets: ip link set dev {least} mtu 1500"
    yield Finding(
        "machine.mtu", "warning" if small else "ok", text, hint if small else None, values={"mtu": up}
    )
