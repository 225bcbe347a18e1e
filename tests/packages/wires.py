"""Two machines and the only wire between them; what is sent or tried elsewhere is counted in three ways."""

from __future__ import annotations

import ctypes
import ipaddress
import os
import re
import socket
import struct
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from packages.machine import Machine

#: For documentation and tests: no machine has them.
ISLAND, STORE = "192.0.2.1", "192.0.2.2"
NAME = "store.island.test"
PORT = 10443
_libc = ctypes.CDLL(None, use_errno=True)
_SOL_PACKET, _PACKET_STATISTICS, _ETH_P_ALL, _SO_RCVBUFFORCE = 263, 6, 0x0003, 33
#: What strace writes of a call that names an address of IP.
_CALL = re.compile(
    r"(connect|sendto|sendmsg|sendmmsg)\(.*?sin6?_port=htons\((\d+)\)"
    r'.*?(?:inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)")'
)


@dataclass
class Watch:
    """What has been seen on the island."""

    packets: Counter[str] = field(default_factory=Counter)  #: to or from elsewhere, by what they are
    seen: int = 0  #: packets in all
    dropped: int = 0  #: which were not looked at, so that the count would be worth nothing
    questions: list[str] = field(default_factory=list)  #: names that the resolver was asked for


@contextmanager
def inside(machine: Machine) -> Iterator[None]:
    """Be in the network of a machine: sockets that are opened stay in it."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    other = os.open(f"/proc/{machine.process}/ns/net", os.O_RDONLY)
    try:
        assert _libc.setns(other, 0) == 0, os.strerror(ctypes.get_errno())
        yield
    finally:
        assert _libc.setns(own, 0) == 0
        os.close(own)
        os.close(other)


def join(island: Machine, store: Machine) -> None:
    """Lay a wire between the two. Neither has another route; the resolver is at the store's end."""

    def ip(machine: Machine | None, *words: str) -> None:
        line = ["nsenter", "-t", str(machine.process), "-n"] if machine else []
        subprocess.run([*line, "ip", *words], check=True)

    ends = ["netns", str(island.process), "type", "veth", "peer", "name", "wire", "netns", str(store.process)]
    ip(None, "link", "add", "wire", *ends)
    for machine, address in ((island, ISLAND), (store, STORE)):
        ip(machine, "address", "add", f"{address}/24", "dev", "wire")
        ip(machine, "link", "set", "wire", "up")
        machine.write("/etc/hosts", f"127.0.0.1 localhost\n{STORE} {NAME}\n")
    # Whoever asks for a name is heard.
    island.write("/etc/resolv.conf", f"nameserver {STORE}\noptions timeout:1 attempts:1\n")


@contextmanager
def watched(island: Machine, store: Machine) -> Iterator[Watch]:
    """Count packets on the island's end of the wire, and questions to the resolver at the other."""
    watch, over = Watch(), threading.Event()
    with inside(island):
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL))
        tap.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 256 << 20)
        tap.bind(("wire", _ETH_P_ALL))
    with inside(store):
        resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        resolver.bind((STORE, 53))
    threads = [
        threading.Thread(target=_count, args=(tap, watch, over)),
        threading.Thread(target=_answer, args=(resolver, watch, over)),
    ]
    for thread in threads:
        thread.start()
    try:
        yield watch
    finally:
        over.set()
        for thread in threads:
            thread.join()
        _, watch.dropped = struct.unpack("II", tap.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
        tap.close()
        resolver.close()


def _count(tap: socket.socket, watch: Watch, over: threading.Event) -> None:
    tap.settimeout(0.2)
    while True:
        try:
            head, (_, protocol, *_) = tap.recvfrom(64)
        except TimeoutError:
            if over.is_set():
                return
            continue
        watch.seen += 1
        what = foreign(protocol, head)
        if what:
            watch.packets[what] += 1


def foreign(protocol: int, head: bytes) -> str:
    """Name a packet that has nothing to do with the endpoint; nothing for one that has.

    >>> foreign(0x0806, b"")
    ''
    >>> foreign(0x0800, bytes([0x45, *range(8), 17, 0, 0, 192, 0, 2, 1, 8, 8, 8, 8, 0, 1, 0, 53]))
    'protocol 17 from 192.0.2.1 to 8.8.8.8 port 53'
    """
    if protocol == 0x0806:
        return ""  # Who has the endpoint's address: asked of the wire.
    if protocol == 0x86DD:
        # The kernel itself tells its neighbours that it is there.
        return "" if head[6] in (0, 58) and head[24] == 0xFF else "IPv6"
    if protocol != 0x0800:
        return f"of type {protocol:#06x}"
    source, target = (ipaddress.ip_address(head[at : at + 4]) for at in (12, 16))
    after = 4 * (head[0] & 15)
    ports = struct.unpack("!HH", head[after : after + 4]) if head[9] in (6, 17) else (0, 0)
    to_store = (str(target), ports[1]) == (STORE, PORT)
    from_store = (str(source), ports[0]) == (STORE, PORT)
    if head[9] == 6 and (to_store or from_store):
        return ""
    return f"protocol {head[9]} from {source} to {target} port {ports[1]}"


def _answer(resolver: socket.socket, watch: Watch, over: threading.Event) -> None:
    """Note every question, and answer that there is no such name."""
    resolver.settimeout(0.2)
    while not over.is_set():
        try:
            question, asker = resolver.recvfrom(512)
        except TimeoutError:
            continue
        labels, at = [], 12
        while at < len(question) and question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode(errors="replace"))
            at += 1 + question[at]
        watch.questions.append(".".join(labels))
        resolver.sendto(question[:2] + b"\x81\x83" + question[4:], asker)


def tried(log: Path) -> tuple[Counter[str], int]:
    """Return what calls in a log tried to reach besides this machine and the endpoint, and their number."""
    found: Counter[str] = Counter()
    total = 0
    with log.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            for call, port, four, six in _CALL.findall(line):
                total += 1
                address = ipaddress.ip_address(four or six)
                if address.is_loopback or (str(address), int(port)) == (STORE, PORT):
                    continue
                found[f"{call} {address} port {port}"] += 1
    return found, total
