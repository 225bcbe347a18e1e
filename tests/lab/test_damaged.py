"""Folders of runs that were damaged, edited, or written by another version: what is wrong is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from haulage import lab
from haulage.errors import HaulageError, IntegrityError, NotFoundError, UsageError
from haulage.lab import chain, profile, runner
from haulage.lab.store import RunStore
from lab import made_runs
from lab.in_process import InProcess
from sentences import Sentence

RESTORE = "restore it from a copy, or repeat the run"
pytestmark = pytest.mark.usefixtures("without_charts")

HEAD: dict[str, Any] = {
    "run": "made",
    "plan_sha256": "0",
    "target": "emulated:none",
    "faults": None,
    "cells_planned": 4,
    "created_unix_ns": 1_271_000_000_000_000_000,
}
Act = Callable[[Path], object]


def made(folder: Path, **manifest: Any) -> Path:
    cells = [made_runs.cell(number, replicate=number) for number in range(4)]
    attempts = {number: [made_runs.attempt(slot_ms=1, ended_ms=9)] for number in range(4)}
    return made_runs.write(folder, cells, attempts, **HEAD | manifest)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return made(tmp_path / "good")


@pytest.fixture
def bad(good: Path) -> Path:
    """A copy of the good one, for a test to damage."""
    return Path(shutil.copytree(good, good.with_name("bad")))


def edit(run: Path, **values: Any) -> Path:
    path = run / chain.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    return run


def unlisted(run: Path) -> Path:
    """Make it a run that does not say which bytes its files have, as one that was killed."""
    return edit(run, files={})


def compared(run: Path) -> object:
    return lab.compare(run, run.with_name("good"))


READERS: list[Act] = [
    compared,
    lambda run: lab.compare(run.with_name("good"), run),
    profile.measure,
    lab.report,
    lab.load,
    lab.resume,
    lab.predict,
    runner.target_of,
]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"null", b"{", b"\xff\xfe"])
def test_what_is_no_manifest(content: bytes, bad: Path) -> None:
    """It was a traceback, or the output of Python."""
    (bad / chain.MANIFEST).write_bytes(content)
    for read in READERS:
        with pytest.raises(UsageError) as caught:
            read(bad)
        assert caught.value.hint in (RESTORE, "name the folder of a run")


def test_a_form_that_is_not_known_yet(bad: Path, sentence: Sentence) -> None:
    """It was read as if it were of this version's form."""
    for form in ("run 99", "run 3", 2, ["run 2"]):
        edit(bad, lab=form)
        for read in [*READERS, lab.verify]:
            with pytest.raises(UsageError) as caught:
                read(bad)
            sentence(caught.value)
    # A manifest that was changed says nothing of the form: what changed is said instead.
    lab.report(edit(bad, lab=chain.LAYOUT))
    edit(bad, lab="run 99")
    assert chain.MANIFEST in [check.name for check in lab.verify(bad) if not check.ok]


@pytest.mark.parametrize(
    "values",
    [
        {"created_unix_ns": "yesterday"},
        {"created_unix_ns": None},
        {"created_unix_ns": -1},
        {"ended_unix_ns": 10**30},
        {"files": []},
        {"host": None},
        {"plan": 7},
        {"target": None},
        {"ceiling": "high"},
    ],
    ids=str,
)
def test_an_entry_of_another_kind(values: dict[str, Any], bad: Path, sentence: Sentence) -> None:
    edit(bad, **values)
    for read in READERS:
        with pytest.raises(UsageError, match=f"{next(iter(values))} cannot be") as caught:
            read(bad)
        sentence(caught.value)


def test_an_entry_that_is_missing(bad: Path, sentence: Sentence) -> None:
    path = bad / chain.MANIFEST
    manifest = json.loads(path.read_text())
    for name in ("run", "target", "plan_sha256", "cells_planned"):
        path.write_text(json.dumps({key: manifest[key] for key in manifest if key != name}))
        with pytest.raises(UsageError, match=f"{name} is missing") as caught:
            lab.resume(bad)
        sentence(caught.value)


