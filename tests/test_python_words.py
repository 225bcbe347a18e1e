"""What Python says of arguments of a wrong type, of results and of plans; and names that have a question "
"mark."""

from __future__ import annotations

import array
import dataclasses
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import haulage
import haulage.ranges
from endpoints import Container
from haulage import doctor
from haulage.display import fraction, plan_table, progress_bar, progress_line, summary_line, summary_table
from haulage.errors import ArgumentTypeError
from haulage.events import Failure, PlanReport, Progress
from haulage.tables.serve.opening import named
from haulage.watch.places import Prefix
from sentences import Sentence

NOT_BYTES: list[tuple[Any, str]] = [
    ("text", "str"),
    (Path("a.nc"), "PosixPath"),
    (io.BytesIO(b"x"), "BytesIO"),
    (3, "int"),
    (None, "NoneType"),
]


@pytest.mark.parametrize(("data", "kind"), NOT_BYTES, ids=[kind for _, kind in NOT_BYTES])
def test_data_that_is_not_bytes(data: Any, kind: str, sentence: Sentence) -> None:
    def write() -> None:
        with haulage.open("mem://words/a", "wb") as file:
            file.write(data)

    calls: list[Callable[[], object]] = [lambda: haulage.put("mem://words/a", data), write]
    for call in calls:
        with pytest.raises(ArgumentTypeError) as caught:
            call()
        error = caught.value
        assert isinstance(error, haulage.UsageError)
        assert isinstance(error, TypeError)
        assert error.object == "mem://words/a"
        assert f"of type {kind}" in error.cause
        sentence(error)
    assert not haulage.exists("mem://words/a")


def test_anything_of_bytes_is_written() -> None:
    for data in (b"ab", bytearray(b"ab"), memoryview(b"ab"), array.array("B", b"ab")):
        haulage.put("mem://words/b", data)
        assert haulage.get("mem://words/b") == b"ab"


@pytest.mark.parametrize("source", [3, b"a.nc", None])
def test_a_source_that_is_no_name(source: Any, sentence: Sentence) -> None:
    for call in (haulage.copy, haulage.move, haulage.plan):
        with pytest.raises(ArgumentTypeError) as caught:
            call(source, "mem://words/")
        sentence(caught.value)
        assert type(source).__name__ in caught.value.cause


NO_PAIRS: list[Any] = [
    ["a", "b"],
    [("a", "b", "c")],
    [["a"]],
    [("a", 3)],
    [(b"a", "b")],
    {"a": "b"},
    None,
]


@pytest.mark.parametrize("given", NO_PAIRS, ids=[str(given) for given in NO_PAIRS])
def test_what_is_no_pair(given: Any, sentence: Sentence) -> None:
    with pytest.raises(haulage.UsageError) as caught:
        haulage.copy(given)
    sentence(caught.value)


def test_pairs_may_be_lists_as_json_has_them_and_come_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    pairs = [[str(tmp_path / "a"), str(tmp_path / to)] for to in "bc"]
    assert haulage.copy(pairs).objects_done == 2
    assert haulage.copy((tmp_path / "a", tmp_path / to) for to in "de").objects_done == 2
    assert [(tmp_path / to).read_bytes() for to in "bcde"] == [b"a"] * 4


def test_one_name_where_several_are_given(sentence: Sentence) -> None:
    calls: list[Callable[[Any], object]] = [
        lambda name: haulage.sync(name, "b"),
        lambda name: haulage.verify(name, "b"),
        lambda name: haulage.sync("a", name),
        lambda name: haulage.verify("a", name),
        lambda name: haulage.copy("a", name),
        lambda name: haulage.move("a", name),
        lambda name: haulage.plan("a", name),
    ]
    for call in calls:
        for wrong in (["a"], b"a", 3):
            with pytest.raises(ArgumentTypeError) as caught:
                call(wrong)
            sentence(caught.value)


def test_a_source_among_several_that_is_no_name(sentence: Sentence) -> None:
    calls: list[Callable[..., object]] = [haulage.copy, haulage.move, haulage.plan]
    for call in calls:
        with pytest.raises(ArgumentTypeError) as caught:
            call(["a", 3], "b")
        sentence(caught.value)


@pytest.mark.parametrize("option", ["include", "exclude", "files_from", "preserve"])
def test_an_option_of_several_texts_that_is_none(option: str, sentence: Sentence) -> None:
    calls: list[Callable[..., object]] = [haulage.copy, haulage.sync, haulage.move, haulage.plan]
    for call in calls:
        for wrong in (b"*.nc", 3, ["*.nc", b"*.nc"]):
            with pytest.raises(ArgumentTypeError) as caught:
                call("a", "b", **{option: wrong})
            assert caught.value.object == option
            sentence(caught.value)


def test_nothing_is_removed_by_globs_that_are_none() -> None:
    """No globs select all names, which nobody means who passes an empty list."""
    for number in range(3):
        haulage.put(f"mem://no-globs/{number}.nc", b"x")
    read = iter(["*.nc"])
    next(read)
    nothing: tuple[Any, ...] = ([], (), read, b"*.nc", [b"*.nc"], 5)
    for given in nothing:
        with pytest.raises(haulage.UsageError) as refused:
            haulage.remove("mem://no-globs/", recursive=True, include=given)
        hints = ("leave it out to remove all names", "pass a str or a list of them")
        assert refused.value.hint in hints
    assert len(list(haulage.list("mem://no-globs/"))) == 3
    some = (f"{number}.*" for number in (0, 2))
    assert haulage.remove("mem://no-globs/", recursive=True, include=some).objects == 2


