"""A network of its own for this process, in which links of packets begin."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from haulage.errors import UnsupportedError
from haulage.lab.target import Target

#: Set where the process has one already.
_INSIDE = "HAUL_LAB_NETWORK"


def own_network(target: Target) -> None:
    """Begin this command anew in a network namespace of its own if the target needs one; else return.

    Everything else stays as it is: files, the terminal, the process.

    Raises:
        UnsupportedError: No ``unshare`` here, which makes it.
    """
    if not target.of_packets or _INSIDE in os.environ:
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