@pytest.mark.parametrize("read", [compared, profile.measure], ids=["compare", "profile"])
def test_a_table_that_is_cut_short(read: Act, bad: Path, sentence: Sentence) -> None:
    for size in (0, 100):
        (bad / "cells.parquet").write_bytes((bad.with_name("good") / "cells.parquet").read_bytes()[:size])
        with pytest.raises(IntegrityError) as error:
            read(bad)
        sentence(error.value)
    with pytest.raises(UsageError) as caught:
        read(unlisted(bad))
    sentence(caught.value)


def test_a_table_that_is_missing(bad: Path, sentence: Sentence) -> None:
    (bad / "attempts.parquet").unlink()
    with pytest.raises(IntegrityError, match="missing"):
        profile.measure(bad)
    with pytest.raises(NotFoundError, match=r"has no attempts\.parquet") as caught:
        profile.measure(unlisted(bad))
    sentence(caught.value)


PLANS: list[tuple[bytes | None, type[HaulageError]]] = [
    (None, NotFoundError),
    (b"name = ", UsageError),
    (b'name = "Z\xfcrich"', UsageError),
]


@pytest.mark.parametrize(("content", "kind"), PLANS, ids=["missing", "no TOML", "no UTF-8"])
def test_a_plan_that_is_damaged(
    content: bytes | None, kind: type[HaulageError], bad: Path, sentence: Sentence
) -> None:
    (bad / "plan.toml").unlink() if content is None else (bad / "plan.toml").write_bytes(content)
    for read in (lab.resume, lab.report, compared):
        with pytest.raises(IntegrityError):
            read(bad)
    unlisted(bad)
    plan: Act = lambda run: lab.load(run).plan  # noqa: E731
    acts: list[Act] = [lab.resume, plan] if content is None else [lab.resume, plan, compared, lab.report]
    for act in acts:
        with pytest.raises(kind) as caught:
            act(bad)
        sentence(caught.value)


def test_a_cell_that_is_damaged(bad: Path, sentence: Sentence) -> None:
    for content in ("", "[]", "{}", '{"cell": {"cell": "one"}}'):
        (bad / "cells/0001.json").write_text(content)
        with pytest.raises(UsageError) as caught:
            RunStore.open(bad).done()
        sentence(caught.value)


def test_a_manifest_that_was_changed_is_not_reported_anew(bad: Path) -> None:
    lab.report(bad)
    edit(bad, seed=99)
    for read in (lab.report, compared, profile.measure):
        with pytest.raises(IntegrityError, match=r"manifest\.json: changed"):
            read(bad)


def test_what_one_run_lacks_is_said_in_words(tmp_path: Path) -> None:
    """It was the output of Python."""
    one = made(tmp_path / "one", versions={"haulage": "0.1", "of": ["a"]})
    two = made(tmp_path / "two", ceiling={"up_bits_per_second": 5e6, "rounds": []}, link="rtt=5ms")
    found = lab.compare(one, two).differences
    assert found == [
        "link: none and rtt=5ms",
        "versions.haulage: 0.1 and none",
        'versions.of: ["a"] and none',
        "ceiling.up_bits_per_second: none and 5000000.0",
    ]


def test_the_command_says_so(in_process: InProcess, bad: Path, sentence: Sentence) -> None:
    good = bad.with_name("good")
    (bad / "cells.parquet").write_bytes(b"")
    sentence(in_process("lab", "compare", bad, good, code=5).stderr)
    sentence(in_process("lab", "profile", bad, code=5).stderr)
    edit(bad, lab="run 99")
    for words in (("compare", good, bad), ("report", bad), ("run", "--continue", bad)):
        sentence(in_process("lab", *words, code=2).stderr)
    (bad / chain.MANIFEST).write_text("[]")
    sentence(in_process("lab", "compare", bad, good, code=2).stderr)
    shutil.rmtree(bad)
    sentence(in_process("lab", "compare", bad, good, code=4).stderr)
