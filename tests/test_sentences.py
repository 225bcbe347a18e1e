"""The file of sentences holds those of tests that exist."""

from __future__ import annotations

import sentences


def test_each_sentence_belongs_to_a_test() -> None:
    sources: dict[str, str] = {}
    for test in sentences.read():
        path, _, name = test.partition("::")
        source = sources.setdefault(path, (sentences.FILE.parent / path).read_text("utf-8"))
        assert f"def {name.partition('[')[0]}(" in source, f"no such test: {test}"
