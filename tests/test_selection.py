"""What takes part: lists of names and of pairs, sizes and ages, and how long a job may take."""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

import haulage
import trees
from command import Haul
from endpoints import Container, S3Endpoint
from sentences import Sentence


def requests(emulator: haulage.Emulator) -> dict[str, int]:
    counted: dict[str, int] = emulator.stats()["requests"]
    return counted


@pytest.fixture
def counted(haul: Haul, counting: haulage.Emulator) -> Haul:
    """The command with the counting emulator's key in its environment."""
    return Haul(haul.folder, {"AZURE_STORAGE_CONNECTION_STRING": counting.connection_string})


def put(container: Container, names: dict[str, bytes]) -> None:
    for name, data in names.items():
        container.client.upload_blob(name, data)


def test_files_from_lists_nothing_and_goes_on_past_what_is_missing(
    counted: Haul, counting: haulage.Emulator, blobs: Container, tmp_path: Path, sentence: Sentence
) -> None:
    put(blobs, {f"data/{n}.nc": b"%d" % n for n in range(50)})
    (tmp_path / "names").write_bytes(b"\xef\xbb\xbf1.nc\r\n./2.nc\r\n\r\nnone.nc\r\n2.nc\r\n49.nc")
    before = requests(counting)
    run = counted("cp", "--json", f"{blobs.az()}data/", "out", "--files-from", "names", code=1)
    assert trees.contents(counted.folder / "out") == {"1.nc": b"1", "2.nc": b"2", "49.nc": b"49"}
    (failure,) = run.summary["failures"]
    assert failure["kind"] == "not_found"
    sentence(failure["hint"])
    assert failure["object"].endswith("data/none.nc")
    after = requests(counting)
    assert after.get("ListBlobs", 0) == before.get("ListBlobs", 0)
    assert after["BlobProperties"] == 4

    # Again: nothing is left to do, and still nothing is listed.
    again = counted("cp", "--json", f"{blobs.az()}data/", "out", "--files-from", "names", code=1)
    assert again.summary["objects_skipped"] == 3
    assert requests(counting)["GetBlob"] == after["GetBlob"]
    assert requests(counting).get("ListBlobs", 0) == before.get("ListBlobs", 0)


