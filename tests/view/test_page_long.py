"""The page over a long time: 20 steps a second, memory that stays flat; and a second person sees the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import haulage
from endpoints import Container
from view.paging import Seen, fragment, write_noise, write_world
from view.viewing import viewing


@pytest.mark.long
def test_twenty_steps_a_second(browser: Browser, blobs: Container, tmp_path: Path) -> None:
    write_world(tmp_path / "world.nc")
    haulage.copy(tmp_path / "world.nc", blobs.az("world.nc"))
    with viewing(blobs.az()) as viewer:
        one = Seen(browser, viewer, fragment(file="world.nc", var="ta", range="all"))
        one.page.select_option("#rate", "20")
        one.page.click(".axis[data-dim=time] .buttons button:last-child")
        one.page.wait_for_timeout(6000)
        found = re.match(r"([\d.]+) steps per second", one.text("#played"))
        assert found
        print(found.group())
        assert float(found.group(1)) > 18
        one.opened.context.close()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_memory_of_the_page_stays_flat(browser: Browser, tmp_path: Path) -> None:
    write_noise(tmp_path / "noise.nc", seed=1)
    with viewing(tmp_path) as viewer:
        one = Seen(browser, viewer, fragment(file="noise.nc", var="v"))
        session = one.opened.context.new_cdp_session(one.page)

        def heap() -> float:
            session.send("HeapProfiler.collectGarbage")
            found = session.send("Runtime.getHeapUsage")
            return float(found["usedSize"] + found.get("backingStorageSize", 0)) / 2**20

        def steps(number: int) -> None:
            for _ in range(number):
                one.page.keyboard.press(".")
                one.page.wait_for_timeout(5)
            one.state("done")

        one.page.focus("#main .surface")
        steps(200)
        early = heap()
        steps(1000)
        late = heap()
        print(f"after 200 steps {early:.1f} MiB, after 1,200 {late:.1f} MiB")
        assert late < early + 10
        one.opened.context.close()


def test_a_second_person_sees_the_same(browser: Browser, tmp_path: Path) -> None:
    write_world(tmp_path / "world.nc")
    with viewing(tmp_path) as viewer:
        first = Seen(browser, viewer, fragment(file="world.nc", var="ta", at="time:3,plev:1", range="all"))
        first.page.wait_for_timeout(300)
        second = Seen(browser, viewer, first.page.url.partition("#")[2])
        for selector in ("#title", "#about", ".axis[data-dim=time] output", "#legend"):
            assert first.text(selector) == second.text(selector)
        assert first.pixels([(173, 3), (20, 60)]) == second.pixels([(173, 3), (20, 60)])
        for one in (first, second):
            assert one.said == []
            one.opened.context.close()
