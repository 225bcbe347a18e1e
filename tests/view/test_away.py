"""A store that goes away while its files are viewed: said within seconds, and drawn again when it is back."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import endpoints
import haulage
from haulage.errors import ConnectionLostError
from haulage.reach import first_hop
from haulage.view.reading import cost, patience
from haulage.view.reading.patience import Reach
from sentences import Sentence
from view.paging import Seen, write_noise
from view.viewing import Viewer, viewing


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[endpoints.Emulator]:
    made = endpoints.Emulator(tmp_path, store=str(tmp_path / "store"))
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", made.endpoint.connection_string)
    yield made
    made.process.send_signal(signal.SIGCONT)
    made.process.kill()
    made.process.wait()
    assert made.process.stdout is not None
    made.process.stdout.close()


@pytest.fixture
def viewer(running: endpoints.Emulator, tmp_path: Path) -> Iterator[Viewer]:
    container = running.endpoint.container()
    write_noise(tmp_path / "noise.nc", seed=1)
    haulage.copy(str(tmp_path / "noise.nc"), container.az("noise.nc"))
    with viewing(container.az()) as found:
        yield found


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the patience with a store, which is some seconds."""
    late_s, again_s, answer_s, times = patience.LATE_S, patience.AGAIN_S, patience._ANSWER_S, patience._TIMES
    # At once where it refuses to connect; else it may answer until it is late.
    assert late_s + times * again_s < 8
    assert late_s + times * (again_s + answer_s) < 15
    for name in ("LATE_S", "AGAIN_S", "_ANSWER_S"):
        monkeypatch.setattr(patience, name, getattr(patience, name) / 10)


@pytest.mark.slow("the page asks again some seconds after it was told that the store is away")
@pytest.mark.usefixtures("hurried")
def test_the_page_says_within_seconds_that_the_store_is_away_and_draws_when_it_is_back(
    running: endpoints.Emulator, viewer: Viewer, browser: Browser, sentence: Sentence
) -> None:
    one = Seen(browser, viewer, "file=noise.nc")
    running.process.kill()
    running.process.wait()
    one.page.focus("#axis-time")
    one.page.keyboard.press("End")
    one.state("failed")
    told = one.text("#notice p")
    sentence(told)
    assert "will appear as soon as the store responds" in one.text("#state")
    running.restart(0)
    # Nobody touches the page.
    one.state("done")
    assert not one.page.locator("#notice").is_visible()
    assert "2000-02-29" in one.text("#about")
    one.opened.context.close()


@pytest.mark.usefixtures("hurried")
def test_a_service_that_has_stopped_without_a_word(running: endpoints.Emulator, viewer: Viewer) -> None:
    asked = {"name": "noise.nc", "var": "v"}
    assert viewer.get("/api/slab", index="time:0", **asked).status == 200
    os.kill(running.process.pid, signal.SIGSTOP)
    answer = viewer.get("/api/slab", index="time:40", **asked)
    assert (answer.status, answer.error["code"]) == (502, "connection")
    assert "no answer" in answer.error["error"]
    assert viewer.get("/api/store").json["answers"] is False
    os.kill(running.process.pid, signal.SIGCONT)
    assert viewer.get("/api/store").json == {"answers": True, "why_not": None}
    assert viewer.get("/api/slab", index="time:40", **asked).status == 200


def test_a_slow_store_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, running: endpoints.Emulator, sentence: Sentence
) -> None:
    monkeypatch.setattr(patience, "LATE_S", 0.05)
    monkeypatch.setattr(patience, "AGAIN_S", 0.05)
    url = running.endpoint.container().az("a")
    with cost.counting(hasty=True):
        assert Reach(url, {}).patiently("a", lambda: time.sleep(0.5) or 7) == 7  # type: ignore[func-returns-value]
    # Others than pages leave it to the engine, whoever is away.
    running.process.kill()
    running.process.wait()
    assert Reach(url, {}).patiently("a", lambda: time.sleep(0.3) or 7) == 7  # type: ignore[func-returns-value]
    with cost.counting(hasty=True), pytest.raises(ConnectionLostError) as caught:
        Reach(url, {}).patiently("a", lambda: time.sleep(20))
    sentence(caught.value)


def test_the_first_hop_is_that_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://acc.blob.core.windows.net/c/a.nc"
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    assert first_hop(url) == ("proxy.example", 3128, False)
    assert first_hop(url, proxy="none") == ("acc.blob.core.windows.net", 443, True)
    assert first_hop("mem://a/b") is None
