"""What each test costs: one that works for five seconds or waits for ten and does not say why fails in CI.

Seconds are those of the processors, of the test and its children, or those in which it waited: time in which
the machine had more to do than processors is not its own, and work in it is counted for less. Fixtures that
several tests share are left out. With `HAUL_TEST_COSTS` set, a line for each test and each shared fixture is
added to that file: CPU seconds, wall seconds, name.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

MOST_SECONDS = 5.0
#: Waiting is measured worse than work: beside others, a test waits for more than it asked for.
MOST_WAITING_SECONDS = 10.0
#: How much longer the same work takes while all processors are wanted: they share caches and cores.
BESIDE_OTHERS = 1.5
#: Microseconds in which some process of this machine wanted a processor and had none.
PRESSURE = Path("/proc/pressure/cpu")


class Clock:
    """Seconds of this process and its children, of the wall, and those in which processors were short."""

    def __init__(self) -> None:
        times = os.times()
        self.cpu = times.user + times.system + times.children_user + times.children_system
        self.wall = time.monotonic()
        self.short = _pressed()

    def since(self, earlier: Clock) -> tuple[float, float, float]:
        """Return the differences to an earlier one."""
        return self.cpu - earlier.cpu, self.wall - earlier.wall, self.short - earlier.short


def _pressed() -> float:
    try:
        return int(PRESSURE.read_text().split("total=", 1)[1].split()[0]) / 1e6
    except (OSError, IndexError, ValueError):
        return 0.0


#: What fixtures of more than one test have taken since the test began.
_shared = [0.0, 0.0, 0.0]


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
    """Take out of a test's cost what is set up for others too."""
    if fixturedef.scope == "function":
        return (yield)
    began, before = Clock(), list(_shared)
    try:
        return (yield)
    finally:
        # A shared fixture that asks for another one is not counted twice.
        spent = Clock().since(began)
        _shared[:] = [earlier + more for earlier, more in zip(before, spent, strict=True)]
        _keep(*spent[:2], f"{fixturedef.baseid}::{fixturedef.argname} (fixture)")


def _keep(cpu: float, wall: float, name: str) -> None:
    if kept := os.environ.get("HAUL_TEST_COSTS"):
        # In the sandbox of hostile tests nothing can be written.
        with suppress(OSError), open(kept, "a") as file:  # noqa: PTH123  tests patch Path.open
            file.write(f"{cpu:.2f}\t{wall:.2f}\t{name}\n")


_began: dict[str, Clock] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid: str) -> None:
    """Start the clock of a test."""
    _shared[:] = [0.0, 0.0, 0.0]
    _began[nodeid] = Clock()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that passes but takes too long without a reason."""
    result = yield
    began = _began.pop(item.nodeid, None)
    if began is None:
        return result
    cpu, wall, short = (
        max(0.0, spent - shared) for spent, shared in zip(Clock().since(began), _shared, strict=True)
    )
    _keep(cpu, wall, item.nodeid)
    seconds = wall - short if wall - short > MOST_WAITING_SECONDS else cpu
    if seconds == cpu and short > wall / 2:
        seconds /= BESIDE_OTHERS
    allowed = any(item.get_closest_marker(mark) for mark in ("slow", "long", "clusters", "packages"))
    if seconds > MOST_SECONDS and not allowed and os.environ.get("CI"):
        pytest.fail(f"took {seconds:.1f} s: make it quicker, or say why not with pytest.mark.slow")
    return result
