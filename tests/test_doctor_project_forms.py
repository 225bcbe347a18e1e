"""The forms in which projects write what they need: each is read as its own tool reads it."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from doctor_asked import Asked
from haulage.doctor import Finding
from haulage.doctor.project import ProjectExamination
from haulage.doctor.project.inventory import inventory

HAVE = version("numpy")
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def examine(file: Path) -> tuple[list[str], str | None]:
    """Return what is not well of a project, and its corrected file."""
    asked = Asked(inventory_here={**inventory(), "modules": {"cv2": ["opencv-python"]}})
    examination = ProjectExamination(file, asked, 5.0, None, None)
    found: list[Finding] = [one for one in examination.run() if one.level != "ok"]
    return [f"{one.level} {one.text}" for one in found], examination.corrected


def written(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_a_constraint_counts_where_its_marker_does(tmp_path: Path) -> None:
    written(tmp_path, "deeper.txt", "xarray<1\n")
    written(
        tmp_path,
        "bounds.txt",
        f"numpy==1.24.4 ; python_version < '3.9'\nnumpy=={HAVE} ; python_version >= '3.9'\n-c deeper.txt\n",
    )
    file = written(tmp_path, "requirements.txt", "numpy\nxarray\n-c bounds.txt\n")
    found, corrected = examine(file)
    here = version("xarray")
    assert found == [f"fault xarray (requirements.txt:2): {here} is installed here"]
    assert corrected == f"numpy\nxarray=={here}\n-c bounds.txt\n"


def test_an_editable_line_that_is_a_comment(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "requirements.txt",
        "# -e git+https://example.org/model.git#egg=model\n"
        "numpy  # see git+https://example.org/x#egg=x\n"
        "-e git+https://example.org/numpy.git#egg=numpy  # ours\n",
    )
    assert examine(file) == ([], file.read_text())


def test_requirements_that_windows_has_written(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    written(tmp_path, "more.txt", "")
    (tmp_path / "more.txt").write_bytes("xarray>=1 \\\r\n  ; os_name == 'posix'\r\n".encode("utf-16"))
    file.write_bytes("numpy<1\r\n-r more.txt\r\n".encode("utf-16"))
    found, corrected = examine(file)
    assert [one.split(" (")[0] for one in found] == ["fault numpy<1"]
    assert corrected is not None
    assert corrected.startswith(f"numpy=={HAVE}\n# from more.txt:\nxarray>=1")


def test_a_pyproject_is_corrected_where_it_asks(tmp_path: Path) -> None:
    text = (
        '# dependencies = ["numpy<1"]\n'
        '[build-system]\nrequires = ["numpy<1", "setuptools"]\n'
        '[project]\nname = "sea"\nkeywords = ["cv2"]\ndescription = """numpy "numpy<1" """\n'
        'dependencies = [\n  \'numpy<1\',  # "numpy<1"\n  "xarray",\n]\n'
        '[project.optional-dependencies]\nplot = ["numpy<1"]\nall = ["Sea[plot]"]\n'
        '[tool."odd.name"]\nx = [["numpy<1"],\n  ["numpy<1"]]\n'
    )
    found, corrected = examine(written(tmp_path, "pyproject.toml", text))
    told = f"{HAVE} is installed here"
    assert found == [
        f"fault numpy<1 (pyproject.toml:9): {told}",
        f"warning numpy<1 (pyproject.toml:13, group plot): {told}",
    ]
    new = text.replace("  'numpy<1',", f"  'numpy=={HAVE}',")
    assert corrected == new.replace('plot = ["numpy<1"]', f'plot = ["numpy=={HAVE}"]')


@pytest.mark.parametrize(
    ("asked", "faults"),
    [
        ('gone-away = {version = "^2.0", python = "<3.8"}', []),
        ('gone-away = {version = "^2.0", platform = "win32"}', []),
        ("gone-away = {version = \"^2.0\", markers = \"sys_platform == 'win32' or os_name == 'nt'\"}", []),
        (f'gone-away = {{version = "*", python = "~{HERE} || <3"}}', ["fault gone-away *"]),
        (
            'numpy = [\n  {version = "<1", python = "<3.8"},\n  {version = "<2", python = ">=3.8"},\n]',
            ["fault numpy <2"],
        ),
        ('gone-away = {git = "https://example.org/gone.git", rev = "1"}', ["fault gone-away"]),
        ('numpy = {path = "../numpy", develop = true}', []),
        ('[tool.poetry.dependencies.numpy]\nversion = "^0.3"', ["fault numpy ^0.3"]),
        ('gone-away = {version = "^2.0", optional = true}', ["note gone-away ^2.0"]),
    ],
)
def test_where_poetry_needs_something(asked: str, faults: list[str], tmp_path: Path) -> None:
    head = f'[tool.poetry]\nname = "numpy"\n[tool.poetry.dependencies]\npython = ">={HERE}"\n'
    found, _ = examine(written(tmp_path, "pyproject.toml", f"{head}{asked}\n"))
    assert [one.split(" (")[0] for one in found] == faults


def test_an_extra_that_poetry_asks_for(tmp_path: Path) -> None:
    text = '[tool.poetry.dependencies]\nxarray = {version = "*", extras = ["types"]}\n'
    found, _ = examine(written(tmp_path, "pyproject.toml", text))
    assert any("needs pandas-stubs, which is not installed here" in one for one in found)


def test_versions_of_conda_that_python_does_not_know(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "environment.yml",
        "dependencies:\n  - tzdata=2024a=h0c530f3_0\n  - openssl=1.1.1w\n  - jpeg==9e=h0b41bf4_3\n"
        f"  - numpy >= 1.20 , < 99\n  - xarray == {version('xarray')}\n"
        f"  - pandas=={version('pandas')}=py_0\n",
    )
    found, _ = examine(file)
    # What is no package of Python is seen in an environment of conda only.
    assert [one.split(" (")[0] for one in found if "is not installed" not in one] == []
    assert not any("not understood" in one for one in found)
    assert {one.split("=")[0] for one in found} <= {"warning tzdata", "warning openssl", "warning jpeg"}
