"""The page under fingers: drag, pinch, hold, tap, and swipe with three."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, CDPSession

from view.paging import Seen, field, fragment, write_world
from view.viewing import viewing


@pytest.fixture
def seen(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("touch")
    write_world(folder / "world.nc")
    with viewing(folder) as viewer:
        one = Seen(
            browser,
            viewer,
            fragment(file="world.nc", var="ta", range="all", map="flat", view="90,10,120"),
            viewport={"width": 420, "height": 900},
            has_touch=True,
            is_mobile=True,
        )
        one.page.locator("#main .surface").scroll_into_view_if_needed()
        yield one
        assert one.said == []
        one.opened.context.close()


def test_what_was_chosen_is_in_sight(seen: Seen) -> None:
    """On a narrow screen the lists of files and variables are above the map."""

    near_top = "Math.abs(document.getElementById('title').getBoundingClientRect().top) < 120"
    seen.page.evaluate("() => window.scrollTo(0, 0)")
    assert not seen.page.evaluate(f"() => {near_top}")
    seen.page.tap("#variables button[data-path='uas']")
    seen.until(near_top)
    seen.state("done")
    # And as an address asks for it.
    seen.page.evaluate("() => window.scrollTo(0, 0)")
    seen.page.goto(seen.page.url.partition("#")[0] + "#file=world.nc&var=ta")
    seen.until(near_top)


class Fingers:
    """Fingers on the screen, at places that all move at once."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session

    def put(self, kind: str, places: list[tuple[float, float]]) -> None:
        points = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(places)]
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def go(self, before: list[tuple[float, float]], after: list[tuple[float, float]], steps: int = 6) -> None:
        self.put("touchStart", before)
        for step in range(1, steps + 1):
            share = step / steps
            self.put(
                "touchMove",
                [
                    (x + (a - x) * share, y + (b - y) * share)
                    for (x, y), (a, b) in zip(before, after, strict=True)
                ],
            )
        self.put("touchEnd", [])


def span(one: Seen) -> float:
    one.page.wait_for_timeout(300)
    found = re.search(r"view=[^&]*,([\d.]+)", one.page.url)
    assert found
    return float(found.group(1))


def test_one_two_and_three_fingers(seen: Seen) -> None:
    fingers = Fingers(seen.opened.context.new_cdp_session(seen.page))
    x, y = seen.point(93, 13)
    # One finger drags.
    fingers.go([(x, y)], [(x + 60, y - 20)])
    assert seen.point(93, 13) == pytest.approx((x + 60, y - 20), abs=3)
    fingers.go([(x, y)], [(x - 60, y + 20)])
    assert "point=" not in seen.page.url
    # Two pinch: twice as far apart, twice as large, and what lies between stays.
    before, (x, y) = span(seen), seen.point(93, 13)
    fingers.go([(x - 40, y), (x + 40, y)], [(x - 80, y), (x + 80, y)], steps=10)
    assert span(seen) == pytest.approx(before / 2, rel=0.1)
    assert seen.point(93, 13) == pytest.approx((x, y), abs=6)
    # One that rests shows the value, and goes on doing so when it moves.
    x, y = seen.point(93, 13)
    fingers.put("touchStart", [(x, y)])
    seen.until("document.getElementById('under').textContent.includes(' K')")
    value = float(field(0, 0)[10, 9])
    told = re.search(r"E: ([\d.]+) K", seen.text("#under"))
    assert told
    assert float(told.group(1)) == pytest.approx(value, rel=1e-6)
    held = span(seen)
    other = seen.point(103, 13)
    fingers.put("touchMove", [other])
    told = re.search(r"E: ([\d.]+) K", seen.text("#under"))
    assert told
    assert np.float32(told.group(1)) == pytest.approx(float(field(0, 0)[10, 10]), rel=1e-6)
    fingers.put("touchEnd", [])
    assert span(seen) == held
    assert "point=" not in seen.page.url
    # Three swiped to the left: the next step.
    fingers.go([(150 + 60 * n, y) for n in range(3)], [(30 + 60 * n, y) for n in range(3)])
    seen.until("document.getElementById('axis-time').value === '1'")
    fingers.go([(100 + 60 * n, y) for n in range(3)], [(220 + 60 * n, y) for n in range(3)])
    seen.until("document.getElementById('axis-time').value === '0'")
    # A tap chooses.
    fingers.go([(x, y)], [(x, y)], steps=1)
    seen.until("location.hash.includes('point=')")
    seen.until("document.querySelectorAll('#charts canvas').length === 2")
