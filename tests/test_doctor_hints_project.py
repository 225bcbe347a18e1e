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
from sentences import Sentence


def hints(name: str, text: str) -> list[str]:
    """Return what is said of a file that somebody has sent."""
    asked = Asked(inventory_here={**inventory(), "modules": {}})
    examination = ProjectExamination(Path(name), asked, 5.0, None, None, text)
    return said(examination.run())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.txt", "numpy >< 1\n"),
        ("r.txt", "-r more.txt\n"),
        ("r.txt", "./wheels/a.whl\n"),
        ("e.yml", "dependencies:\n  - '>=3'\n"),
        ("e.yml", "dependencies:\n  - libnothing\n"),
        ("e.yml", "dependencies:\n  - python=2.7\n"),
        ("p.toml", '[project]\ndependencies = ["nu\\u006dpy"]\n'),
        ("p.toml", '[project]\ndynamic = ["dependencies"]\n'),
        ("p.toml", '[project]\nrequires-python = "three"\n'),
        ("p.toml", '[tool.poetry.dependencies]\nnumpy = "new"\n'),
        ("p.toml", '[project.optional-dependencies]\nx = ["gone-away"]\n[project]\nname = "a"\n'),
        ("r.txt", "sklearn-not-there\nsklearn\n"),
    ],
)
def test_file(name: str, text: str, sentence: Sentence) -> None:
    sentence(hints(name, text))


def test_a_module_is_told_by_the_name_of_its_package(sentence: Sentence) -> None:
    # It is installed nowhere here under either name.
    sentence(hints("r.txt", "cv2\n"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.toml", "[project"),
        ("p.toml", "a = 1\n"),
        ("e.yml", "{"),
        ("e.yml", "name: x\n"),
        ("p.toml", "a = " + "[" * 5000),
    ],
)
def test_unreadable(name: str, text: str, sentence: Sentence) -> None:
    with pytest.raises(UsageError) as caught:
        parse(Path(name), text)
    sentence(caught.value)


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


def test_nodes_that_differ(sentence: Sentence) -> None:
    nodes = [node("here", dask="2"), node("n1", "2", "3.12.1", cloudpickle="3", dask="1")]
    found = said(of_workers(nodes))
    assert "use Python 3.11 everywhere" in found
    assert "pip install 'dask==2' on each node" in found
    assert "install cloudpickle here too" in found
    wanted = parse(Path("r.txt"), "numpy\n").wanted
    sentence(said(of_packages(wanted, nodes)))


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"tcp://n1:1": {"error": "it broke"}},
    ],
)
def test_clusters(told: dict[str, Any], sentence: Sentence) -> None:
    asked = Asked(inventory_of_nodes=Answer(value=told))
    examination = ProjectExamination(Path("r.txt"), asked, 5.0, "tcp://s:1", None)
    sentence(said(examination._ask_nodes([])))


@pytest.mark.parametrize(
    "args",
    [
        ("--scheduler", "tcp://a:1"),
        ("--project", "a.txt", "az://c"),
        ("--project", "a", "--scheduler", "b", "--scheduler-file", "c"),
        ("--port", "8000"),
        ("--serve", "--project", "a.txt"),
        ("--serve", "--port", "many"),
    ],
)
def test_usage(args: tuple[str, ...], haul: Haul, sentence: Sentence) -> None:
    sentence(haul("doctor", *args, code=2).stderr)
