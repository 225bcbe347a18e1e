"""The wheel: what is in it, and that it installs with nothing but pip on a machine without compilers."""

from __future__ import annotations

import base64
import csv
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from haulage import __version__
from packages import jobs
from packages.machine import PACKAGES, ROOT, Machine

pytestmark = [pytest.mark.packages, pytest.mark.timeout(600)]

VENV = "/venv/bin"


@pytest.fixture(scope="module")
def wheel() -> Path:
    return next(PACKAGES.glob("haulage-*.whl"))


@pytest.fixture(scope="module")
def installed(bookworm: Machine) -> Machine:
    bookworm("python3 -m venv /venv && /venv/bin/pip install -q --no-index -f /packages haulage")
    return bookworm


def test_its_name_says_where_it_runs(wheel: Path) -> None:
    assert wheel.name == f"haulage-{__version__}-cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"


def test_it_needs_no_newer_glibc_than_it_says(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        engine = opened.extract("haulage/_engine.abi3.so", tmp_path)
    check = [sys.executable, str(ROOT / "packaging/symbols.py"), "--glibc", "2.17", engine]
    ran = subprocess.run(check, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_the_record_holds(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        assert len(names) == len(set(names))
        (record,) = [name for name in names if name.endswith(".dist-info/RECORD")]
        rows = {row[0]: row[1:] for row in csv.reader(opened.read(record).decode().splitlines())}
        assert set(rows) == set(names)
        for name in names:
            if name != record:
                content = opened.read(name)
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
                assert rows[name] == [f"sha256={digest}", str(len(content))], name


def test_everything_is_in_it_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        metadata = opened.read(f"haulage-{__version__}.dist-info/METADATA").decode()
    package = ROOT / "python/haulage"
    sources = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    ours = {path.relative_to(package.parent).as_posix() for path in sources if path.suffix != ".so"}
    assert ours <= names, ours - names
    about = f"haulage-{__version__}.dist-info/"
    assert {f"{about}licenses/LICENSE", f"{about}licenses/THIRD-PARTY-NOTICES"} <= names
    assert "License-File: THIRD-PARTY-NOTICES" in metadata
    data = f"haulage-{__version__}.data/data/share/"
    others = {name for name in names - ours if not name.startswith((about, data))}
    assert others == {"haulage/_engine.abi3.so"}, others
    assert {f"{data}man/man1/haul.1", f"{data}bash-completion/completions/haul"} <= names
    assert not [name for name in names if "test" in Path(name).name.lower() or name.endswith(".pyc")]
    assert wheel.stat().st_size < 20 << 20
    with zipfile.ZipFile(wheel) as opened:
        parts = opened.read(f"{about}sboms/haulage-python.cyclonedx.json").decode()
    assert "file:///haulage/crates/" in parts
    assert str(ROOT) not in parts


def test_it_does_the_main_job(installed: Machine) -> None:
    jobs.has_no_compilers(installed)
    assert installed(f"{VENV}/haul --version").out == f"haul {__version__}\n"
    assert installed(f"{VENV}/pip check").out == "No broken requirements found.\n"
    jobs.main_job(installed, path=VENV)
    moved = installed([f"{VENV}/python", "-c", PYTHON])
    assert moved.out == "172\n"


PYTHON = """
import os
from haulage import copy, make_container
from haulage.emulator import Emulator
with Emulator() as emulator:
    os.environ["AZURE_STORAGE_CONNECTION_STRING"] = emulator.connection_string
    make_container("az://demo")
    print(copy("/data", "az://demo/python").objects_done)
"""


def test_its_manual_pages_are_found_through_path(installed: Machine) -> None:
    found = installed("man -P cat haul-cp", env={"PATH": f"{VENV}:{installed.environment['PATH']}"})
    assert "--block-size" in found.out


def test_uninstalling_it_leaves_nothing(installed: Machine) -> None:
    installed(f"{VENV}/pip uninstall -q -y haulage")
    assert installed("find /venv -iname '*haul*'").out == ""
