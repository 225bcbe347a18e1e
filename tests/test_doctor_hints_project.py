"""Every hint of `haul doctor --project`, each reached by what calls for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from command import Haul
from doctor_asked import Asked, said
from haulage.doctor import examine_project
from haulage.doctor.asking import Answer
from haulage.doctor.project import ProjectExamination
from haulage.doctor.project.findings import of_packages, of_workers
from haulage.doctor.project.inventory import inventory
from haulage.doctor.project.reading import parse
from haulage.errors import UnsupportedError, UsageError


def hints(name: str, text: str) -> list[str]:
    """Return what is said of a file that somebody has sent."""
    asked = Asked(inventory_here={**inventory(), "modules": {}})
    examination = ProjectExamination(Path(name), asked, 5.0, None, None, text)
    return said(examination.run())


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("r.txt", "numpy >< 1\n", "write NAME, NAME==1.2 or NAME>=1.2,<2, one requirement at a time"),
        (
            "r.txt",
            "-r more.txt\n",
            "paste its contents into this file, or run haul doctor --project where the files are",
        ),
        ("r.txt", "./wheels/a.whl\n", "check it by hand, or write: NAME @ URL"),
        ("e.yml", "dependencies:\n  - '>=3'\n", "write NAME, NAME=1.2 or NAME>=1.2,<2"),
        (
            "e.yml",
            "dependencies:\n  - libnothing\n",
            "activate the conda environment and run this again; outside it only Python packages are found",
        ),
        ("e.yml", "dependencies:\n  - python=2.7\n", "use a Python of that version, or correct the file"),
        ("p.toml", '[project]\ndependencies = ["nu\\u006dpy"]\n', "write it in plain quotes"),
        (
            "p.toml",
            '[project]\ndynamic = ["dependencies"]\n',
            "name the file that the dependencies come from, such as requirements.txt",
        ),
        ("p.toml", '[project]\nrequires-python = "three"\n', 'write a version such as ">=3.11"'),
        (
            "p.toml",
            '[tool.poetry.dependencies]\nnumpy = "new"\n',
            'write a version such as "^1.2" or ">=1.2,<2"',
        ),
        (
            "p.toml",
            '[project.optional-dependencies]\nx = ["gone-away"]\n[project]\nname = "a"\n',
            "if you need it: pip install 'gone-away'",
        ),
        ("r.txt", "sklearn-not-there\nsklearn\n", "pip install 'sklearn-not-there'"),
    ],
)
def test_file(name: str, text: str, hint: str) -> None:
    assert hint in hints(name, text)


def test_a_module_is_told_by_the_name_of_its_package() -> None:
    # It is installed nowhere here under either name.
    assert "cv2 is a module of opencv-python: ask for opencv-python" in hints("r.txt", "cv2\n")


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("p.toml", "[project", "correct the file first"),
        ("p.toml", "a = 1\n", "name the file that lists what the project needs"),
        ("e.yml", "{", "correct the file first"),
        ("e.yml", "name: x\n", "name the file that lists what the project needs"),
        (
            "p.toml",
            "a = " + "[" * 5000,
            "name the project's requirements.txt, pyproject.toml or environment.yml",
        ),
    ],
)
def test_unreadable(name: str, text: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(Path(name), text)
    assert caught.value.hint == hint


def test_files_that_include_others(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("-r requirements.txt\n-r https://example.org/more.txt\n")
    found = said(examine_project(file).findings)
    assert "remove the line that includes it" in found
    assert "save it beside this file and include that" in found


def test_what_reads_files_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "requirements.txt").write_text("numpy\n")
    monkeypatch.setitem(sys.modules, "haulage.doctor.project.reading", None)
    with pytest.raises(UnsupportedError) as caught:
        examine_project(tmp_path / "requirements.txt")
    assert caught.value.hint == "pip install 'haulage[doctor]'"


def node(name: str, version: str = "1", python: str = "3.11.7", **packages: str) -> Any:
    from haulage.doctor.project.comparing import Node

    installed = {
        key: {"name": key, "version": one, "requires": []}
        for key, one in {"numpy": version, **packages}.items()
    }
    markers = {**inventory()["markers"], "python_full_version": python}
    return Node(name, {"markers": markers, "packages": installed, "conda": {}})


def test_nodes_that_differ() -> None:
    nodes = [node("here", dask="2"), node("n1", "2", "3.12.1", cloudpickle="3", dask="1")]
    found = said(of_workers(nodes))
    assert "use Python 3.11 everywhere" in found
    assert "pip install 'dask==2' on each node" in found
    assert "install cloudpickle here too" in found
    wanted = parse(Path("r.txt"), "numpy\n").wanted
    assert said(of_packages(wanted, nodes)) == ["install one version everywhere: pip install 'numpy==1'"]


@pytest.mark.parametrize(
    ("told", "hint"),
    [
        ({}, "start workers: dask worker ADDRESS"),
        ({"tcp://n1:1": {"error": "it broke"}}, "check the log of this worker"),
    ],
)
def test_clusters(told: dict[str, Any], hint: str) -> None:
    asked = Asked(inventory_of_nodes=Answer(value=told))
    examination = ProjectExamination(Path("r.txt"), asked, 5.0, "tcp://s:1", None)
    assert hint in said(examination._ask_nodes([]))


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("--scheduler", "tcp://a:1"), "name the project: --project FILE"),
        (("--project", "a.txt", "az://c"), "run haul doctor again for the URL or the job"),
        (
            ("--project", "a", "--scheduler", "b", "--scheduler-file", "c"),
            "give --scheduler or --scheduler-file, not both",
        ),
        (("--port", "8000"), "serve the page: --serve"),
        (("--serve", "--project", "a.txt"), "upload the project's file to the page instead"),
        (("--serve", "--port", "many"), "write a whole number from 0 to 65535"),
    ],
)
def test_usage(args: tuple[str, ...], hint: str, haul: Haul) -> None:
    assert hint in haul("doctor", *args, code=2).stderr
