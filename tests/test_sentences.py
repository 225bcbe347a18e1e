"""The file of sentences holds those of tests that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

import sentences


def test_each_sentence_belongs_to_a_test(request: pytest.FixtureRequest) -> None:
    left_over = request.config.stash.get(sentences.LEFT_OVER, set())
    sources: dict[str, str] = {}
    for test in sentences.read():
        path, _, name = test.partition("::")
        file = sentences.FILE.parent / path
        source = sources.setdefault(path, file.read_text("utf-8") if file.exists() else "")
        if f"def {name.partition('[')[0]}(" not in source:
            left_over.add(test)
    of = " ".join(sorted({f"tests/{test.partition('::')[0]}" for test in left_over}))
    assert not left_over, f"no such tests: {sorted(left_over)}; make sentences ARGS='{of}' removes them"


def test_what_differs_from_run_to_run_is_no_part_of_a_sentence() -> None:
    said = (
        "copy az://test-28/a to /t/popen-gw1/services0/a.nc: http://127.0.0.1:43210 took 1.25 s (hint: 30s)"
    )
    assert sentences.constant(said, Path("/t/popen-gw1")) == (
        "copy az://test-{n}/a to {tmp}/a.nc: http://{host} took {n} s (hint: 30s)"
    )
