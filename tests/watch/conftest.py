"""Fixtures of the tests of ``haul watch``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from watch import queueing
from watch.queueing import Queues
from watch.writing import InFolder


@pytest.fixture
def folder(tmp_path: Path) -> InFolder:
    """A log in a folder."""
    return InFolder(tmp_path / "log")


@pytest.fixture(scope="session")
def queues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Queues]:
    with queueing.azurite(tmp_path_factory.mktemp("queues")) as service:
        yield service
