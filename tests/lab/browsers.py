"""A page of the report in a browser: from disk, with the network off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Route

from browsing import wait_for_frame


class Opened:
    """A page without a network that remembers what it complained of."""

    def __init__(self, browser: Browser, report: Path, **settings: Any) -> None:
        self.context: BrowserContext = browser.new_context(
            offline=True, viewport={"width": 1200, "height": 900}, **settings
        )
        self.said: list[str] = []
        self.context.route("**/*", self._only_files)
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self._hear(message.type, message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.goto(report.as_uri())
        if settings.get("java_script_enabled", True):
            wait_for_frame(self.page)

    def _only_files(self, route: Route) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            self.said.append(f"asked for {route.request.url}")
            route.abort()

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.said.append(text)

    def see_everything(self) -> None:
        """Scroll to each chart, so that all of them are drawn."""
        for figure in self.page.query_selector_all("section.chart figure"):
            figure.scroll_into_view_if_needed()
            self.page.wait_for_function("figure => figure.classList.contains('live')", arg=figure)

    def colour(self, selector: str, what: str) -> str:
        return str(self.page.eval_on_selector(selector, f"node => getComputedStyle(node).{what}"))
