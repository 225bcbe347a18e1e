"""The script of the charts: it is kept, and what was damaged is not believed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import vl_convert

from haulage.lab.report import vega


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What was bundled, in a process that has not yet, with a cache of its own."""
    done: list[str] = []

    def bundle(snippet: str) -> str:
        done.append(snippet)
        return "const π = '</script>';\nlet b;"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return done


def again() -> str:
    """As the next process does."""
    vega.script.cache_clear()
    return vega.script()


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """Nothing of other tests here, and nothing of these in the pages of others."""
    vega.script.cache_clear()
    yield
    vega.script.cache_clear()


def kept(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "haulage/report").iterdir()
    return path


def test_it_is_bundled_once_and_is_the_same(bundled: list[str], tmp_path: Path) -> None:
    first = again()
    assert first == "{const π = '<\\/script>';\nlet b;}"
    assert again() == first
    assert len(bundled) == 1
    assert kept(tmp_path).stat().st_mode & 0o777 == 0o600


DAMAGES: dict[str, Callable[[str], str]] = {
    "cut short": lambda text: text[:-1],
    "changed": lambda text: text.replace("let", "var"),
    "empty": lambda _: "",
    "no text": lambda _: "\udcff",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_was_damaged_is_bundled_again(bundled: list[str], tmp_path: Path, damage: str) -> None:
    first = again()
    text = kept(tmp_path).read_text(encoding="utf-8")
    kept(tmp_path).write_bytes(DAMAGES[damage](text).encode(errors="surrogateescape"))
    assert again() == first
    assert again() == first
    assert len(bundled) == 2


def test_nothing_can_be_kept(bundled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert again() == again()
    assert len(bundled) == 2


def test_old_ones_go(bundled: list[str], tmp_path: Path) -> None:
    again()
    for number in range(9):
        old = tmp_path / f"haulage/report/vega-1.{number}.js"
        old.write_text("")
        os.utime(old, (number, number))
    kept_as = next(path for path in (tmp_path / "haulage/report").iterdir() if path.stat().st_size)
    kept_as.unlink()
    again()
    assert len(list((tmp_path / "haulage/report").iterdir())) == 4
    assert kept_as.is_file()
    assert len(bundled) == 2
