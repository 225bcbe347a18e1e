"""`haul sync --delete` deletes nothing but what only the destination has, and nothing at all in doubt."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

import endpoints
import trees
from command import Haul
from endpoints import Endpoint
from gateway import gateway
from sentences import Sentence
from sides import STORES, contents, fill, place

#: Root may read everything; this may not.
AS_A_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@pytest.fixture
def haul(emulator: Endpoint, tmp_path: Path) -> Haul:
    """The command, with the keys of both interfaces of the emulator."""
    return Haul(tmp_path, emulator.env | endpoints.by_s3(emulator).env, [endpoints.KEY])


@STORES
def test_an_empty_or_missing_source_deletes_nothing(
    haul: Haul, emulator: Endpoint, store: str, sentence: Sentence
) -> None:
    container = emulator.container()
    there = place(store, container, haul.folder, "there")
    haul("cp", fill(haul.folder / "full", {"a": b"1", "b/c": b"2"}), there)
    (haul.folder / "empty").mkdir()
    went = haul("sync", "empty", there, "--delete", code=4)
    sentence(went.hints)
    for dry in ([], ["--dry-run"]):
        went = haul("sync", "missing", there, "--delete", "--allow-empty", *dry, code=4)
        sentence(went.hints)
    assert len(contents(haul, there)) == 2
    haul("sync", "empty", there, "--delete", "--allow-empty")
    if store == "local":
        assert not trees.contents(Path(there))
    else:
        haul("ls", "-r", there, code=4)


def test_guards_stop(haul: Haul, emulator: Endpoint, sentence: Sentence) -> None:
    there = emulator.container().az("there/")
    haul("cp", fill(haul.folder / "full", {f"{n}": b"1" for n in range(10)}), there)
    fill(haul.folder / "few", {f"{n}": b"1" for n in range(5)})
    for most in ("4", "49%"):
        went = haul("sync", "few", there, "--delete", "--max-delete", most, "--json", code=1)
        assert (went.summary["objects_deleted"], went.summary["objects_extra"]) == (0, 5)
        sentence(went.hints)
    assert len(contents(haul, there)) == 10
    # What is new is copied before the number is known, and the command says so; a dry run copies nothing.
    fill(haul.folder / "few", {"new": b"2"})
    copied = "what is new or has changed was copied before the number of deletions was known"
    line = ("sync", "few", there, "--delete", "--max-delete", "0")
    assert copied not in haul(*line, "--dry-run", code=1).stderr
    assert len(contents(haul, there)) == 10
    assert copied in haul(*line, code=1).stderr
    assert len(contents(haul, there)) == 11
    assert (
        haul("sync", "few", there, "--delete", "--max-delete", "50%", "--json").summary["objects_deleted"]
        == 5
    )
    haul("sync", "few", there, "--delete", "--max-delete", "ten", code=2)


@STORES
def test_what_one_side_holds_of_the_other_is_refused(
    haul: Haul, emulator: Endpoint, store: str, sentence: Sentence
) -> None:
    outer = place(store, emulator.container(), haul.folder, "tree")
    haul("cp", fill(haul.folder / "made", {"a": b"1", "in/b": b"2"}), outer)
    inner = outer + "in/"
    for line in (
        ["sync", inner, outer, "--delete"],
        ["sync", outer, inner, "--delete"],
        ["mv", outer, inner],
    ):
        sentence(haul(*line, code=2).hints)
    assert haul("sync", outer, outer, "--delete", code=2).hints == {"name another destination"}
    haul("sync", "made", outer, "--delete", "--backup-dir", inner, code=2)
    assert sorted(contents(haul, outer)) == ["a", "in/b"]


def test_a_failed_copy_withholds_all_deletes(haul: Haul) -> None:
    there = fill(haul.folder / "there", {"gone": b"1", "a/below": b"2"})
    fill(haul.folder / "here", {"a": b"a file where there is a folder", "b": b"2"})
    went = haul("sync", "here", there, "--delete", "--json", code=1)
    assert (went.summary["objects_deleted"], went.summary["objects_failed"]) == (0, 1)
    assert "not everything was copied" in went.summary["warnings"][-1]
    assert (there / "gone").exists()


def test_links_are_neither_followed_nor_deleted(haul: Haul, sentence: Sentence) -> None:
    outside = fill(haul.folder / "outside", {"precious": b"1"})
    there = fill(
        haul.folder / "there",
        {"gone/deep/file": b"1", "stays": b"1", "linked": b"copied when links were followed"},
    )
    (there / "link").symlink_to(outside)
    here = fill(haul.folder / "here", {"stays": b"1"})
    (here / "linked").symlink_to(outside / "precious")
    haul("sync", here, there, "--delete")
    haul("sync", here, there, "--delete", "--symlinks", "follow")
    assert (outside / "precious").exists()
    assert (there / "link").is_symlink()
    assert (there / "linked").exists(), "the source has something of this name"
    assert not (there / "gone").exists(), "folders that became empty go too"
    sentence(haul("mv", here, "moved/", "--symlinks", "follow", code=2).hints)


@pytest.mark.slow("cuts a list at each of its pages")
def test_no_page_of_a_list_that_is_cut_short_leads_to_a_wrong_delete(haul: Haul, emulator: Endpoint) -> None:
    """Cut once, a page is asked for again; refused, nothing is deleted."""
    source, there, sas = emulator.container(), emulator.container(), emulator.sas()
    names = [f"{n:03}" for n in range(260)]
    extras = [f"{name}-extra" for name in names[::50]]
    fill(haul.folder / "all", dict.fromkeys(names, b""))
    for container in (source, there):
        haul("cp", "all", container.az())
    with gateway(emulator) as (state, url):
        places = [f"{url}/{container.name}/?{sas}" for container in (source, there)]
        for how in ("refuse", "cut", "end"):
            spoiled = 1
            while True:
                for name in extras:
                    there.client.upload_blob(name, b"", overwrite=True)
                state.pages, state.spoil, state.how = 0, spoiled, how
                running = haul.start("sync", *places, "--delete", "--json", "--compare", "size")
                told, said = running.communicate(timeout=100)
                if state.pages < spoiled:
                    break
                left = {blob.name for blob in there.client.list_blobs()}
                if how == "refuse":
                    assert running.returncode != 0
                    assert left == {*names, *extras}, (spoiled, said)
                else:
                    assert running.returncode == 0, (how, spoiled, said)
                    assert json.loads(told.splitlines()[-1])["objects_deleted"] == len(extras)
                    assert left == {*names}, (how, spoiled)
                spoiled += 1
            assert spoiled > 6, "both lists have several pages"


def test_what_cannot_be_listed_withholds_all_deletes(
    haul: Haul, emulator: Endpoint, sentence: Sentence
) -> None:
    """Neither a folder that may not be read, on either side, nor a token that may not list."""
    here = fill(haul.folder / "here", {"a": b"1", "in/b": b"2"})
    there = fill(haul.folder / "there", {"a": b"1", "gone": b"3", "in/b": b"2", "shut/gone": b"4"})
    before = trees.contents(there)
    for closed in (there / "shut", here / "in"):
        for dry in ([], ["--dry-run"]):
            closed.chmod(0)
            went = haul("sync", here, there, "--delete", "--json", *dry, code=1, wrap=AS_A_USER)
            closed.chmod(0o755)
            sentence(went.hints)
            sentence(went.summary["warnings"][-1])
            assert trees.contents(there) == before
    container = emulator.container()
    haul("cp", there, container.az())
    haul("sync", here, container.url("", emulator.sas("rwdc")), "--delete", code=1)
    assert len(container.contents()) == 4


def test_two_addresses_of_which_one_holds_the_other_are_refused(
    haul: Haul, emulator: Endpoint, sentence: Sentence
) -> None:
    container, sas = emulator.container(), emulator.sas()
    haul("cp", fill(haul.folder / "made", {"a": b"1", "in/b": b"2"}), container.az())
    with gateway(emulator) as (_, url):
        other = f"{url}/{container.name}"
        for line in (
            ["sync", container.url("in/", sas), f"{other}/?{sas}", "--delete"],
            ["sync", f"{other}/?{sas}", container.url("in/", sas), "--delete"],
            ["mv", container.az(), f"{other}/in/?{sas}"],
            ["mv", f"{other}/in/?{sas}", container.az()],
        ):
            sentence(haul(*line, code=2).hints)
    assert sorted(container.contents()) == ["a", "in/b"]


def test_a_log_among_what_is_deleted_is_refused(haul: Haul, emulator: Endpoint, sentence: Sentence) -> None:
    there = emulator.container()
    here = fill(haul.folder / "here", {"a": b"1"})
    line = ["sync", str(here), there.az("t/"), "--delete", "--log"]
    sentence(haul(*line, there.az("t/log/"), code=2).hints)
    haul(*line, there.az("log/"))
    haul(*line, there.az())


def test_an_extra_that_changes_after_it_was_listed_stays(
    haul: Haul, emulator: Endpoint, sentence: Sentence
) -> None:
    source = emulator.container()
    source.client.upload_blob("large", bytes(3 << 20))
    there = fill(haul.folder / "there", {"changes": b"1", "gone": b"2"})
    line = [
        "sync",
        source.az(),
        str(there),
        "--delete",
        "--json",
        "--cap",
        "8mbit",
        "--block-size",
        "256KiB",
        "--method",
        "ranges",
    ]
    code, said = haul.after_requests(
        1, "GetBlob", lambda _: (there / "changes").write_bytes(b"written by somebody meanwhile"), *line
    )
    summary = json.loads(said.splitlines()[-1])
    assert (code, summary["objects_deleted"], summary["objects_failed"]) == (6, 1, 1)
    sentence(summary["failures"][0]["hint"])
    assert (there / "changes").read_bytes() == b"written by somebody meanwhile"
    assert not (there / "gone").exists()


def test_ctrl_c_deletes_nothing_and_the_next_run_goes_on(haul: Haul, emulator: Endpoint) -> None:
    there = emulator.container()
    there.client.upload_blob("gone", b"1")
    fill(haul.folder / "here", {"large": os.urandom(3 << 20)})
    line = ["sync", "here", there.az(), "--delete", "--json", "--block-size", "256KiB"]
    code, _ = haul.after_requests(
        2,
        "PutBlock",
        lambda running: running.send_signal(signal.SIGINT),
        *line,
        "--cap",
        "8mbit",
        "--single-put-max",
        "256KiB",
    )
    assert code == 130
    assert [blob.name for blob in there.client.list_blobs()] == ["gone"]
    again = haul(*line).summary
    assert (again["objects_deleted"], again["objects_done"]) == (1, 1)
    assert again["bytes_resumed"] > 0


def test_what_the_filters_leave_out_stays_on_both_sides(
    haul: Haul, emulator: Endpoint, sentence: Sentence
) -> None:
    there = emulator.container()
    fill(haul.folder / "here", {"a": b"1", "small.nc": b"1", "large.nc": b"x" * 2000})
    for name, size in (("a", 1), ("small.nc", 2), ("gone.nc", 3), ("gone-large.nc", 3000), ("gone.txt", 3)):
        there.client.upload_blob(name, b"y" * size)
    line = ["sync", "here", there.az(), "--delete", "--include", "*.nc", "--max-size", "1KiB", "--json"]
    went = haul(*line)
    assert [event["name"] for event in went.of("object") if event["outcome"] == "deleted"] == ["gone.nc"]
    left = {name: len(content) for name, content in there.contents().items()}
    assert left == {"a": 1, "small.nc": 1, "gone-large.nc": 3000, "gone.txt": 3}
    (haul.folder / "names").write_text("a\n")
    sentence(haul(*line, "--files-from", "names", code=2).hints)
    haul("sync", "here", there.az(), "--files-from", "names")
    assert there.contents()["a"] == b"1"


@pytest.mark.parametrize(
    ("store", "parts", "api"), [("azure", 4, "PutBlock"), ("s3", 1, "UploadPart")], ids=["azure", "s3"]
)
def test_what_somebody_writes_meanwhile_is_not_deleted(
    haul: Haul, emulator: Endpoint, store: str, parts: int, api: str, sentence: Sentence
) -> None:
    """What only the destination had was deleted also if somebody had replaced it since, with exit code 0."""
    there = place(store, emulator.container(), haul.folder, "there")
    haul("cp", fill(haul.folder / "old", {"extra": b"old", "gone": b"old"}), there)
    fill(haul.folder / "newer", {"extra": b"newer"})
    fill(haul.folder / "src", {})
    trees.random_file(haul.folder / "src/big", 16 << 20)
    line = (
        "sync",
        "src",
        there,
        "--delete",
        "--cap",
        "40mbit",
        "--block-size",
        "5MiB" if parts == 1 else "1MiB",
    )
    code, said = haul.after_requests(
        parts, api, lambda _: haul("cp", "newer", there, "--overwrite", "always"), *line, "--json"
    )
    events = [json.loads(text) for text in said.splitlines()]
    (failed,) = [event["failure"] for event in events if event["event"] == "object" and event.get("failure")]
    assert (code, failed["kind"]) == (6, "source_changed")
    sentence(failed["cause"])
    found = contents(haul, there)
    assert (found.pop("extra"), set(found)) == (b"newer", {"big"})
