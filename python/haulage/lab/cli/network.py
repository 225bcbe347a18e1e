"""A network of its own for this process, in which links of packets begin."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import sys
from pathlib import Path

from haulage.errors import UnsupportedError
from haulage.lab.target import Target

#: From linux/sockios.h and linux/if.h.
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK, _IFF_UP = 0x8913, 0x8914, 0x8916, 0x891C, 1
#: Set where the process has one already.
_INSIDE = "HAUL_LAB_NETWORK"


def own_network(target: Target) -> None:
    """Begin this command anew in a network namespace of its own if the target needs one; else return.

    Everything else stays as it is: files, the terminal, the process.

    Raises:
        UnsupportedError: No ``unshare`` here, which makes it.
    """
    if not target.of_packets:
        return
    if _INSIDE in os.environ:
        _loopback()
        return
    unshare = shutil.which("unshare")
    if unshare is None:
        raise UnsupportedError("run", target.text, "no command unshare", "install util-linux; needs Linux")
    words = [unshare, "--net"]
    if os.geteuid() != 0:
        # Where such namespaces are allowed, their user may make networks.
        words += ["--user", "--map-root-user"]
    sys.stdout.flush()
    sys.stderr.flush()
    line = [*words, sys.executable, "-m", "haulage", *sys.argv[1:]]
    os.execve(unshare, line, {**os.environ, _INSIDE: str(Path("/proc/self/ns/net").readlink())})


def _loopback() -> None:
    """Set up the loopback of a new network with one address; links of packets have the others."""
    name, family = b"lo".ljust(16, b"\0"), struct.pack("=HH", socket.AF_INET, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        (flags,) = struct.unpack_from("=H", fcntl.ioctl(line, _SIOCGIFFLAGS, name.ljust(40, b"\0")), 16)
        if flags & _IFF_UP:
            return  # Somebody uses it.
        for request, value in (
            (_SIOCSIFADDR, family + socket.inet_aton("127.0.0.1")),
            (_SIOCSIFNETMASK, family + socket.inet_aton("255.255.255.255")),
            (_SIOCSIFFLAGS, struct.pack("=H", _IFF_UP)),
        ):
            fcntl.ioctl(line, request, (name + value).ljust(40, b"\0"))