def test_globs_may_come_one_by_one_and_not_from_an_iterator_that_was_read(
    tmp_path: Path, sentence: Sentence
) -> None:
    (tmp_path / "from").mkdir()
    for name in ("a.nc", "b.txt", "c.md"):
        (tmp_path / "from" / name).write_bytes(b"x")
    globs = (f"*.{kind}" for kind in ("nc", "txt"))
    assert haulage.copy(tmp_path / "from", tmp_path / "to", include=globs).objects_done == 2
    with pytest.raises(haulage.UsageError) as caught:
        haulage.copy(tmp_path / "from", tmp_path / "to", include=globs)
    sentence(caught.value)
    names = (name for name in ("c.md",))
    assert haulage.copy(tmp_path / "from", tmp_path / "to", files_from=names).objects_done == 1


def test_a_result_says_what_was_resumed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(3 << 20))
    summary = haulage.copy(tmp_path / "a", tmp_path / "b")
    assert summary_line(summary).startswith("copied 1 object, 3.0 MiB in ")
    assert "resumed" not in summary_line(summary) + summary_table(summary)
    resumed = dataclasses.replace(summary, bytes_resumed=2 << 20)
    assert ", 2.0 MiB of them resumed from an earlier run" in repr(resumed)
    assert "resumed</th>" in resumed._repr_html_()
    assert ">2.0 MiB from an earlier run<" in resumed._repr_html_()


def test_a_dry_run_does_not_say_that_it_copied(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(3 << 20))
    summary = haulage.copy(tmp_path / "a", tmp_path / "b", dry_run=True)
    assert not (tmp_path / "b").exists()
    assert repr(summary) == "<Summary: would copy 1 object, 3.0 MiB>"
    assert "would copy</th>" in summary._repr_html_()


def test_a_plan_is_short_to_read(blobs: Container, tmp_path: Path) -> None:
    for name, size in (("a", 20_000_000), ("b", 5), ("c", 7)):
        (tmp_path / name).write_bytes(bytes(size))
    haulage.put(blobs.az("x/b"), bytes(5))
    plan = haulage.plan(tmp_path, blobs.az("x/"))
    assert repr(plan).startswith("<PlanReport: would copy 3 objects, 19.1 MiB, ")
    assert repr(plan) == f"{plan}"
    assert len(repr(plan)) < 120
    shown = plan._repr_html_()
    assert '<th style="text-align:left">would copy</th><td style="text-align:left">3 objects</td>' in shown
    assert "in blocks or ranges" in shown
    assert "time at 1 Gbit/s" in shown


def test_a_plan_shows_its_problems() -> None:
    problems = tuple(
        Failure("usage", "copy", f"<{number}>", "no such name", "rename it") for number in range(12)
    )
    empty: dict[str, Any] = {field.name: 0 for field in dataclasses.fields(PlanReport)}
    said: dict[str, Any] = {"objects": 1, "block_size": None, "round_trip_ns": None, "estimates": ()}
    plan = PlanReport(**{**empty, **said, "problems": problems})
    assert repr(plan) == "<PlanReport: would copy 1 object, 0 B, 0 requests, 0 at once, 12 problems>"
    assert "&lt;0&gt;" in plan_table(plan)
    assert "<p>and 2 more: see <code>plan.problems</code></p>" in plan_table(plan)


# Names with a question mark, which is legal.


def test_names_with_a_question_mark_are_whole(blobs: Container) -> None:
    url = blobs.az("why?/now?.nc")
    haulage.put(url, b"content")
    with haulage.open(url) as file:
        assert (file.name, file.read()) == (url, b"content")
    with pytest.raises(haulage.ExistsError) as caught:
        haulage.open(url, "xb")
    assert caught.value.object == url
    with pytest.raises(haulage.UsageError) as wrong:
        haulage.ranges.get_ranges(url, [(-1, 2)])
    assert wrong.value.object == url
    with pytest.raises(haulage.UsageError) as without:
        haulage.Job.copy(url)
    assert without.value.object == url
    assert haulage.get(url) == b"content"


def test_the_doctor_names_a_question_mark(counting: haulage.Emulator, blobs: Container) -> None:
    report = doctor.examine(blobs.az("why?/now"))
    assert report.target == blobs.az("why?/now")
    signed = blobs.url("a", counting.sas("rl"))
    assert doctor.examine(signed).target == blobs.url("a")


def test_other_places_with_a_question_mark() -> None:
    assert Prefix("s3://logs/a?b/", {}).name == "s3://logs/a?b/"
    assert Prefix("https://host/c/a?sig=x", {}).name == "https://host/c/a"
    with pytest.raises(haulage.UsageError) as caught:
        named("az://c/why?.parquet")
    assert caught.value.object == "az://c/why?.parquet"
    assert named("az-table://Stations?sig=x")[0] == "Stations"


def test_failed_objects_are_not_shown_as_done() -> None:
    """The events count them among those that are finished; what people see did so, too."""
    progress = Progress(
        elapsed_ns=10**9,
        listed=True,
        objects_total=10,
        objects_done=7,
        objects_failed=3,
        objects_skipped=0,
        bytes_total=0,
        bytes_done=0,
        rate_bits_per_second=0,
        eta_ns=None,
        in_flight=0,
        retries=0,
        flushing=False,
        slowest=(),
    )
    assert ", 4 of 10 objects, " in progress_line(progress)
    assert progress_line(progress).endswith(", 3 failed")
    assert "4 of 10 objects" in progress_bar("copy", progress)
    # As for the bar, nothing is left to be done for those.
    assert fraction(progress) == 0.7
