"""Fixtures of the tests of ``haul watch``."""

from __future__ import annotations

from pathlib import Path

import pytest

from watch.writing import InFolder


@pytest.fixture
def folder(tmp_path: Path) -> InFolder:
    """A log in a folder."""
    return InFolder(tmp_path / "log")
