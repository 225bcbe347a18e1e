"""What tests of the lab share."""

from __future__ import annotations

import fcntl
import importlib
import os
import shutil
from pathlib import Path

import pytest

from command import Haul
from lab.in_process import InProcess
from lab.reports import make_report

# By its name: the attribute `report` of the package is a function.
page = importlib.import_module("haulage.lab.report.page")


@pytest.fixture
def haul(haul: Haul, cache: Path) -> Haul:
    """The command as everywhere, with one cache for all, so that the script of charts is bundled once."""
    haul.env["XDG_CACHE_HOME"] = str(cache)
    return haul


@pytest.fixture
def in_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> InProcess:
    """The commands of the lab without a process of their own: to load their packages takes a second."""
    return InProcess(tmp_path, monkeypatch, capfdbinary)


@pytest.fixture
def without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without their charts, which take most of the time, for tests of what stands beside them."""
    monkeypatch.setattr(page, "SECTIONS", ())


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """A made-up run with its report, one for all tests of all workers: nobody writes into it."""
    base = tmp_path_factory.getbasetemp()
    # What pytest-xdist starts has a folder of its own below the one of all.
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder, scripts = shared / "reported", shared / "reported-scripts"
    # Made by the first module that asks; `costs` does not see fixtures of a session.
    with (shared / "reported.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not scripts.exists():
            make_report(folder)
            shutil.copytree(cache / "haulage/report", scripts)
    # The script of charts takes two seconds to bundle.
    shutil.copytree(scripts, cache / "haulage/report", dirs_exist_ok=True)
    return folder
