"""Fixtures of the tests of ``haul watch``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from watch.writing import InFolder


@pytest.fixture
def folder(tmp_path: Path) -> InFolder:
    """A log in a folder."""
    return InFolder(tmp_path / "log")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Debian's chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()
