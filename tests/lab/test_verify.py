"""`verify` notices when the raw files, a query, a result or the page is not what it was."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from haulage.errors import NotFoundError
from haulage.lab import store
from haulage.lab.analysis import query
from haulage.lab.report import Check, verify
from lab.reports import copied, make_report, make_run, rewritten


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_report(tmp_path_factory.mktemp("verify") / "run", attempts=600)


@pytest.fixture
def run(report: Path, tmp_path: Path) -> Path:
    return copied(report, tmp_path / "run")


def failed(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.detail for check in checks if not check.ok}


def test_an_untouched_run_passes_and_is_not_changed(run: Path) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    checks = verify(run)
    assert failed(checks) == {}
    names = {check.name for check in checks}
    assert {
        "cells.parquet",
        "attempts.parquet",
        "result ledger",
        "result comparisons",
        "report.html",
    } <= names
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_one_changed_row_is_noticed(run: Path) -> None:
    rewritten(
        run / "cells.parquet",
        lambda database: database.execute("update rows set wall_ns = wall_ns - 1000 where cell = 7"),
    )
    found = failed(verify(run))
    assert "is not" in found["cells.parquet"]
    assert "cells.parquet is not the file that was read" in found["result rates"]
    assert "gives other rows" in found["result cells_in_order"]


def test_a_changed_row_is_noticed_though_the_manifest_was_made_to_fit(run: Path) -> None:
    path = run / "cells.parquet"
    rewritten(path, lambda database: database.execute("update rows set bytes = bytes * 2 where cell = 7"))
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["files"]["cells.parquet"]["sha256"] = store.sha256(path)
    (run / "manifest.json").write_text(json.dumps(manifest))
    found = failed(verify(run))
    assert "cells.parquet" not in found
    assert "gives other rows" in found["result cells_in_order"]


def test_a_changed_query_is_noticed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict(query.queries())
    known["rates"] = dataclasses.replace(known["rates"], sql=known["rates"].sql.replace("median", "max"))
    monkeypatch.setattr(query, "queries", lambda: known)
    found = failed(verify(run))
    assert "the query is not the one that was run" in found["result rates"]
    assert "gives other rows" in found["result rates"]
    assert "another query than rates.sql" in found["report.html"]


def test_a_changed_result_is_noticed(run: Path) -> None:
    kept = run / "results/comparisons.parquet"
    rewritten(kept, lambda database: database.execute("update rows set times_as_fast = times_as_fast * 1.01"))
    assert failed(verify(run)) == {"result comparisons": "results/comparisons.parquet holds other rows"}


def test_a_changed_plan_and_a_missing_file_are_noticed(run: Path) -> None:
    (run / "plan.toml").write_text('name = "another"\n')
    (run / "host.parquet").unlink()
    found = failed(verify(run))
    assert {"plan.toml", "host.parquet"} <= found.keys()


def test_a_page_that_shows_other_rows_or_another_query_is_noticed(run: Path) -> None:
    path = run / "report.html"
    digest = json.loads((run / "results/index.json").read_text())[0]["rows_sha256"]
    path.write_text(path.read_text().replace(digest, "0" * 64))
    assert failed(verify(run)).keys() == {"report.html"}
    path.unlink()
    assert "not there" in failed(verify(run))["report.html"]


def test_damaged_files_fail_and_do_not_raise(run: Path) -> None:
    (run / "attempts.parquet").write_bytes(b"PAR1 and nothing more PAR1")
    found = failed(verify(run))
    assert "attempts.parquet" in found
    assert "analysis" in found


def test_without_results_there_is_nothing_to_verify(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", attempts=200)
    with pytest.raises(NotFoundError, match="haul lab report"):
        verify(run)
