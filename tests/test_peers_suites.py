"""What is read from the output of rclone's tests. `make peers-suites` runs the tests themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

import peers_suites
from peers_suites import Ended, Suite

PRINTED = """\
=== RUN   TestIntegration
    fstests.go:464: Using remote "TestPeer:"
=== RUN   TestIntegration/FsName
=== RUN   TestIntegration/FsMkdir/FsPutFiles
    fstests.go:12: the cause
=== RUN   TestIntegration/FsMkdir/FsMove
    fstests.go:1400: a warning
    fstests.go:1458: FS has no Mover interface
=== RUN   TestIntegration/FsMkdir/New
    fstests.go:9: for no reason that is known
    --- PASS: TestIntegration/FsName (0.00s)
        --- FAIL: TestIntegration/FsMkdir/FsPutFiles (1.20s)
        --- SKIP: TestIntegration/FsMkdir/FsMove (0.00s)
        --- SKIP: TestIntegration/FsMkdir/New (0.00s)
some noise --- PASS: not at the beginning (0.00s)
"""


def test_outcomes_are_read_with_the_reasons_of_skips() -> None:
    assert list(peers_suites.outcomes(PRINTED.splitlines())) == [
        Ended("TestIntegration/FsName", "PASS"),
        Ended("TestIntegration/FsMkdir/FsPutFiles", "FAIL"),
        Ended("TestIntegration/FsMkdir/FsMove", "SKIP", "FS has no Mover interface"),
        Ended("TestIntegration/FsMkdir/New", "SKIP", "for no reason that is known"),
    ]


def test_failures_and_unknown_skips_are_bad_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    tests = list(peers_suites.outcomes(PRINTED.splitlines()))
    assert [test.is_bad for test in tests] == [False, True, False, True]
    peers_suites.report(Suite("azureblob", "azureblob", {}), tests, 1)
    said = capsys.readouterr().out
    assert "azureblob: 1 passed, 1 failed, 2 left out; ended with 1" in said
    assert "FAIL TestIntegration/FsMkdir/FsPutFiles" in said
    assert "left out by rclone (FS has no Mover interface): FsMove" in said


def test_every_remote_is_told_all_that_it_asks_for(tmp_path: Path) -> None:
    with peers_suites.serving(tmp_path) as values:
        for suite in peers_suites.SUITES:
            settings = {name: text.format_map(values) for name, text in suite.remote.items()}
            assert all(settings.values())
            assert settings["endpoint"].startswith("http://127.0.0.1:")
