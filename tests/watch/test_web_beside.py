"""What stands beside the jobs on the page and in the terminal: queues, and the workers of a scheduler."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from browsing import Opened
from haulage.watch import state as states
from haulage.watch.lengths import Trend
from haulage.watch.line import Line
from haulage.watch.queues.length import counted
from haulage.watch.tables import totals, whole
from haulage.watch.updates import apply
from haulage.watch.web import Page
from watch.test_state import Told
from watch.writing import SECOND

HOSTILE = "<img src=x onerror=\"document.title='owned'\">\x1b[2J"
SCHEDULER = "tcp://10.0.0.7:8786"


@pytest.fixture
def page() -> Iterator[Page]:
    served = Page()
    yield served
    served.close()


@pytest.fixture
def opened(browser: Browser, page: Page) -> Iterator[Callable[..., Opened]]:
    all_: list[Opened] = []

    def open_(**settings: Any) -> Opened:
        all_.append(Opened(browser, page.url, **settings))
        return all_[-1]

    yield open_
    for one in all_:
        one.context.close()
        assert one.said == []


def drawn(seen: Opened, shown: dict[str, Any]) -> None:
    """Wait until the page has drawn it."""
    seen.page.wait_for_function("at => document.body.dataset.drawn === at", arg=str(shown["time_unix_ns"]))


def tell(told: Told, node: str, event: str, **values: Any) -> None:
    line = Line(SCHEDULER, node, node, None, told.now, event, {"event": event, **values})
    apply(told.state, line, told.now)


def tasks(told: Told, node: str, what: str, running: int, done: int, **values: Any) -> None:
    counts = {"health": "alive", "running": running, "waiting": 3 * running, "done": done, "failed": 0}
    tell(told, node, "tasks", what=what, heard_ns=told.now, **{**counts, **values})


def cluster() -> Told:
    """Three workers, one of which is lost and one silent, a queue that is worked off, and one that grows."""
    told = Told()
    work, other = Trend(), Trend()
    for second in range(40):
        told.now += SECOND
        for name, trend, length, said in (
            ("queue://work", work, 1200 - 12 * second, ""),
            (f"queue://{HOSTILE}", other, 3 * second, "only the oldest 32 messages can be looked at"),
        ):
            line = counted(name, trend, told.now, length, said)
            apply(told.state, line, told.now)
        for number in range(3):
            tasks(told, f"worker-{number}", "dask worker, 812 MiB", 2, 4 * second)
        counts = {"health": "alive", "what": "dask scheduler, 3 workers, 6 threads", "coordinator": True}
        tell(
            told,
            "scheduler",
            "tasks",
            **counts,
            heard_ns=told.now,
            running=6,
            waiting=40,
            done=12 * second,
            failed=1,
        )
    tell(
        told,
        "worker-1",
        "worker_left",
        expected=False,
        message="the worker is lost, with 2 tasks that it had",
    )
    tasks(told, "worker-2", "dask worker, 90 MiB", 0, 156, health="silent")
    values = {"object": f"regrid-{HOSTILE}", "outcome": "failed", "duration_ns": 5, "kind": "ValueError"}
    tell(told, "worker-0", "task", **values, message="ValueError('no poles')", traceback="line 7")
    return told


def test_the_page_shows_queues_and_tasks(page: Page, opened: Callable[..., Opened]) -> None:
    told = cluster()
    shown = told.look(1)
    page.draw(shown, last=False)
    seen = opened()
    drawn(seen, shown)
    text = seen.page.inner_text("body")
    assert "6 running, 40 waiting, 468 done" in text
    rows = [row.inner_text().split("\t") for row in seen.page.query_selector_all("#queues tbody tr")]
    assert rows[1][:4] == ["queue://work", "732", "-12.0/s", "1 min 1 s"]
    assert rows[0][1:4] == ["117", "+3.0/s", ""]
    assert "only the oldest 32" in rows[0][5]
    lines = [row.inner_text() for row in seen.page.query_selector_all("#nodes tbody tr")]
    nodes = {line.partition("\t")[0]: line for line in lines}
    assert "LOST" in nodes["worker-1"]
    assert "SILENT" in nodes["worker-2"]
    assert re.search(r"running\tdask worker, 812 MiB\t\t2\t156\t0", nodes["worker-0"])
    # Nobody moves bytes.
    assert not seen.page.is_visible("#rate")
    assert "owned" not in seen.page.title()
    assert "6 tasks" in seen.page.title()


def test_what_is_away_beside_the_log_is_said(page: Page, opened: Callable[..., Opened]) -> None:
    told = cluster()
    assert states.beside_away(told.state, SCHEDULER, "no answer within 2.5 s", told.now)
    assert not states.beside_away(told.state, SCHEDULER, "no answer within 2.5 s", told.now)
    shown = told.look(7)
    page.draw(shown, last=False)
    seen = opened()
    drawn(seen, shown)
    notice = seen.page.inner_text("#notice")
    assert notice == f"{SCHEDULER} has been unavailable for 7.0 s: no answer within 2.5 s"
    assert states.beside_read(told.state, SCHEDULER)
    assert not told.look(1)["beside_away"]


def test_a_queue_alone_is_a_page(page: Page, opened: Callable[..., Opened]) -> None:
    told = Told()
    apply(told.state, counted("queue://work", Trend(), told.now, 7), told.now)
    shown = told.look(1)
    page.draw(shown, last=False)
    seen = opened()
    drawn(seen, shown)
    assert seen.page.title() == "7 messages - haul watch"
    assert seen.page.is_visible("#queues")
    assert "waiting" not in seen.page.inner_text("#about")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_does_not_scroll_sideways(page: Page, opened: Callable[..., Opened], scheme: str) -> None:
    shown = cluster().look(1)
    page.draw(shown, last=False)
    seen = opened(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    drawn(seen, shown)
    wide = seen.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide == 0


def test_the_terminal_shows_the_same() -> None:
    from rich.console import Console

    console = Console(width=120, highlight=False)
    shown = cluster().look(1)
    with console.capture() as printed:
        console.print(whole(shown))
    text = printed.get()
    assert re.search(r"queue://work +732 +-12\.0/s +1 min 1 s +now", text)
    assert "tasks: 6 running, 40 waiting, 468 done, 1 failed" in text
    assert re.search(r"worker-1 +LOST", text)
    assert "\x1b[2J" not in text
    assert "objects" not in text.split("QUEUE")[0]
    assert "queue queue://work: 732 messages" in totals(shown)
