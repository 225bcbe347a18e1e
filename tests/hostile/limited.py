"""Run a command within bounds and write what it took: `limited.py REPORT SECONDS COMMAND [ARGUMENT...]`.

The report is a line: exit code (negative for a signal), peak memory in KiB, seconds. A process of its own,
because the kernel counts what a parent held when it started a child as memory of the child.

When the time is up, what the command and its service, a thread of the parent of this process, have waited
for a processor does not count, up to `MOST` times as long: a busy machine is no command that hangs.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
from types import FrameType

#: Threads reserve much more than they touch. What asks for more than this is stopped, for the machine's sake.
ADDRESS_SPACE = 3 << 30
#: A service may claim any size of a blob, and a file of that size would fill the disk. Python ignores the
#: signal of this bound, and so does what it starts: the call fails.
FILE_SIZE = 1 << 30
#: A command has ended after so many times its seconds, however busy the machine is.
MOST = 10


def waits(process: int) -> dict[str, int]:
    """Return for how long each thread of a process was ready and had no processor, in nanoseconds."""
    found = {}
    try:
        for task in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208 - as below
            with open(f"/proc/{process}/task/{task}/schedstat") as file:  # noqa: PTH123
                found[task] = int(file.read().split()[1])
    except (OSError, IndexError):
        # It has ended meanwhile, or nobody counts.
        pass
    return found


def main() -> int:
    report, seconds, command = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    began, service = time.monotonic(), os.getppid()
    before, starved = waits(service), 0.0
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.execv(command[0], command)

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal starved
        here = max(waits(child).values(), default=0)
        there = max((waited - before.get(task, 0) for task, waited in waits(service).items()), default=0)
        taken = time.monotonic() - began
        starved = min((here + there) / 1e9, taken)
        left = min(seconds - (taken - starved), MOST * seconds - taken)
        if left > 0:
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.01))
        else:
            # It may have ended just now.
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    with open(report, "w") as file:  # noqa: PTH123 - pathlib takes longer to import than all the rest
        file.write(f"{code} {used.ru_maxrss} {time.monotonic() - began - starved}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
