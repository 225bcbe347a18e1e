"""`verify` owns the whole folder: one byte, one file, one row that is not what it was is found, and named."""

from __future__ import annotations

import functools
import importlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from haulage import lab
from haulage.errors import IntegrityError, NotFoundError, UsageError
from haulage.lab import chain, profile
from haulage.lab.files import sha256
from haulage.lab.report.page import FORM, write
from haulage.lab.report.remade import _other_form
from haulage.lab.report.verify import Check, verify
from lab.reports import copied, make_run, rewritten
from lab.tiny_plan import tiny

ARMS = [
    {"method": "baseline"},
    {"method": "blocks", "block_size": "64KiB", "concurrency": [1, 2, 4]},
]
EDITS = 100


@pytest.fixture(scope="module", autouse=True)
def few_charts() -> Iterator[None]:
    """Pages with two charts: each check of a page makes it again."""
    page = importlib.import_module("haulage.lab.report.page")
    with pytest.MonkeyPatch.context() as patch:
        few = [section for section in page.SECTIONS if section.name in ("ledger", "rates")]
        patch.setattr(page, "SECTIONS", few)
        yield


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of four treatments, with its profile and its page."""
    folder = tmp_path_factory.mktemp("verify") / "run"
    return lab.run(tiny(arms=ARMS, files=[{"size": "300KB"}]), directory=folder, confirm=False).folder


@pytest.fixture
def run(report: Path, tmp_path: Path) -> Path:
    return copied(report, tmp_path / "run")


def failed(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.detail for check in checks if not check.ok}


quick = functools.partial(verify, quick=True)


def files_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_an_untouched_run_passes_wherever_it_lies_and_is_not_changed(report: Path, tmp_path: Path) -> None:
    run = copied(report, tmp_path / "it's, [another] place" / "mine")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    checks = verify(run)
    assert failed(checks) == {}
    assert {"cells/", "attempts/", "results/", "cells.parquet", "plan.toml", "table attempts"} <= {
        check.name for check in checks
    }
    assert {"result ledger", "result comparisons", "report.html", "profile.toml", "manifest.json"} <= {
        check.name for check in checks
    }
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    # Anybody's tool reads the list, too; it leaves out nothing but itself.
    said = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=run, capture_output=True)
    assert said.returncode == 0
    assert set(chain.listed((run / chain.SUMS).read_text())[0]) == set(files_of(run)) - {chain.SUMS}


@pytest.mark.slow("verifies a run twice")
def test_calculations_may_have_moved_since_the_report_was_made(run: Path) -> None:
    index, page = run / chain.INDEX, run / chain.PAGE
    before = sha256(index)
    index.write_text(index.read_text().replace("haulage/lab/topics/", "haulage/lab/analysis/"))
    text = page.read_text().replace("# haulage.lab.topics.", "# haulage.lab.analysis.")
    assert text != page.read_text()
    page.write_text(text.replace(before, sha256(index)))
    assert {chain.INDEX, chain.PAGE} <= {check.name for check in verify(run) if not check.ok}
    chain.seal(run)
    assert failed(verify(run)) == {}


def test_a_page_of_an_earlier_form_says_which(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    for head, said in (("<head>", "form 1"), (f'<meta name="haulage-form" content="{FORM}">', "")):
        page.write_text(head)
        assert said in _other_form(page)
        assert bool(said) == bool(_other_form(page))


def test_a_hundred_random_edits_are_a_hundred_found(run: Path) -> None:
    chance = random.Random(12)
    names = files_of(run)
    # The large ones are the page and tables; each file is as likely as another.
    for number in range(EDITS):
        name = (
            chance.choice(names)
            if number >= len(chain.DERIVED) + 2
            else [chain.SUMS, chain.MANIFEST, *chain.DERIVED][number]
        )
        path = run / name
        was = path.read_bytes()
        at, flip = chance.randrange(len(was)), chance.randrange(1, 256)
        path.write_bytes(was[:at] + bytes([was[at] ^ flip]) + was[at + 1 :])
        found = failed(quick(run))
        path.write_bytes(was)
        assert named(name, found), (name, at, found)
    assert failed(quick(run)) == {}


def named(name: str, found: dict[str, str]) -> bool:
    """Whether the file is named; without making anything again, the list itself can be at fault as well."""
    return name in found or (name == chain.SUMS and any(chain.SUMS in said for said in found.values()))


def added(run: Path) -> str:
    (run / "cells/notes.txt").touch()
    return "cells/notes.txt"


def removed(run: Path) -> str:
    (run / "attempts/0003.parquet").unlink()
    return "attempts/0003.parquet"


def renamed(run: Path) -> str:
    (run / "cells/0002.json").rename(run / "cells/0102.json")
    return "cells/0002.json"


def truncated(run: Path) -> str:
    path = run / "host.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    return "host.parquet"


def lengthened(run: Path) -> str:
    with (run / "plan.toml").open("a") as file:
        file.write("\n")
    return "plan.toml"


def swapped(run: Path) -> str:
    first, second = run / "cells/0001.json", run / "cells/0002.json"
    a, b = first.read_bytes(), second.read_bytes()
    first.write_bytes(b)
    second.write_bytes(a)
    return "cells/0002.json"


def spaced(run: Path) -> str:
    path = run / "cells/0001.json"
    path.write_text(json.dumps(json.loads(path.read_text()), separators=(",", ":")))
    return "cells/0001.json"


def manifest_spaced(run: Path) -> str:
    path = run / chain.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2) + "\n")
    return chain.MANIFEST


def linked(run: Path) -> str:
    path = run / "cells.parquet"
    path.rename(run.parent / "elsewhere.parquet")
    path.symlink_to(run.parent / "elsewhere.parquet")
    return "cells.parquet"


def sums_linked(run: Path) -> str:
    (run / chain.SUMS).rename(run.parent / "sums")
    (run / chain.SUMS).symlink_to(run.parent / "sums")
    return chain.SUMS


def piped(run: Path) -> str:
    os.mkfifo(run / "cells/0100.json")
    return "cells/0100.json"


def oddly_named(run: Path) -> str:
    (run / os.fsdecode(b"a\n\xff\x1b[31m")).touch()
    return r"a\n\udcff\x1b[31m"


def folder_linked(run: Path) -> str:
    (run / "cells").rename(run.parent / "cells")
    (run / "cells").symlink_to(run.parent / "cells")
    return "cells"


def hollow(run: Path) -> str:
    (run / "results/more").mkdir()
    return "results/more"


def unpaged(run: Path) -> str:
    (run / chain.PAGE).unlink()
    return chain.PAGE


@pytest.mark.parametrize(
    "change",
    [
        added,
        removed,
        renamed,
        truncated,
        lengthened,
        swapped,
        spaced,
        manifest_spaced,
        linked,
        sums_linked,
        piped,
        oddly_named,
        folder_linked,
        hollow,
        unpaged,
    ],
)
def test_a_file_that_is_not_what_it_was_is_named(run: Path, change: Callable[[Path], str]) -> None:
    name = change(run)
    assert name in failed(quick(run))


@pytest.mark.parametrize("change", [added, spaced, unpaged, oddly_named])
def test_the_command_says_which_and_ends_with_5(run: Path, change: Callable[[Path], str]) -> None:
    name = change(run)
    words = [sys.executable, "-m", "haulage", "lab", "verify", str(run), "--quick"]
    ran = subprocess.run(words, capture_output=True, text=True)
    assert ran.returncode == 5
    assert f"differs: {name}: " in ran.stdout


def test_what_was_made_to_fit_comes_out_otherwise(run: Path) -> None:
    page = run / chain.PAGE
    page.write_text(page.read_text().replace('<td class="number">', '<td class="number">1', 3))
    start = run / chain.PROFILE
    start.write_text(start.read_text().replace("concurrency = ", "concurrency = 9"))
    kept = run / "results/comparisons.parquet"
    rewritten(kept, lambda database: database.execute("update rows set times_as_fast = times_as_fast * 1.01"))
    index = run / chain.INDEX
    entries = json.loads(index.read_text())
    index.write_text(json.dumps([entries[0] | {"title": "Another"}, *entries[1:]], indent=1) + "\n")
    chain.seal(run)
    found = failed(verify(run))
    assert {chain.PAGE, chain.PROFILE, "result comparisons", chain.INDEX} <= found.keys()
    assert "first in line" in found[chain.PAGE]


def test_a_table_that_the_cells_did_not_give_is_noticed_though_all_was_made_to_fit(run: Path) -> None:
    path = run / "cells.parquet"
    rewritten(
        path, lambda database: database.execute("update rows set wall_ns = wall_ns // 2 where cell = 3")
    )
    manifest = json.loads((run / chain.MANIFEST).read_text())
    manifest["files"]["cells.parquet"]["sha256"] = sha256(path)
    (run / chain.MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    chain.seal(run)
    found = failed(verify(run))
    assert "1 rows are not what the cells and attempts gave" in found["table cells"]
    assert "cells.parquet is not the file that was read" in found["result rates"]


def test_a_manifest_that_was_made_to_fit_is_not_the_one_that_the_page_shows(run: Path) -> None:
    path = run / chain.MANIFEST
    path.write_text(path.read_text().replace("emulated:rtt=2ms", "emulated:rtt=3ms"))
    chain.seal(run)
    assert failed(quick(run)) == {chain.PAGE: "shows another hash of manifest.json"}


def test_a_list_that_was_changed_is_blamed_and_not_the_file(run: Path) -> None:
    path = run / chain.SUMS
    text = path.read_text()
    for name in ("cells/0001.json", chain.MANIFEST):
        at = text.index(f"  {name}\n") - 1
        path.write_text(text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1 :])
        assert failed(quick(run)) == {chain.SUMS: f"{name}: has another hash here, but is as it was"}
    path.write_text(text[: text.index("\n") + 1] + text)
    assert chain.SUMS in failed(quick(run))
    path.write_text(text)
    (run / "extra").write_text("x")
    path.write_text(f"{text}{sha256(run / 'extra')}  extra\n")
    assert failed(quick(run)) == {"extra": "was added, to the list as well"}


def test_who_writes_everything_anew_is_found_by_the_hash_that_was_kept(run: Path) -> None:
    kept = sha256(run / chain.SUMS)
    assert failed(quick(run, sha256=kept)) == {}
    path = run / chain.MANIFEST
    path.write_text(path.read_text().replace("emulated:rtt=2ms", "emulated:rtt=3ms"))
    # A result of another version goes with the report that it was in.
    index = json.loads((run / chain.INDEX).read_text())
    (run / "results/former.parquet").write_bytes((run / "results/rates.parquet").read_bytes())
    (run / chain.INDEX).write_text(json.dumps([*index, index[0] | {"name": "former"}]))
    with pytest.raises(IntegrityError, match="changed since it was recorded"):
        write(run)
    (run / chain.SUMS).unlink()
    write(run)
    assert not (run / "results/former.parquet").exists()
    # Nothing in the folder tells; only what was kept elsewhere does.
    assert failed(quick(run)) == {}
    assert "which was kept" in failed(quick(run, sha256=kept))[chain.SUMS]


def test_a_manifest_that_is_none_fails_and_does_not_raise(run: Path) -> None:
    for content in (b"[1, 2]", b"\xff\xfe", b"{"):
        (run / chain.MANIFEST).write_bytes(content)
        assert chain.MANIFEST in failed(verify(run))


def test_damaged_tables_fail_and_do_not_raise(run: Path) -> None:
    (run / "attempts.parquet").write_bytes(b"PAR1 and nothing more PAR1")
    found = failed(verify(run))
    assert {"attempts.parquet", "analysis"} <= found.keys()


def test_a_report_is_not_made_from_files_that_were_changed(run: Path) -> None:
    spaced(run)
    with pytest.raises(IntegrityError, match=r"0001\.json: changed since it was recorded.*haul lab rerun"):
        write(run)


@pytest.mark.long
def test_the_page_is_the_same_in_every_process(reported: Path, tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from haulage.lab.analysis import analyse\n"
        "from haulage.lab.report import page\n"
        "run, out = map(pathlib.Path, sys.argv[1:])\n"
        "found = analyse(run, into=out); page.write_versions(out)\n"
        "sys.stdout.write(page.render(run, found, out))"
    )
    made = subprocess.run(
        [sys.executable, "-c", code, str(reported), str(tmp_path / "again")],
        env=os.environ | {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
        capture_output=True,
        check=True,
    )
    assert made.stdout == (reported / chain.PAGE).read_bytes()


def test_a_profile_that_is_written_later_is_listed(run: Path) -> None:
    (run / chain.PROFILE).unlink()
    assert chain.PROFILE in failed(quick(run))
    assert profile.write(run) == run / chain.PROFILE
    assert failed(quick(run)) == {}


def test_looking_at_a_run_changes_nothing_in_it(run: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    assert lab.load(run).analysis.results
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_without_a_report_there_is_nothing_to_verify(run: Path) -> None:
    (run / chain.SUMS).unlink()
    with pytest.raises(NotFoundError, match="haul lab report"):
        verify(run)


def test_a_run_that_was_recorded_before_the_chain_says_so(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", attempts=200)
    with pytest.raises(UsageError, match=r"did not hash every file.*repeat the run: haul lab rerun"):
        verify(run)
