"""The page on hostile services says what the tests show. It needs no sandbox: nothing is run."""

from __future__ import annotations

from collections import Counter

import hostile_page
from hostile.case import SEEN
from hostile.cases import SERVICE


def test_the_page_lists_the_cases() -> None:
    text = hostile_page.PAGE.read_text()
    assert text == hostile_page.renewed(text), "run: python tests/hostile_page.py"


def test_every_case_has_a_name_of_its_own() -> None:
    assert [name for name, times in Counter(case.name for case in SERVICE).items() if times > 1] == []


def test_all_that_was_seen_has_a_case() -> None:
    assert {case.seen for case in SERVICE} - {0} == SEEN.keys()
