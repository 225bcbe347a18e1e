"""The conformance table names every check and every store; what it says of them, `make test-rust` checks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import conformance_page
from conformance_page import apart, checks, stores


def lines(passed: bool = True, note: str = "") -> Iterator[str]:
    for check in checks():
        for store in stores():
            yield json.dumps({"check": check, "store": store, "passed": passed, "note": note})


def test_the_page_has_a_row_for_each_check_and_a_column_for_each_store() -> None:
    rows = [
        line.split(" | ") for line in conformance_page.PAGE.read_text().splitlines() if line.startswith("| ")
    ]
    (_, *named), *cells = [[cell.strip("| ") for cell in row] for row in rows]
    assert named == stores(), "run: make conformance"
    assert [title for title, *_ in cells] == list(checks().values()), "run: make conformance"
    assert all(all(row) and len(row) == len(stores()) + 1 for row in cells)


def test_the_suite_is_read() -> None:
    assert len(checks()) > 15
    assert {"memory", "folder", "emulator, memory", "Azurite"} <= set(stores())


def test_every_cell_is_told_and_notes_stand_in_place_of_yes() -> None:
    found = conformance_page.cells(lines())
    assert list(conformance_page.missing(found)) == []
    text = conformance_page.renewed(conformance_page.PAGE.read_text(), found)
    assert text.count("| yes ") == len(checks()) * len(stores())
    assert conformance_page.renewed(text, found) == text
    assert "| in part |" in conformance_page.renewed(text, conformance_page.cells(lines(note="in part")))


def test_what_failed_or_was_not_run_is_told() -> None:
    failed = list(conformance_page.missing(conformance_page.cells(lines(passed=False))))
    assert f"{next(iter(checks()))} failed on {stores()[0]}" in failed
    assert len(failed) == len(list(conformance_page.missing({}))) == len(checks()) * len(stores())


def test_only_what_is_run_apart_may_be_missing_and_keeps_its_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert apart() == {"MinIO"}
    page = tmp_path / "page.md"
    whole = [json.loads(line) for line in lines()]
    for one in whole:
        one["note"] = "in its way" if one["store"] == "MinIO" else ""
    text = conformance_page.PAGE.read_text()
    page.write_text(conformance_page.renewed(text, conformance_page.cells(map(json.dumps, whole))))
    monkeypatch.setattr(conformance_page, "PAGE", page)

    def check(left_out: str, note: str = "") -> int:
        kept = [one | {"note": note or one["note"]} for one in whole if one["store"] != left_out]
        (tmp_path / "found.jsonl").write_text("".join(json.dumps(one) + "\n" for one in kept))
        monkeypatch.setattr("sys.argv", ["page", "--check", str(tmp_path)])
        return conformance_page.main()

    assert check("") == check("MinIO") == 0
    assert check("versitygw") == 1
    assert f"{next(iter(checks()))} was not run on versitygw" in capsys.readouterr().err
    assert check("MinIO", "otherwise") == 1
    monkeypatch.setattr("sys.argv", ["page", str(tmp_path)])
    assert conformance_page.main() == 1, "a page is written only of all of them"
