"""What makes the packages, as far as it needs no packages; `make test-packages` tries those."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import haulage

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"


def script(name: str) -> dict[str, object]:
    return runpy.run_path(str(PACKAGING / name))


def test_the_version_stands_in_one_place() -> None:
    said = subprocess.run(
        [sys.executable, PACKAGING / "release.py", "version"], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == haulage.__version__
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]
    for crate in (ROOT / "crates").glob("*/Cargo.toml"):
        assert tomllib.loads(crate.read_text())["package"]["version"] == {"workspace": True}, crate
    recipes = [path for path in PACKAGING.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for path in recipes:
        assert not re.search(
            rf"\b{re.escape(haulage.__version__)}\b", path.read_text().replace("0.1.0]", "")
        ), path


def test_the_changelog_has_notes_on_this_version() -> None:
    said = subprocess.run(
        [sys.executable, PACKAGING / "release.py", "notes"], capture_output=True, text=True, check=True
    )
    assert "haul cp" in said.stdout


def test_changes_that_are_not_released_can_be_collected(tmp_path: Path) -> None:
    release = script("release.py")
    release["entries"](ROOT / "changes")  # type: ignore[operator]
    (tmp_path / "README.md").write_text("What this is.\n")
    for text in ("", "Better hints.\n", "Added a\nb\nc\nd.\n"):
        (tmp_path / "wrong.md").write_text(text)
        with pytest.raises(ValueError, match=r"wrong\.md"):
            release["entries"](tmp_path)  # type: ignore[operator]


def test_a_release_has_its_changes_below_its_date() -> None:
    collected = script("release.py")["collected"]
    changelog = "# Changelog\n\n## [Unreleased] 1.0.0\n\nThe first.\n"
    for version, date, changes in [
        ("1.0.0", "2027-01-31", ["Fixed b.", "Added a,\nand c."]),
        ("1.1.0", "2027-02-28", ["Removed a."]),
        ("1.1.1", "2027-03-31", []),
    ]:
        changelog = collected(changelog, version, date, changes)  # type: ignore[operator]
    assert changelog.split("\n\n") == [
        "# Changelog",
        "## [1.1.1] - 2027-03-31",
        "## [1.1.0] - 2027-02-28",
        "### Changes",
        "- Removed a.",
        "## [1.0.0] - 2027-01-31",
        "The first.",
        "### Changes",
        "- Added a,\n  and c.\n- Fixed b.\n",
    ]


@pytest.mark.parametrize("page", ["notes", "changelog", "readme"])
def test_pages_in_packages_read_without_the_sources(page: str) -> None:
    """They have no comments of tests, no links to pages that are not there, and no targets of make."""
    command = [sys.executable, str(PACKAGING / "release.py"), page]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert len(said.splitlines()) > 20
    assert "<!--" not in said
    assert re.findall(r"\]\((?!https?://)[^)]*\)", said) == []
    if page == "readme":
        assert re.findall(r"^    make |`make ", said, re.MULTILINE) == []
        assert "THIRD-PARTY-NOTICES" in said
        assert "haul cp model-output az://climate/cmip6/" in said


def test_the_hint_of_the_command_alone_installs_from_the_wheel(tmp_path: Path) -> None:
    """No index has the package, so the hint names the wheel; it is run here with a small one."""
    source = (ROOT / "crates/haulage-cli/src/python.rs").read_text()
    (said,) = re.findall(r'format!\("(pip install .*)"\)', source)
    line = said.replace('\\"', '"').replace("{extra}", "lab")
    for folder in (ROOT / "packaging/release.py", ROOT / "docs/guides/install.md"):
        assert line.replace("[lab]", "[all]") in folder.read_text(), folder
    with zipfile.ZipFile(tmp_path / "haulage-0.0.1-py3-none-any.whl", "w") as wheel:
        about = "haulage-0.0.1.dist-info"
        wheel.writestr("haulage_small.py", "")
        wheel.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: haulage\nVersion: 0.0.1\nProvides-Extra: lab\n"
        )
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PIP_NO_INDEX": "1",
        "PIP_TARGET": str(tmp_path / "into"),
        "PIP_CONFIG_FILE": "/dev/null",
        "HOME": str(tmp_path),
    }
    line = line.replace("pip ", f"{sys.executable} -m pip ", 1)
    ran = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "into/haulage_small.py").exists()


def test_all_is_every_extra_that_people_use() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = re.fullmatch(r"haulage\[(.+)\]", everything)
    assert named is not None
    assert set(named[1].split(",")) == set(extras) - {"all", "dev", "test"}
    listed = (ROOT / "docs/guides/install.md").read_text()
    for extra in set(extras) - {"dev", "test"}:
        assert f"`{extra}`" in listed, extra


def a_wheel(folder: Path) -> Path:
    wheel = folder / "thing-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as opened:
        opened.writestr("thing.py", "")
        opened.writestr(
            "thing-1.dist-info/METADATA", "Metadata-Version: 2.4\nName: thing\nVersion: 1\n\nLong."
        )
        opened.writestr(
            "thing-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        opened.writestr("thing-1.dist-info/RECORD", "thing.py,,\n")
    return wheel


def test_a_wheel_gets_manual_pages_and_notices(tmp_path: Path) -> None:
    wheel, data = a_wheel(tmp_path), tmp_path / "data"
    (data / "share/man/man1").mkdir(parents=True)
    (data / "share/man/man1/thing.1").write_text(".TH thing 1\n")
    notices = tmp_path / "NOTICES"
    notices.write_text("of others\n")
    run = [sys.executable, *map(str, (PACKAGING / "complete_wheel.py", wheel, data, notices))]
    subprocess.run(run, check=True)
    once = wheel.read_bytes()
    # Made again it is the same, and nothing stands in it twice.
    subprocess.run(run, check=True)
    assert wheel.read_bytes() == once
    # pip compares the record with what it installs.
    target = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", target], check=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        target / "bin/python",
        "install",
        "-q",
        "--no-index",
        wheel,
    ]
    subprocess.run([str(word) for word in pip], check=True)
    assert (target / "share/man/man1/thing.1").read_text() == ".TH thing 1\n"
    (kept,) = target.glob("lib/*/site-packages/thing-1.dist-info/licenses/NOTICES")
    assert kept.read_text() == "of others\n"


def test_notices_name_what_is_compiled_in_and_not_what_only_tests_it() -> None:
    linked = script("notices.py")["linked"]
    packages = [
        {"id": name, "name": name, "version": "1", "source": None if "haulage" in name else "registry"}
        for name in ("haulage-cli", "ring", "cc", "proptest")
    ]
    kinds = {"ring": None, "cc": "build", "proptest": "dev"}
    needs = [{"pkg": name, "dep_kinds": [{"kind": kind}]} for name, kind in kinds.items()]
    nodes = [{"id": "haulage-cli", "deps": needs}, *({"id": name, "deps": []} for name in kinds)]
    found = linked({"packages": packages, "resolve": {"nodes": nodes}})  # type: ignore[operator]
    assert [package["name"] for package in found] == ["ring"]


def test_a_program_that_needs_a_newer_glibc_is_refused() -> None:
    python = str(Path(sys.executable).resolve())
    run = [sys.executable, str(PACKAGING / "symbols.py"), "--glibc"]
    assert subprocess.run([*run, "2.2", "/bin/sh"], capture_output=True, check=False).returncode == 1
    assert subprocess.run([*run, "9.9", "/bin/sh"], capture_output=True, check=False).returncode == 0
    assert b"needs glibc" in subprocess.run([*run, "9.9", python], capture_output=True, check=False).stdout


@pytest.mark.parametrize(
    "name", sorted(path.relative_to(ROOT).as_posix() for path in PACKAGING.rglob("*.sh"))
)
def test_scripts_parse(name: str) -> None:
    subprocess.run(["sh", "-n", ROOT / name], check=True)


def test_the_installer_says_how_it_is_used(tmp_path: Path) -> None:
    install = PACKAGING / "carry/install.sh"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", install, *words], capture_output=True, text=True, check=False, cwd=tmp_path
        )

    assert "Usage: sh install.sh" in run("--help").stdout
    assert (run().returncode, run("--nothing", "here").returncode, run("a", "b").returncode) == (2, 1, 1)
    assert "no such option: --nothing" in run("--nothing").stderr
