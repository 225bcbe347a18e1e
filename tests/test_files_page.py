"""The page about files that Haulage writes, against the sources and against what commands leave."""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import haulage
from command import Haul
from endpoints import Endpoint

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/files.md"

#: What in a string of the sources is a part of the name of a file that is written.
WRITTEN = re.compile(
    r"haulage/[a-z]+\b|haulage-(?:lab|node|verify)-|haul-[a-z]+-(?=[\"{])|\.haul-[a-z]+\b|haul-(?:export|import)\b"
    r"|table-copy-|\.refused\.jsonl|\.receipt\.json|\.ranges\.partial"
)
#: The same words where they are no names of files on this machine.
OTHERS = {
    "haulage/haulage",  # the repository
    "haulage/config",  # read, never written: the page says so in another sentence
    "haulage/lab",  # a path of the sources
    "haul-view-",  # a cookie
    ".haul-round",  # a prefix that is listed, to measure the round trip
    "haul-az-",
}


def sources() -> Iterator[tuple[Path, str]]:
    for folder, ending in (("crates/haulage/src", "rs"), ("crates/haulage-cli/src", "rs"), ("python", "py")):
        for path in sorted((ROOT / folder).rglob(f"*.{ending}")):
            text = path.read_text(encoding="utf-8")
            yield path, text.split("#[cfg(test)]")[0]


def strings(text: str) -> Iterator[str]:
    yield from re.findall(r'"(?:[^"\\\n]|\\.)*"', text)


def test_every_name_in_the_sources_is_on_the_page() -> None:
    page, found = PAGE.read_text(encoding="utf-8"), set[str]()
    for path, text in sources():
        for string in strings(text):
            if path.suffix == ".py" and "://" in string:
                continue
            found |= {word for word in WRITTEN.findall(string) if word not in OTHERS}
    assert len(found) > 12, found
    missing = sorted(word for word in found if word.strip(".") not in page)
    assert missing == []


def test_the_page_names_nothing_that_the_sources_do_not() -> None:
    page = PAGE.read_text(encoding="utf-8")
    every = "".join(text for _, text in sources())
    for word in re.findall(r"haulage/[a-z]+(?=/)|\.haul-[a-z]+|haul(?:age)?-[a-z]+(?=-\*)", page):
        assert word.lstrip(".") in every or word.rpartition("/")[2] in every, word


PATTERNS = (
    "cache/haulage/links/*",
    "state/haulage/log/*",
    "cache/haulage/view/*",
    "work/.haul-*.partial",
)


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_commands_leave_nothing_else(emulator: Endpoint, tmp_path: Path) -> None:
    """In folders that were moved by the variables that the page names; and all may be deleted in between."""
    for name in ("home", "cache", "state", "config", "scratch", "work"):
        (tmp_path / name).mkdir()
    work, container = tmp_path / "work", emulator.container()
    moved = {
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "TMPDIR": str(tmp_path / "scratch"),
    }
    haul = Haul(work, {**emulator.env, **moved}, [])
    (work / "a").mkdir()
    (work / "a/1").write_bytes(os.urandom(100_000))
    asked = {"r.parquet", "r.jsonl"}
    for first in (True, False):
        haul("cp", "a", container.az("a/"), "--record", "r.parquet", "--receipt", "r.jsonl", env=moved)
        haul("cp", container.az("a/"), "back/", "--log", container.az("log/"), env=moved)
        haul("rm", "-r", container.az("a/"), env=moved)
        if first:
            table = f"{emulator.url}/Files"
            (work / "rows.csv").write_text("PartitionKey,RowKey,x\np,a,1\n")
            haul("table", "import", "rows.csv", table, "--create", env=moved)
            haul("table", "backup", table, "rows.parquet", env=moved)
            haul("table", "copy", table, f"{table}b", env=moved)
            haul("table", "plan", "rows.csv", env=moved)
            asked |= {"rows.parquet", "rows.parquet.receipt.json", "rows.csv"}
        left = below(tmp_path)
        own = {f"work/{name}" for name in (*asked, "a/1", "back/1")}
        others = {name for name in left - own if not any(fnmatch.fnmatch(name, one) for one in PATTERNS)}
        assert others == set()
        assert not list((tmp_path / "home").iterdir())
        for name in ("cache", "state", "config", "scratch"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        shutil.rmtree(work / "back")
        (tmp_path / "scratch").mkdir()


@pytest.mark.parametrize("page", ["guides/install.md", "guides/air-gapped.md", "reference/environment.md"])
def test_pages_lead_to_it(page: str) -> None:
    assert "reference/files.md" in (ROOT / "docs" / page).read_text().replace(
        "(files.md", "(../reference/files.md"
    )


@pytest.mark.slow("copies over a slow link")
def test_what_is_remembered_is_switched_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with haulage.Emulator(link="rtt=30ms,total=4mbit") as slow:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", slow.connection_string)
        haulage.make_container("az://remembered")
        (tmp_path / "source").write_bytes(os.urandom(1_800_000))
        haulage.copy(tmp_path / "source", "az://remembered/a", remember_link=False)
        assert not (tmp_path / "haulage").exists()
        haulage.copy(tmp_path / "source", "az://remembered/b")
        assert len(list((tmp_path / "haulage/links").iterdir())) == 1
