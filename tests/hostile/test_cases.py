"""The cases of hostile services are what the page and `chosen` say of them. Nothing is run."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from hostile.case import SEEN, Case
from hostile.cases import CHOSEN, SERVICE, THEMES
from hostile.chosen import differs

PAGE = Path(__file__).resolve().parent.parent.parent / "docs/reference/hostile.md"


def test_every_case_has_a_name_of_its_own() -> None:
    assert [name for name, times in Counter(case.name for case in SERVICE).items() if times > 1] == []


def test_all_that_was_seen_has_a_case() -> None:
    assert {case.seen for case in SERVICE if not case.costly} - {0} == SEEN.keys()


@pytest.mark.parametrize("cases", [cases for _, cases in THEMES], ids=[title for title, _ in THEMES])
def test_all_that_differs_in_kind_is_chosen(cases: tuple[Case, ...]) -> None:
    wanted = {kind for case in cases for run in case.runs for kind in differs(case, *run)}
    taken = {kind for case in cases for run in CHOSEN.get(case.name, ()) for kind in differs(case, *run)}
    assert wanted - taken <= {case.name for case in cases if case.costly}


def test_the_page_counts_nearly_right() -> None:
    runs = sum(len(case.runs) for case in SERVICE)
    for counted in (len(SERVICE), runs, sum(map(len, CHOSEN.values()))):
        assert any(
            abs(int(told.replace(",", "")) - counted) <= counted / 20
            for told in re.findall(r"about ([\d,]+)", PAGE.read_text())
        ), f"the page counts otherwise: {counted}"