def test_files_from_up_and_between_stores_from_standard_input(
    counted: Haul, counting: haulage.Emulator, blobs: Container, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    for name in ("a b.nc", "deep/er/c\n.nc", "left.nc"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(name.encode())
    counted("cp", tree, f"{blobs.az()}up/", "--files-from0", "-", stdin=b"a b.nc\0deep/er/c\n.nc\0")
    assert blobs.contents() == {"up/a b.nc": b"a b.nc", "up/deep/er/c\n.nc": b"deep/er/c\n.nc"}
    assert requests(counting).get("ListBlobs", 0) == 1, "the client's own, which compares"
    counted("cp", f"{blobs.az()}up/", f"{blobs.az()}copy/", "--files-from", "-", stdin=b"a b.nc\n")
    assert "copy/a b.nc" in blobs.contents()
    # The same names are compared, and nothing else.
    run = counted("verify", "--json", tree, f"{blobs.az()}up/", "--files-from", "-", stdin=b"a b.nc\n")
    assert (run.summary["objects_done"], run.summary["objects_extra"]) == (1, 0)
    assert (
        counted("plan", "--json", tree, f"{blobs.az()}up/", "--files-from", "-", stdin=b"left.nc\n").events[
            0
        ]["objects"]
        == 1
    )


def test_names_that_leave_the_root_are_refused_and_the_others_go_on(haul: Haul, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_bytes(b"a")
    (tree / "link").symlink_to(tmp_path)
    names = ["../secret", str(tmp_path / "secret"), "a/../../secret", "link/secret", "a", "./", "folder/"]
    run = haul("cp", "--json", tree, "out", "--files-from", "-", code=1, stdin="\n".join(names).encode())
    assert trees.contents(haul.folder / "out") == {"a": b"a"}
    assert run.summary["objects_failed"] == 6
    assert not (haul.folder / "secret2").exists()


def test_files_from_mistakes_are_told(haul: Haul, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    cases = [
        (
            ["cp", "tree", "tree", "out", "--files-from", "-"],
            b"a",
            2,
            "give one SRC with --files-from; for several sources use --pairs FILE",
        ),
        (["cp", "tree", "out", "--files-from", "-"], b"", 4, "write one name a line, relative to SRC"),
        (
            ["cp", "tree", "out", "--files-from", "-"],
            b"a\0b\0",
            2,
            "zero bytes end the names: use --files-from0",
        ),
        (
            ["cp", "-", "out", "--files-from", "-"],
            b"a",
            2,
            "with --files-from name a folder, a container or a prefix on both sides",
        ),
        (
            ["cp", "tree", "out", "--files-from0", "-"],
            b"x" * 70_000,
            2,
            "for one name a line use --files-from",
        ),
        (["cp", "tree", "out", "--files-from", "-"], b"x" * 70_000, 2, "write one name a line"),
        (
            ["cp", "tree", "out", "--files-from", "-"],
            b"../a",
            2,
            "write names relative to SRC, such as 2024/tas.nc",
        ),
        (["cp", "tree", "out", "--max-duration", "0s"], b"", 2, "write a duration such as 2h"),
        (
            ["ls", "abfss://c@localhost/x"],
            b"",
            2,
            "write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/path",
        ),
        (["cp", "tree", "out", "--files-from", "none"], b"", 4, "check the path"),
    ]
    for line, stdin, code, hint in cases:
        assert hint in haul(*line, code=code, stdin=stdin).stderr, line


def test_sizes_and_ages(haul: Haul, tmp_path: Path, sentence: Sentence) -> None:
    tree, now = tmp_path / "tree", time.time()
    tree.mkdir()
    for name, size, days in (("small", 10, 0), ("large", 5000, 0), ("old", 5000, 30)):
        (tree / name).write_bytes(b"x" * size)
        os.utime(tree / name, (now, now - days * 86_400))
    for options, names in (
        (["--min-size", "1KiB"], {"large", "old"}),
        (["--max-size", "10B"], {"small"}),
        (["--min-age", "7d"], {"old"}),
        (["--max-age", "1w", "--min-size", "1KiB"], {"large"}),
    ):
        out = tmp_path / "-".join(options)
        haul("cp", tree, out, *options)
        assert set(trees.contents(out)) == names, options
    haul("cp", tree, "all")
    # What is left out for its size is no extra of the other side.
    run = haul("verify", "--json", tree, "all", "--min-size", "1KiB")
    assert (run.summary["objects_done"], run.summary["objects_extra"]) == (2, 0)
    said = haul("cp", tree, "none", "--min-size", "1GiB", code=4).stderr
    assert "--min-size" in said
    sentence(said)
    assert "swap the two" in haul("cp", tree, "none", "--min-age", "2d", "--max-age", "1d", code=2).stderr


def test_pairs_of_which_one_writes_what_another_reads_are_refused(
    counted: Haul, tmp_path: Path, sentence: Sentence
) -> None:
    """They go in no order: contents were lost, now and then with exit code 0."""
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    (tmp_path / "pairs").write_text("a,b\nb,c\n")
    sentence(counted("cp", "--pairs", "pairs", code=2).hints)
    assert ((tmp_path / "b").read_text(), (tmp_path / "c").exists()) == ("b", False)
    (tmp_path / "pairs").write_text("a,x\nb,y/\n")
    counted("cp", "--pairs", "pairs")
    assert (tmp_path / "y/b").read_text() == "b"


def test_pairs_in_every_format(counted: Haul, blobs: Container, tmp_path: Path, sentence: Sentence) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    put(blobs, {"a,b.nc": b"1", "c.nc": b"2"})
    sources = [blobs.az("a,b.nc"), blobs.az("c.nc")]
    for number, suffix in enumerate(("csv", "jsonl", "parquet", "arrow")):
        destinations = [str(tmp_path / f"{number}/x/one"), str(tmp_path / f"{number}/two")]
        pairs, file = list(zip(sources, destinations, strict=True)), tmp_path / f"list.{suffix}"
        table = pa.table({"size": [1, 2], "source": sources, "destination": destinations})
        if suffix == "csv":
            file.write_text("source,destination\n" + "".join(f'"{a}",{b}\n' for a, b in pairs))
        elif suffix == "jsonl":
            file.write_text("".join(json.dumps({"source": a, "destination": b}) + "\n" for a, b in pairs))
        elif suffix == "parquet":
            pq.write_table(table, file)
        else:
            with pa.ipc.new_stream(file, table.schema) as stream:
                stream.write_table(table)
        counted("cp", "--pairs", file)
        assert trees.contents(tmp_path / str(number)) == {"x/one": b"1", "two": b"2"}
        assert haulage.read_pairs(file) == pairs
        assert haulage.copy(table, overwrite="always").objects_done == 2
    (tmp_path / "bad").write_text("a,b\nc")
    said = counted("cp", "--pairs", "bad", code=2).stderr
    assert "line 2 has 1 columns" in said
    sentence(said)
    assert "parse SRC" in counted("cp", "a", "b", "--pairs", "bad", code=2).stderr


def test_a_name_with_wildcards_is_what_matches_it(haul: Haul, container: Container) -> None:
    content = {name: name.encode() for name in ("p/a1.nc", "p/a2.nc", "p/b.nc", "p/q/a3.nc", "p/a1.txt")}
    put(container, content)
    pattern = container.az("p/a*.nc")
    listed = [line.split()[-1] for line in haul("ls", pattern).text.splitlines()]
    assert listed == ["p/a1.nc", "p/a2.nc"]
    assert json.loads(haul("du", pattern, "--json").stdout)["objects"] == 2
    haul("cp", pattern, "out")
    assert trees.contents(haul.folder / "out") == {"a1.nc": b"p/a1.nc", "a2.nc": b"p/a2.nc"}
    # `*` passes `/`; other globs hold as well, and so do several sources and a sync that deletes.
    haul("cp", container.az("p/[b]*"), container.az("p/q*"), "all")
    assert set(trees.contents(haul.folder / "all")) == {"b.nc", "q/a3.nc"}
    (haul.folder / "out/a9.nc").write_text("old")
    (haul.folder / "out/kept.txt").write_text("not meant")
    haul("sync", pattern, "out", "--delete")
    assert set(trees.contents(haul.folder / "out")) == {"a1.nc", "a2.nc", "kept.txt"}
    haul("cp", "out/a?.nc", container.az("up/"))
    haul("mv", container.az("up/a*"), container.az("moved/"))
    assert {"moved/a1.nc", "moved/a2.nc"} < set(container.contents())
    haul("rm", container.az("moved/*"))
    assert set(container.contents()) == set(content)
    # A name that is there wins.
    put(container, {"p/a*.nc": b"itself"})
    haul("rm", pattern)
    assert set(container.contents()) == set(content)


def test_a_pattern_that_matches_nothing_is_not_found(haul: Haul, container: Container) -> None:
    put(container, {"path/a.nc": b"a"})
    pattern = container.az("path/x*.nc")
    for command in (["cp", pattern, "out"], ["sync", pattern, "out"], ["rm", "-r", pattern], ["rm", pattern]):
        assert "* passes /" in haul(*command, code=4).stderr, command
    for command in (["ls", pattern], ["du", pattern]):
        assert "none matches it" in haul(*command, code=4).stderr, command
    for command in (["stat", pattern], ["cat", pattern]):
        assert "one object is wanted here" in haul(*command, code=4).stderr, command
    assert not (haul.folder / "out").exists()


def test_max_duration_stops_with_130_and_the_next_run_goes_on(
    counted: Haul, blobs: Container, tmp_path: Path
) -> None:
    tree = trees.make(tmp_path / "tree", files=12, size=256 << 10, awkward=False)
    line: list[str | Path] = ["cp", "--json", tree, blobs.az(), "--block-size", "64KiB", "--cap", "8mbit"]
    began = time.monotonic()
    first = counted(*line, "--max-duration", "1s", code=130)
    assert time.monotonic() - began < 4
    assert first.summary["exit_code"] == 130
    assert "stopped by --max-duration" in first.stderr
    done = first.summary["objects_done"]
    assert 0 < done < 12
    counted(*line[:-2])
    assert blobs.contents() == trees.contents(tree)
    with pytest.raises(haulage.CancelledError) as stopped:
        haulage.copy(tree, tmp_path / "local", cap="8mbit", max_duration=timedelta(microseconds=1))
    assert stopped.value.summary is not None
    assert stopped.value.summary.exit_code == 130


def test_python_takes_the_same_options(counting: haulage.Emulator, blobs: Container, tmp_path: Path) -> None:
    put(blobs, {f"{n}.nc": b"x" * n for n in range(1, 9)})
    summary = haulage.copy(blobs.az(), tmp_path / "a", files_from=["1.nc", "8.nc", "1.nc"], min_size="2B")
    assert (summary.objects_done, summary.objects_failed) == (1, 0)
    assert requests(counting).get("ListBlobs", 0) == 0
    (tmp_path / "names").write_text("3.nc\nnone\n")
    summary = haulage.copy(blobs.az(), tmp_path / "b", files_from=tmp_path / "names", check=False)
    assert (summary.objects_done, summary.failures[0].kind) == (1, "not_found")
    with pytest.raises(haulage.NotFoundError):
        haulage.copy(blobs.az(), tmp_path / "c", max_age=timedelta(0), min_size="1GiB")


def test_files_from_on_s3(versitygw: S3Endpoint, haul: Haul, tmp_path: Path) -> None:
    s3 = Haul(haul.folder, versitygw.env)
    bucket = f"s3://{versitygw.new_name()}/"
    s3("mb", bucket.rstrip("/"))
    tree = trees.make(tmp_path / "tree", files=3, size=1000, awkward=False)
    names = "\n".join(trees.contents(tree))
    s3("cp", tree, bucket, "--files-from", "-", stdin=names.encode())
    run = s3("cp", "--json", bucket, "back", "--files-from", "-", stdin=f"{names}\nnone".encode(), code=1)
    assert trees.contents(tmp_path / "back") == trees.contents(tree)
    assert run.summary["objects_failed"] == 1


def test_addresses_of_a_data_lake(counted: Haul, blobs: Container) -> None:
    put(blobs, {"a.nc": b"lake"})
    assert counted("cat", blobs.az("a.nc").replace("az://", "abfs://")).stdout == b"lake"
