"""`haul verify` writes names by kind, as `rclone check` does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import endpoints
import haulage
from command import Haul
from endpoints import Endpoint
from sentences import Sentence
from sides import fill
from test_clients import rclone

ODD = "d/ä b#?%41"
KINDS = {
    "equal": ["equal", "x/same"],
    "differs": [ODD],
    "missing": ["only here"],
    "extra": ["x/only there"],
    "failed": ["shut"],
}
SIGNS = {"equal": "=", "differs": "*", "missing": "+", "extra": "-", "failed": "!"}
AS_A_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@pytest.fixture
def two(emulator: Endpoint, tmp_path: Path) -> tuple[Haul, str]:
    """Two sides that have something of each kind."""
    haul, container = Haul(tmp_path, emulator.env, [endpoints.KEY]), emulator.container()
    here = fill(
        tmp_path / "here",
        {"equal": b"1", "x/same": b"", ODD: b"abc", "only here": b"2", "shut": b"3"},
    )
    haul("cp", here, container.az("t/"))
    container.client.delete_blob("t/only here")
    container.client.upload_blob(f"t/{ODD}", b"abd", overwrite=True)
    container.client.upload_blob("t/x/only there", b"5")
    return haul, container.az("t/")


def read(folder: Path) -> dict[str, list[str]]:
    return {path.stem: sorted(path.read_text().splitlines()) for path in folder.glob("*.txt")}


def test_each_kind_in_a_file_of_its_own(two: tuple[Haul, str]) -> None:
    haul, there = two
    (haul.folder / "here/shut").chmod(0)
    (haul.folder / "equal.txt").write_text("a former report\n")
    reports = [word for kind in ("combined", *KINDS) for word in (f"--{kind}", f"{kind}.txt")]
    haul("verify", "here", there, *reports, code=5, wrap=AS_A_USER)
    found = read(haul.folder)
    assert found.pop("combined") == sorted(f"{SIGNS[k]} {name}" for k in KINDS for name in KINDS[k])
    assert found == KINDS
    # What is missing can be copied by its report.
    (haul.folder / "here/shut").chmod(0o644)
    haul("cp", "here", there, "--files-from", "missing.txt")
    assert haul("verify", "here", there, "--missing", "-", code=5).text == ""
    assert not list(haul.folder.glob(".haul-*"))


@pytest.mark.parametrize(
    "option", ["--combined", "--differ", "--match", "--missing-on-dst", "--missing-on-src"]
)
def test_rclone_check_writes_the_same(two: tuple[Haul, str], emulator: Endpoint, option: str) -> None:
    """Its names for the options are understood too."""
    haul, there = two
    theirs = haul.folder / "theirs.txt"
    container = there.removeprefix("az://").partition("/")[0]
    pair = (haul.folder / "here", f"test:{container}/t")
    try:
        rclone(haul.folder, emulator, "check", *pair, "--download", option, theirs)
    except AssertionError:
        assert theirs.exists(), "it fails because the sides differ"
    ours = haul("verify", "here", there, option, "-", code=5).text.splitlines()
    assert sorted(ours) == sorted(theirs.read_text().splitlines())


def test_standard_output_holds_one_report(two: tuple[Haul, str]) -> None:
    haul, there = two
    assert haul("verify", "here", there, "--extra", "-", code=5).text == "x/only there\n"
    hint = {"write the others to files"}
    assert haul("verify", "here", there, "--extra", "-", "--equal", "-", code=2).hints == hint
    assert haul("verify", "here", there, "--extra", "-", "--json", code=2).hints == hint


def test_nothing_but_a_report_is_replaced(two: tuple[Haul, str], sentence: Sentence) -> None:
    haul, there = two
    data = haul.folder / "data.nc"
    data.write_bytes(b"CDF\x01\x00\x00")
    for path, hint in [
        ("data.nc", "use another file for the report"),
        ("here/equal", "name a file outside what is compared"),
        ("here/x/new", "name a file outside what is compared"),
        ("..", "write --equal FILE"),
    ]:
        assert haul("verify", "here", there, "--equal", path, code=2).hints == {hint}
    same = ["--equal", "one", "--extra", "one"]
    sentence(haul("verify", "here", there, *same, code=2).hints)
    assert data.read_bytes() == b"CDF\x01\x00\x00"
    assert (haul.folder / "here/equal").read_bytes() == b"1"


def test_a_comparison_that_ends_early_leaves_the_former_report(two: tuple[Haul, str]) -> None:
    haul, _ = two
    (haul.folder / "equal.txt").write_text("before\n")
    haul("verify", "here", "az://no-such-container/", "--equal", "equal.txt", code=4)
    assert (haul.folder / "equal.txt").read_text() == "before\n"
    assert not list(haul.folder.glob(".haul-*"))


def test_python_writes_them_too(emulator: Endpoint, tmp_path: Path, sentence: Sentence) -> None:
    here = fill(tmp_path / "here", {"a": b"1", "b": b"2"})
    there = fill(tmp_path / "there", {"a": b"1", "c": b"3"})
    reports: dict[str, str | os.PathLike[str]] = {
        "combined": tmp_path / "all.txt",
        "missing": os.fspath(tmp_path / "missing.txt"),
    }
    summary = haulage.verify(here, there, reports=reports, check=False)
    assert (summary.objects_missing, summary.objects_extra) == (1, 1)
    assert sorted((tmp_path / "all.txt").read_text().splitlines()) == ["+ b", "- c", "= a"]
    assert (tmp_path / "missing.txt").read_text() == "b\n"
    with pytest.raises(haulage.UsageError) as refused:
        haulage.verify(here, there, reports={"match": "x"})
    sentence(refused.value)
    with pytest.raises(haulage.UsageError) as refused:
        haulage.copy(here, emulator.container().url("", emulator.sas()), reports={"equal": tmp_path / "x"})
    assert refused.value.hint == "compare with haul verify"
