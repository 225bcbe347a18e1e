"""What people do all day, in cases that once ended wrong."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import endpoints
from command import HAUL, Haul, in_own_mounts
from endpoints import Endpoint
from sentences import Sentence
from sides import fill

FULL = "mount -t tmpfs -o size=4k tmpfs full && head -c 4096 /dev/zero > full/file"


@pytest.fixture
def haul(emulator: Endpoint, tmp_path: Path) -> Haul:
    """The command, with the keys of both interfaces of the emulator."""
    return Haul(tmp_path, emulator.env | endpoints.by_s3(emulator).env, [endpoints.KEY])


@pytest.mark.parametrize("output", ["--receipt", "--record"])
def test_an_output_that_cannot_be_written_hides_no_failed_copy(
    haul: Haul, output: str, sentence: Sentence
) -> None:
    """It said that the copy was done, and nothing of the objects that had failed."""
    (haul.folder / "full").mkdir()
    (haul.folder / "a").write_bytes(b"a")
    full = in_own_mounts(FULL)
    said = haul("cp", "a", "az://no-such-container/a", output, "full/output", code=1, wrap=full)
    assert "no such container" in said.stderr
    assert "failed: 1 object" in said.stderr
    sentence(said.hints)


@pytest.mark.parametrize("output", ["--receipt", "--record"])
def test_an_output_that_cannot_be_written_is_in_the_summary(
    haul: Haul, emulator: Endpoint, output: str
) -> None:
    """The last line of `--json` said that all was well."""
    (haul.folder / "full").mkdir()
    (haul.folder / "a").write_bytes(b"a")
    to = emulator.container().az("a")
    ran = haul("cp", "a", to, output, "full/output", "--json", code=1, wrap=in_own_mounts(FULL))
    assert (ran.summary["objects_done"], ran.summary["exit_code"]) == (1, 1)
    assert [failure["object"] for failure in ran.summary["failures"]] == ["full/output"]


def test_one_pair_that_cannot_be_read_leaves_the_others(
    haul: Haul, emulator: Endpoint, sentence: Sentence
) -> None:
    """One source without permission, or a folder, ended the whole list."""
    container = emulator.container()
    fill(haul.folder / "here", {"a": b"1", "b": b"2"})
    refused = container.url("x", emulator.sas("wl"))
    to = container.az("")
    rows = [(refused, "x"), ("here", f"{to}folder"), (container.az("no/"), "y"), ("here/a", f"{to}a")]
    (haul.folder / "pairs.csv").write_text("".join(f"{source},{there}\n" for source, there in rows))
    said = haul("cp", "--pairs", "pairs.csv", code=1)
    assert container.contents() == {"a": b"1"}
    assert "failed: 3 objects" in said.stderr
    assert re.search(r"here/?: ", said.stderr)
    sentence(said.hints)


@pytest.mark.parametrize("row", ["-,{}b", "here/b,-", "here/b,az:x"])
def test_pairs_that_cannot_be_meant_are_refused_before_any_is_copied(
    haul: Haul, emulator: Endpoint, row: str, sentence: Sentence
) -> None:
    container = emulator.container()
    fill(haul.folder / "here", {"a": b"1", "b": b"2"})
    (haul.folder / "pairs.csv").write_text(f"here/a,{container.az('a')}\n{row.format(container.az(''))}\n")
    said = haul("cp", "--pairs", "pairs.csv", code=2)
    sentence(said.hints)
    assert not container.contents()


@pytest.mark.parametrize("verb", ["cp", "mv", "sync"])
def test_bounds_hold_for_an_object_that_is_named(
    haul: Haul, emulator: Endpoint, verb: str, sentence: Sentence
) -> None:
    """`haul mv *.nc URL --min-size 1KiB` moved every file that the shell had found."""
    container = emulator.container()
    fill(haul.folder, {"small.nc": b"1", "large.nc": bytes(2000)})
    said = haul(verb, "small.nc", container.az("one"), "--min-size", "1KiB", code=4)
    sentence(said.hints)
    assert not container.contents()
    if verb != "sync":
        haul(verb, "small.nc", "large.nc", container.az("all/"), "--min-size", "1KiB")
        assert set(container.contents()) == {"all/large.nc"}
        assert (haul.folder / "small.nc").exists()
    haul("verify", "small.nc", container.az("one"), "--min-size", "1KiB", code=4)


@pytest.mark.parametrize("pattern", ["./kept/**", "./kept/", ".//kept/*"])
def test_a_pattern_that_begins_with_the_folder_itself_is_refused(
    haul: Haul, emulator: Endpoint, pattern: str
) -> None:
    """Such a pattern matched nothing, so that what it should protect was deleted."""
    container = emulator.container()
    fill(haul.folder / "here", {"a": b"1"})
    fill(haul.folder / "there", {"a": b"1", "kept/b": b"2"})
    haul("cp", "there", container.az())
    said = haul("sync", "here", container.az(), "--delete", "--exclude", pattern, code=2)
    assert "kept/**" in said.stderr or "kept/*" in said.stderr
    haul("rm", "-r", container.az(), "--exclude", pattern, code=2)
    assert len(container.contents()) == 2


def test_a_link_that_is_named_is_not_moved(haul: Haul, emulator: Endpoint, sentence: Sentence) -> None:
    """It was copied, then the move failed: `copied 1 of 2 objects`."""
    container = emulator.container()
    (haul.folder / "file").write_bytes(b"1")
    (haul.folder / "link").symlink_to("file")
    said = haul("mv", "link", container.az("x"), code=2)
    sentence(said.hints)
    assert not container.contents()
    haul("cp", "link", container.az("x"))
    assert container.contents() == {"x": b"1"}


def test_a_folder_with_links_is_listed_and_counted(haul: Haul, sentence: Sentence) -> None:
    """`ls` and `du` ended with 1 wherever a link was, and advised to name it as a source."""
    fill(haul.folder / "here", {"a": b"1"})
    (haul.folder / "here" / "link").symlink_to("a")
    for args in (("ls",), ("ls", "-r"), ("du",)):
        said = haul(*args, "here")
        assert "here/link" in said.stderr
        sentence(said.stderr)
        assert not haul(*args, "here", "--quiet").stderr
    assert "(hint: name the file itself as a source to copy it)" in haul("plan", "here", "there").text


def test_objects_below_several_names_are_removed_and_counted_once(haul: Haul, emulator: Endpoint) -> None:
    container = emulator.container()
    haul("cp", fill(haul.folder / "made", {"a/b/x": b"1", "a/y": b"2", "ab": b"3"}), container.az())
    both = [container.az("a/b"), container.az("a"), container.az("a/")]
    planned = haul("rm", "-r", *both, "--dry-run")
    assert sorted(planned.text.split()) == [container.az("a/b/x"), container.az("a/y")]
    # By a pattern the first name takes nothing, so that it hides nothing of the second.
    kept = haul("rm", "-r", *both, "--include", "b/*", "--dry-run")
    assert kept.text.split() == [container.az("a/b/x")]
    removed = haul("rm", "-r", *both, "--max-delete", "2", "--json").events
    assert [event["objects"] for event in removed] == [1, 1, 0]
    assert set(container.contents()) == {"ab"}


def test_a_dry_run_refuses_what_the_run_would(haul: Haul, emulator: Endpoint) -> None:
    """It said what would be removed, and nothing of `--max-delete`, by which nothing is."""
    container = emulator.container()
    haul("cp", fill(haul.folder / "made", {"a/x": b"1", "a/y": b"2"}), container.az())
    (haul.folder / "made" / ".haul-0123456789abcdef.ranges.partial").write_bytes(b"left")
    everything = container.az("").rstrip("/")
    for args in (("rm", "-r", container.az()), ("rb", "--force", everything), ("clean", "made")):
        dry = haul(*args, "--max-delete", "0", "--dry-run", code=2)
        run = haul(*args, "--max-delete", "0", code=2)
        assert dry.stderr.splitlines()[-1].partition(" (hint")[0] == run.stderr.partition(" (hint")[0]
        assert (dry.hints, run.hints) == (
            {"raise --max-delete"},
            {"review them with --dry-run, then raise --max-delete"},
        )
        # What there is to review is said before it.
        assert len(dry.text.split()) == {"rm": 2, "rb": 0, "clean": 1}[args[0]]
        assert haul(*args, "--max-delete", "2", "--dry-run").stderr.startswith("would remove")
    assert len(container.contents()) == 2


def test_a_list_of_names_says_what_is_not_there(haul: Haul, emulator: Endpoint, sentence: Sentence) -> None:
    """The hint was about the list if the container was missing, and to remove SRC if it was a file."""
    (haul.folder / "names").write_text("x\n")
    said = haul("cp", "az://no-such-container/a", "back/", "--files-from", "names", code=4)
    sentence(said.hints)
    (haul.folder / "file").write_bytes(b"1")
    said = haul("cp", "file", emulator.container().az(), "--files-from", "names", code=1)
    sentence(said.hints)


def test_a_stream_has_no_dry_run(haul: Haul, emulator: Endpoint) -> None:
    """The hint was to write what had been written."""
    for args in (("-", emulator.container().az("x")), (emulator.container().az("x"), "-")):
        assert haul("cp", *args, "--dry-run", code=2, stdin=b"1").hints == {"leave out --dry-run"}


@pytest.mark.parametrize(
    ("args", "resumes"),
    [
        (("cp", "here", "{}"), True),
        (("cp", "-", "{}x"), False),
        (("verify", "here", "{}"), False),
        (("sync", "here", "{}", "--dry-run"), False),
    ],
)
def test_only_what_can_be_resumed_is_said_to_be(
    haul: Haul, emulator: Endpoint, args: tuple[str, ...], resumes: bool
) -> None:
    """After Ctrl-C a comparison, a dry run and a copy of a stream said that the same command resumes."""
    fill(haul.folder / "here", {"a": bytes(300_000)})
    container = emulator.container()
    words = [arg.format(container.az("")) for arg in args]
    if args[0] == "verify":
        haul("cp", "here", container.az())
    # A pipe into which nobody writes, and a link on which next to nothing moves.
    slow = ("--files-from", "-") if "--dry-run" in args else ("--cap", "8kbit")
    process = subprocess.Popen(
        [HAUL, *words, *slow],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=haul.env,
        cwd=haul.folder,
        start_new_session=True,
    )
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert ("run the same command again to resume" in err.decode()) is resumes
    assert ("the same command starts over" in err.decode()) is not resumes


def test_an_excluded_folder_is_not_deleted_for_want_of_stars(haul: Haul, emulator: Endpoint) -> None:
    """`--exclude .git` left out no file below `.git`, and `sync --delete` and `rm -r` deleted them."""
    container = emulator.container()
    fill(haul.folder / "here", {"a": b"1"})
    fill(haul.folder / "there", {"a": b"1", ".git/config": b"2", "sub/.git/config": b"3"})
    haul("cp", "there", container.az())
    for pattern, instead in ((".git", ".git/**"), ("*/.git", "*/.git/**")):
        hint = {f"write '{instead}' for all below a folder"}
        assert haul("sync", "here", container.az(), "--delete", "--exclude", pattern, code=1).hints == hint
        assert haul("rm", "-r", container.az(), "--exclude", pattern, code=2).hints == hint
        assert len(container.contents()) == 3
        # What is only copied is copied, and it is said.
        assert haul("cp", "there", "back/", "--exclude", pattern).hints == hint
    haul("sync", "here", container.az(), "--delete", "--exclude", ".git/**", "--exclude", "*/.git/**")
    assert len(container.contents()) == 3


def test_a_report_takes_the_place_of_no_receipt(haul: Haul, emulator: Endpoint, sentence: Sentence) -> None:
    container = emulator.container()
    haul("cp", fill(haul.folder / "here", {"a": b"1"}), container.az(), "--receipt", "receipt")
    kept = (haul.folder / "receipt").read_bytes()
    said = haul("verify", "here", container.az(), "--combined", "receipt", code=2)
    sentence(said.hints)
    assert (haul.folder / "receipt").read_bytes() == kept


def test_a_log_inside_what_is_moved_is_refused(haul: Haul, emulator: Endpoint, sentence: Sentence) -> None:
    """The log was moved while it was written."""
    here = fill(haul.folder / "here", {"a": b"1"})
    said = haul("mv", here, emulator.container().az(), "--log", "here/log", code=2)
    sentence(said.hints)
    assert (here / "a").exists()


def test_a_dry_run_says_what_cannot_be_written(haul: Haul, emulator: Endpoint) -> None:
    """It said that it would copy what the run then could not, as something was in the way."""
    container = emulator.container()
    names = {"plain": b"1", "folder": b"2", "file/x": b"3", "link/y": b"4", "linked": b"5", "new/z": b"6"}
    haul("cp", fill(haul.folder / "made", names), container.az())
    container.client.upload_blob("a//b", b"7")
    there = fill(haul.folder / "there", {"folder/x": b"1", "file": b"2", "plain": b"3"})
    (there / "link").symlink_to("folder")
    (there / "linked").symlink_to("file")
    for verb in (("cp",), ("sync",), ("sync", "--delete")):
        planned = haul(*verb, container.az(), f"{there}/", "--dry-run", "--json", code=1)
        assert (planned.summary["objects_done"], planned.summary["objects_failed"]) == (2, 5)
    ran = haul("cp", container.az(), f"{there}/", "--json", code=1)
    assert (ran.summary["objects_done"], ran.summary["objects_failed"]) == (2, 5)
    causes = [sorted(failure["cause"] for failure in one.summary["failures"]) for one in (planned, ran)]
    assert causes[0] == causes[1]
