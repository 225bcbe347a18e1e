"""The site: every page of the index, built strictly, read from a folder without any network."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    runpy.run_path(str(ROOT / "scripts/site.py"))["build"](folder)
    return folder


@pytest.fixture
def fetched(browser: Browser, request: pytest.FixtureRequest) -> Iterator[tuple[Page, list[str]]]:
    """A page, and what it has asked a network for."""
    context = browser.new_context(**getattr(request, "param", {}))
    page, asked = context.new_page(), []
    page.on("request", lambda sent: asked.append(sent.url))
    page.on("pageerror", lambda error: asked.append(f"error: {error}"))
    yield page, asked
    context.close()


def is_foreign(url: str) -> bool:
    return not url.startswith(("file:", "data:", "blob:", "about:"))


def test_every_document_is_a_page_and_in_the_navigation(site: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs").rglob("*.md")):
        name = page.relative_to(ROOT / "docs").with_suffix(".html")
        assert (site / name).is_file(), name
        assert f'href="{name.as_posix()}"' in index, name


SCREENS: list[Any] = [
    {"viewport": {"width": 1300, "height": 900}, "color_scheme": "light"},
    {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"},
]


@pytest.mark.parametrize("fetched", SCREENS, indirect=True, ids=["wide-light", "narrow-dark"])
def test_pages_fit_the_screen_and_fetch_nothing(site: Path, fetched: tuple[Page, list[str]]) -> None:
    page, asked = fetched
    for name in ("index", "guides/tables", "reference/command", "guides/coming-from", "concepts/the-flow"):
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_selector("h1")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, name
        dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        shown = page.evaluate("document.body.getAttribute('data-md-color-scheme')")
        assert shown == ("slate" if dark else "default")
    assert [url for url in asked if is_foreign(url)] == []


def test_the_search_works_without_a_server(site: Path, fetched: tuple[Page, list[str]]) -> None:
    page, asked = fetched
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("Control+k")
    page.keyboard.type("stall timeout", delay=20)
    page.get_by_text("When a request has stalled").first.click()
    page.wait_for_url("**/concepts/following-the-link.html*")
    assert [url for url in asked if is_foreign(url)] == []
