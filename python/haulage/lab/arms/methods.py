"""Which arm is moved by which method."""

from __future__ import annotations

from haulage.lab.arms import Method, engine
from haulage.lab.plan import Arm


def method_of(arm: Arm) -> Method:
    """Return what moves the files of this arm."""
    return engine.move
