"""`haul doctor --project`: what is asked for against what is installed, here and on real workers of Dask."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from command import Haul
from haulage.doctor import Report, examine_project
from sentences import Sentence
from workers import cluster

HAVE = version("numpy")
#: A version that comes after any.
LATER = "9999.1"


def package(folder: Path, name: str, version: str, *requires: str, modules: tuple[str, ...] = ()) -> None:
    """Write what pip leaves of a package that is installed."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    told = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {one}" for one in requires)]
    (info / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *told, ""]))
    (info / "top_level.txt").write_text("\n".join(modules))


def examine(haul: Haul, file: Path, *args: str | Path, code: int, env: Mapping[str, str] = {}) -> Report:
    """Run the command, and return its report as Python has it."""
    from haulage.doctor import Finding

    ran = haul("doctor", "--project", file, *args, "--json", code=code, env=env)
    told = ran.events[-1]
    findings = tuple(Finding(**one) for one in told["findings"])
    return Report(told["target"], findings, told["seconds"], told["made"], told["corrected"])


def faults(report: Report) -> dict[str, str]:
    """Return what is wrong by name: the check and the level."""
    return {
        str(one.values["name"]): f"{one.check} {one.level}"
        for one in report.findings
        if one.level != "ok" and "name" in one.values
    }


@pytest.fixture
def haul(tmp_path: Path) -> Haul:
    return Haul(tmp_path, {}, [], loaded=True)


def test_requirements_with_what_they_include(haul: Haul, tmp_path: Path, sentence: Sentence) -> None:
    (tmp_path / "more.txt").write_text("pyarrow>=1\nnot-there-at-all==1.0  # a comment\n")
    (tmp_path / "bounds.txt").write_text(f"xarray>={LATER}\n")
    file = tmp_path / "requirements.txt"
    file.write_text(
        "# for the model\n"
        "--prefer-binary\n"
        f"numpy>={LATER} \\\n    --hash=sha256:{'0' * 64}\n"
        "xarray[io]\n"
        'pywin32>=300; sys_platform == "win32"\n'
        "-r more.txt\n"
        "-c bounds.txt\n"
        "packaging @ https://example.org/packaging.whl\n"
        "./wheels/other.whl\n"
    )
    report = examine(haul, file, code=1)
    assert faults(report) == {
        "numpy": "project.version fault",
        "xarray": "project.version fault",
        "not-there-at-all": "project.missing fault",
    }
    numpy = report.of("fault")[0]
    assert numpy.text == f"numpy>={LATER} (requirements.txt:3): {HAVE} is installed here"
    sentence(numpy.hint)
    unread = report.find("project.unread")
    assert unread is not None
    assert unread.text.startswith("requirements.txt:10: ./wheels/other.whl")
    assert report.corrected is not None
    assert report.corrected.splitlines() == [
        "# for the model",
        "--prefer-binary",
        f"numpy=={HAVE}",
        f"xarray[io]=={version('xarray')}",
        'pywin32>=300; sys_platform == "win32"',
        "# from more.txt:",
        "pyarrow>=1",
        "not-there-at-all==1.0  # a comment",
        "-c bounds.txt",
        "packaging @ https://example.org/packaging.whl",
        "./wheels/other.whl",
    ]


