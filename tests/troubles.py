"""What befalls a run besides its link: no room, no permission, another time of day, no server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from endpoints import Emulator

#: Somebody who is not root, so that permissions hold.
NOBODY = 65534
CLOCK = Path(__file__).with_name("clock.c")


@dataclass
class Trouble:
    """One thing that happens amid a run, and how it is mended before the next."""

    strike: Callable[[], object]
    mend: Callable[[], object]
    wrap: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)


def full(back: Path, source: Path) -> Trouble:  # noqa: ARG001
    """Half of the tree fills the disk at the destination."""
    back.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(back)], check=True)
    larger = ["mount", "-o", "remount,size=200m", str(back)]
    return Trouble(lambda: None, lambda: subprocess.run(larger, check=True))


def denied(back: Path, source: Path) -> Trouble:
    """Folders may no longer be written, or entered, by the one who runs the mover."""
    back.mkdir()
    for path in (back, back.parent):
        os.chown(path, NOBODY, NOBODY)
    back.parent.parent.chmod(0o755)

    def allow(*, written: bool) -> None:
        for folder in [back, *(path for path in back.rglob("*") if path.is_dir())]:
            folder.chmod(0o755 if written else 0o555)
        for folder in (path for path in source.iterdir() if path.is_dir()):
            folder.chmod(0o755 if written else 0o000)

    someone = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return Trouble(lambda: allow(written=False), lambda: allow(written=True), someone)


def clock(back: Path, source: Path) -> Trouble:  # noqa: ARG001
    """The time of day of the mover jumps by two hours, and back."""
    shim, jump = back.parent / "clock.so", back.parent / "clock"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(shim), str(CLOCK)], check=True)
    jump.write_text("0")
    env = {"LD_PRELOAD": str(shim), "TEST_CLOCK": str(jump)}
    return Trouble(lambda: jump.write_text("7200"), lambda: jump.write_text("0"), env=env)


def restart(server: Emulator) -> Trouble:
    """The server is killed and comes back."""
    return Trouble(server.restart, lambda: None)
