"""`make must-show`: what takes a gibibyte to show."""

from __future__ import annotations

import filecmp
from pathlib import Path

import pytest

import trees
from command import Haul
from endpoints import Container

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1800)]


def test_cp_file_of_1_gib(haul: Haul, container: Container, tmp_path: Path) -> None:
    file = trees.random_file(tmp_path / "file.bin", 1 << 30)
    haul("cp", file, container.az("file.bin"), timeout=1000)
    haul("cp", container.az("file.bin"), "back.bin", timeout=1000)
    assert filecmp.cmp(file, tmp_path / "back.bin", shallow=False)
    haul("verify", file, container.az("file.bin"), timeout=1000)