def test_pyproject_groups_and_poetry(haul: Haul, tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(
        '[project]\nname = "model"\nrequires-python = ">=3.99"\n'
        f'dependencies = ["numpy<1", "xarray>=2020", \'pandas[performance]>={LATER}; python_version>"3"\']\n'
        f'[project.optional-dependencies]\nplot = ["not-there-at-all", "duckdb>={LATER}"]\n'
        '[dependency-groups]\ndev = ["pytest<1", {include-group = "x"}]\nx = []\n'
    )
    report = examine(haul, file, code=1)
    assert faults(report) == {
        "python": "project.python fault",
        "numpy": "project.version fault",
        "pandas": "project.version fault",
        "not-there-at-all": "project.missing note",
        "duckdb": "project.version warning",
        "pytest": "project.version warning",
    }
    assert report.corrected is not None
    assert f'"numpy=={HAVE}", "xarray>=2020"' in report.corrected
    assert f"'pandas[performance]=={version('pandas')}; python_version > \"3\"'" in report.corrected
    file.write_text(
        '[tool.poetry.dependencies]\npython = "^3.8"\n'
        'numpy = "^0.3"\nxarray = {version = "~2020.1", extras = ["io"]}\npandas = "*"\n'
    )
    report = examine(haul, file, code=1)
    assert set(faults(report)) == {"numpy", "xarray"}
    # A version alone does not say of what.
    asked = {one.text.split(" (")[0] for one in report.of("fault") if one.check == "project.version"}
    assert asked == {"numpy ^0.3", "xarray ~2020.1"}
    assert report.corrected is not None
    assert f'numpy = "{HAVE}"\nxarray = {{version = "{version("xarray")}", extras' in report.corrected


def test_conda_environment(haul: Haul, tmp_path: Path) -> None:
    file = tmp_path / "environment.yml"
    file.write_text(
        "name: model\nchannels: [conda-forge]\ndependencies:\n"
        "  - python=3.8\n"
        "  - conda-forge::numpy=1.2  # pinned\n"
        "  - 'pandas >=2,<99'\n"
        "  - dask-core\n"
        "  - libnetcdf=4.9.2=nompi_h0\n"
        f"  - pip:\n    - xarray>={LATER}\n"
    )
    report = examine(haul, file, code=1)
    assert faults(report) == {
        "python": "project.python fault",
        "numpy": "project.version fault",
        "xarray": "project.version fault",
        # What is no package of Python is seen in an environment of conda only.
        "libnetcdf": "project.missing warning",
    }
    assert report.corrected is not None
    assert f"  - conda-forge::numpy={HAVE}  # pinned\n" in report.corrected
    assert f"    - xarray=={version('xarray')}\n" in report.corrected


def test_the_name_of_a_module_and_what_is_broken_below(
    haul: Haul, tmp_path: Path, sentence: Sentence
) -> None:
    there = tmp_path / "site"
    package(there, "Frozen-Sea", "2.0", "numpy<1", "gone-away>=3; extra == 'all'", modules=("frozensea",))
    file = tmp_path / "requirements.txt"
    file.write_text("frozensea>=1\nfrozen-sea[all]\n")
    report = examine(haul, file, code=1, env={"PYTHONPATH": str(there)})
    missing = report.find("project.missing")
    assert missing is not None
    sentence(missing.hint)
    needs = [one.text for one in report.of("fault") if one.check == "project.needs"]
    assert f"Frozen-Sea 2.0 needs numpy<1, and {HAVE} is installed here" in needs
    assert "Frozen-Sea 2.0 needs gone-away>=3, which is not installed here" in needs
    assert report.corrected == "Frozen-Sea==2.0\nfrozen-sea[all]\n"


@pytest.mark.slow("a cluster of Dask starts, with a worker of other packages")
def test_each_node_of_a_cluster(haul: Haul, tmp_path: Path) -> None:
    old = tmp_path / "old"
    package(old, "numpy", "1.26.4")
    package(old, "xarray", "2020.1")
    package(old, "dask", "2020.1")
    file = tmp_path / "requirements.txt"
    file.write_text(f"numpy\nxarray>=2022\npandas>={LATER}\n")
    with cluster(tmp_path / "dask", 1) as dask:
        dask.environment["PYTHONPATH"] = str(old)
        dask.start_worker("old")
        dask.wait()
        page = tmp_path / "page.html"
        report = examine(haul, file, "--scheduler", dask.address, "--html", page, code=1)
        by_file = examine_project(file, scheduler_file=dask.file)
    assert by_file.corrected == report.corrected
    versions = [one for one in report.of("fault") if one.check == "project.version"]
    xarray, pandas = versions
    assert re.fullmatch(
        r"xarray>=2022 \(requirements.txt:2\): 2020.1 is installed on tcp://127.0.0.1:\d+", xarray.text
    )
    assert pandas.values["installed"].keys() == {version("pandas")}
    assert len(pandas.values["installed"][version("pandas")]) == 3
    differs = [one.values["name"] for one in report.of("warning") if one.check == "project.differs"]
    assert differs == ["numpy", "xarray"]
    assert report.find("workers.dask") is not None
    assert report.corrected == (f"numpy\nxarray>=2020.1,<={version('xarray')}\npandas=={version('pandas')}\n")
    text = page.read_text()
    assert f"xarray&gt;=2020.1,&lt;={version('xarray')}" in text


def test_a_corrected_file_has_no_discrepancies(haul: Haul, tmp_path: Path) -> None:
    file, corrected = tmp_path / "requirements.txt", tmp_path / "corrected.txt"
    file.write_text(f"numpy>={LATER}\nxarray==0.1\nduckdb<1\npytest\n")
    examine(haul, file, "--corrected", corrected, code=1)
    again = examine(haul, corrected, code=0)
    assert again.find("project.packages") is not None
    assert again.corrected == corrected.read_text()


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("none.txt", None, 4),
        ("x.cfg", "", 2),
        ("a.toml", "[project", 2),
        ("a.yml", "{", 2),
        ("b.yml", "name: x\n", 2),
        ("r.txt", "-r gone.txt\n", 1),
    ],
)
def test_what_cannot_be_read(
    name: str, text: str | None, code: int, haul: Haul, tmp_path: Path, sentence: Sentence
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    sentence(haul("doctor", "--project", tmp_path / name, code=code).stderr)


@pytest.mark.long
def test_a_scheduler_that_is_not_there(haul: Haul, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("numpy\n")
    report = examine(haul, tmp_path / "requirements.txt", "--scheduler", "tcp://127.0.0.1:9", code=1)
    fault = report.find("workers.reached")
    assert fault is not None
    assert "dask scheduler starts one" in str(fault.hint)


@pytest.mark.parametrize(
    "args",
    [
        ("--scheduler", "tcp://a:1"),
        ("--corrected", "a"),
        ("--project", "a.txt", "az://c"),
        ("--project", "a", "--scheduler", "b", "--scheduler-file", "c"),
    ],
)
def test_usage(args: tuple[str, ...], haul: Haul) -> None:
    assert "hint" in haul("doctor", *args, code=2).stderr


def test_files_of_another_kind_are_not_replaced(haul: Haul, tmp_path: Path) -> None:
    """Whatever was there was replaced."""
    project = tmp_path / "requirements.txt"
    project.write_text("numpy<1\n")
    (tmp_path / "binary.txt").write_bytes(b"\x7fELF\0\xff")
    (tmp_path / "notes.txt").write_text("Dear diary, today\nall was well.\n")
    (tmp_path / "words.csv").write_text("numpy\n")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\ndependencies = ['numpy']\n")
    page, fresh = "name another file for the page", tmp_path / "fresh"
    hint = "name another file for the corrected one"
    other = f"what is there is not a project's file of the same kind (hint: {hint})"
    cases: list[tuple[list[str | Path], str]] = [
        (["--corrected", tmp_path / "binary.txt"], other),
        (["--corrected", tmp_path / "notes.txt"], other),
        (["--corrected", tmp_path / "words.csv"], other),
        (["--corrected", tmp_path / "pyproject.toml"], other),
        (["--html", tmp_path / "notes.txt"], f"what is there is not a page (hint: {page})"),
        (["--html", project], f"this is what is read (hint: {page})"),
        (["--html", fresh, "--corrected", fresh], "name the same file (hint: name two different files)"),
    ]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for options, said in cases:
        assert said in haul("doctor", "--project", project, *options, code=2).stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    for corrected in (fresh, fresh, project):
        options = ["--corrected", corrected, "--html", tmp_path / "page"]
        haul("doctor", "-q", "--project", project, *options, code=1)
        assert corrected.read_text() == f"numpy=={HAVE}\n"


def test_json_holds_the_corrected_file(haul: Haul, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("numpy<1\n")
    ran = haul("doctor", "--project", tmp_path / "requirements.txt", "--json", code=1)
    assert json.loads(ran.stdout)["corrected"] == f"numpy=={HAVE}\n"
