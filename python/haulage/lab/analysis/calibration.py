"""Measures links whose rate is known, and one thing against itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def make(build: Path, seeds: int, said: Callable[[str], object]) -> tuple[str, bool]:
    raise NotImplementedError
