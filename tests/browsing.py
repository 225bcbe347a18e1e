"""A page of a server in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

#: What makes markup of text, or asks for something elsewhere.
_WRONG = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "http://",
    "https://",
)


def check_source(file: Path) -> None:
    """Fail where a file of a page could write what it was given as markup, or names another place."""
    text = file.read_text()
    for wrong in _WRONG:
        assert wrong not in text, (file, wrong)


#: Whether the page draws: frames come each 16 ms, later on a machine that is busy.
_FRAME = """() => new Promise((tell) => {
  setTimeout(() => tell(false), 2000);
  requestAnimationFrame(() => tell(true));
})"""


def wait_for_frame(page: Page) -> None:
    """Wait until a page whose scripts run draws.

    A browser without a screen now and then draws no frame of a new page until its size changes, and then
    nothing that waits for one ends.
    """
    size = page.viewport_size
    assert size is not None
    for _ in range(10):
        if page.evaluate(_FRAME):
            return
        page.set_viewport_size({"width": size["width"], "height": size["height"] + 1})
        page.set_viewport_size(size)
    raise TimeoutError("the browser draws nothing")


class Opened:
    """A page in a browser that remembers what it complained of and what it asked for."""

    def __init__(self, browser: Browser, url: str, **settings: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 1000}, **settings})
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)
        wait_for_frame(self.page)
