"""The figures of the comparison and of the README are those of the raw rows, and their commands are real."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/comparison.md"


def test_the_figures_are_those_of_the_results() -> None:
    command = [sys.executable, "comparison.py", "--check"]
    ran = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_figure_that_is_changed_by_hand_is_noticed(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    page = tmp_path / "docs/comparison.md"
    page.parent.mkdir()
    place = text.index("**", text.index("<!-- begin azure -->")) + 2
    page.write_text(text[:place] + "9" + text[place:], encoding="utf-8")
    (tmp_path / "README.md").write_text((ROOT / "README.md").read_text(encoding="utf-8"), encoding="utf-8")
    code = (
        "import comparison, pathlib, sys;"
        f"comparison.ROOT = pathlib.Path({str(tmp_path)!r}); sys.argv.append('--check');"
        "sys.exit(comparison.main())"
    )
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "docs/comparison.md" in ran.stderr
    assert "README.md" not in ran.stderr


def test_every_command_that_repeats_them_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"`make ([\w-]+)`", text)
    assert targets
    assert [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []
    listed = subprocess.run(
        [sys.executable, "run.py", "--list"],
        cwd=ROOT / "benchmarks",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    cases = re.findall(r"--only ((?:(?!--)[\w-]+ ?)+)", " ".join(text.split()))
    assert cases
    assert [name for line in cases for name in line.split() if name not in listed] == []
    for script in re.findall(r"python (benchmarks/\w+\.py)", " ".join(text.split())):
        assert (ROOT / script).is_file()


def test_the_table_of_features_is_complete() -> None:
    table = PAGE.read_text(encoding="utf-8").split("## Features")[1].split("## Speed")[0]
    rows = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) > 20
    assert {len(row) for row in rows} == {7}
    assert all(cell.strip() for row in rows[1:] for cell in row)
