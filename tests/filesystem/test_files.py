"""Files and ranges: what is read is of one version and within a bound, what is written is whole."""

from __future__ import annotations

import asyncio
import io
import os
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import fsspec
import pandas as pd
import pytest
from fsspec.core import OpenFile

import haulage
from filesystem.places import Counted, Place
from haulage.filesystem import AzureFileSystem
from haulage.filesystem.files import ReadFile, SeekError
from sentences import Sentence

CONTENT = random.Random(3).randbytes(5_300_001)


def test_any_read_is_what_the_object_holds_and_no_more_is_kept_than_may_be(place: Place) -> None:
    rng = random.Random(place.protocol)
    place.fs.pipe(place.path("a"), CONTENT)
    for bound in (1 << 16, 3 << 20, 64 << 20):
        fs = type(place.fs)(skip_instance_cache=True, cache_bytes=bound, **place.options)
        with fs.open(place.path("a")) as file:
            assert file.size == len(CONTENT)
            for _ in range(60):
                offset, size = rng.randrange(5_400_000), rng.choice([1, 700, 40_000, 2_000_000])
                file.seek(offset)
                assert file.read(size) == CONTENT[offset : offset + size]
                assert file.tell() == max(offset, min(offset + size, len(CONTENT)) if size else offset)
            file.seek(0)
            assert b"".join(iter(lambda: file.read(300_000), b"")) == CONTENT
            assert fs.cache.used <= max(bound, 2 * fs.largest)
        # What was read is kept, within the bound, for who opens the same version again.
        assert fs.cache.used <= max(bound, 2 * fs.largest)


def test_lines_and_text(place: Place) -> None:
    fs = place.fs
    with fs.open(place.path("t.csv"), "w", encoding="utf-8") as text:
        text.writelines(f"{number},ü\n" for number in range(20_000))
    with fs.open(place.path("t.csv"), "r", encoding="utf-8") as text:
        assert sum(int(line.split(",")[0]) for line in text) == sum(range(20_000))
    with fs.open(place.path("t.csv.gz"), "wb", compression="gzip") as file:
        file.write(b"packed")
    with fs.open(place.path("t.csv.gz"), "rb", compression="infer") as file:
        assert file.read() == b"packed"


@pytest.mark.parametrize("compression", [None, "gzip", "xz"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-8-sig", "utf-8"])
def test_text_has_its_byte_order_mark(
    encoding: str, compression: str, counted_places: Counted, sentence: Sentence
) -> None:
    """UTF-16 and UTF-32 had none, and could not be read again."""
    place = counted_places.az
    for lines in ([], ["a\n", "ü"]):
        with place.fs.open(place.path("t"), "w", encoding=encoding, compression=compression) as text:
            text.writelines(lines)
            assert not text.seekable()
            with pytest.raises(SeekError) as error:
                text.seek(0)
            sentence(error.value)
        with place.fs.open(place.path("t"), compression=compression) as file:
            assert file.read() == "".join(lines).encode(encoding if lines else "utf-8")
        with place.fs.open(place.path("t"), "r", encoding=encoding, compression=compression) as text:
            assert [*text] == lines


def test_text_of_others_has_its_byte_order_mark(place: Place) -> None:
    with fsspec.open(place.url("t"), "wt", encoding="utf-16", **place.options) as text:
        text.write("a")
    assert place.fs.cat_file(place.path("t")) == "a".encode("utf-16")
    url, options = place.url("t.csv"), place.options
    pd.DataFrame({"a": [1]}).to_csv(url, index=False, encoding="utf-16", storage_options=options)
    assert place.fs.cat_file(place.path("t.csv")) == "a\n1\n".encode("utf-16")


def test_ranges_of_all_kinds(place: Place) -> None:
    fs = place.fs
    fs.pipe({place.path("a"): CONTENT, place.path("empty"): b""})
    for start, end in [(None, None), (0, 5), (5, None), (-7, None), (-9, -2), (3, -3), (7, 3), (10, 10**8)]:
        assert fs.cat_file(place.path("a"), start, end) == CONTENT[start:end], (start, end)
    assert fs.cat_file(place.path("empty")) == b""
    with fs.open(place.path("empty")) as file:
        assert (file.read(), file.size) == (b"", 0)
    with pytest.raises(FileNotFoundError):
        fs.cat_file(place.path("none"), 0, 5)
    with pytest.raises(FileNotFoundError):
        fs.open(place.path("none"))


def test_near_ranges_are_one_request_and_errors_stay_with_theirs(counted_places: Counted) -> None:
    for place in (counted_places.az, counted_places.s3):
        fs = place.fs
        fs.pipe(place.path("a"), CONTENT)
        starts = [0, 5000, 9000, 3_000_000]
        before = counted_places.requests()
        found = fs.cat_ranges([place.path("a")] * 4, starts, [start + 100 for start in starts])
        assert found == [CONTENT[start : start + 100] for start in starts]
        assert counted_places.requests() - before == 2
        mixed = fs.cat_ranges(
            [place.path("none"), place.path("a"), place.path("a")], [0, -4, 2], [9, None, 2]
        )
        assert isinstance(mixed[0], FileNotFoundError)
        assert mixed[1:] == [CONTENT[-4:], b""]
        with pytest.raises(FileNotFoundError):
            fs.cat_ranges([place.path("none")], [0], [9], on_error="raise")


def test_a_file_opens_with_one_request_and_a_small_one_needs_no_other(counted_places: Counted) -> None:
    for place in (counted_places.az, counted_places.s3):
        place.fs.pipe(place.path("small"), CONTENT[:700_000])
        fs, before = place.fs, counted_places.requests()
        with fs.open(place.path("small")) as file:
            assert file.read() == CONTENT[:700_000]
        assert counted_places.requests() - before == 1


def test_who_opens_the_same_version_again_asks_for_no_more_than_the_version(counted_places: Counted) -> None:
    for place in (counted_places.az, counted_places.s3):
        fs, path = place.fs, place.path("again")
        place.fs.pipe(path, CONTENT)
        with fs.open(path) as file:
            assert file.read() == CONTENT
        before = counted_places.requests()
        with fs.open(path) as file:
            assert file.read() == CONTENT
        assert counted_places.requests() - before == 1
        place.fs.pipe(path, CONTENT[::-1])
        with fs.open(path) as file:
            assert file.read() == CONTENT[::-1]


def test_an_object_that_changes_under_the_reader_is_an_error_not_mixed_bytes(place: Place) -> None:
    fs = place.fs
    fs.pipe(place.path("a"), CONTENT)
    with fs.open(place.path("a")) as file:
        assert file.read(1000) == CONTENT[:1000]
        place.fs.pipe(place.path("a"), CONTENT[::-1])
        file.seek(4_000_000)
        with pytest.raises(haulage.SourceChangedError):
            file.read(1000)
    with fs.open(place.path("a")) as file:
        assert file.read(1000) == CONTENT[::-1][:1000]


def test_who_knows_an_object_from_a_listing_reads_the_version_that_was_listed(place: Place) -> None:
    fs = place.fs
    fs.pipe(place.path("d/a"), CONTENT)
    assert [entry["size"] for entry in fs.ls(place.path("d"))] == [len(CONTENT)]
    place.fs.pipe(place.path("d/a"), CONTENT + b"more")
    with fs.open(place.path("d/a")) as file, pytest.raises(haulage.SourceChangedError):
        file.read()
    fs.invalidate_cache()
    with fs.open(place.path("d/a")) as file:
        assert file.read() == CONTENT + b"more"


def test_what_fails_or_is_left_open_writes_nothing(place: Place) -> None:
    fs, path = place.fs, place.path("a")
    fs.pipe(path, b"before")
    with pytest.raises(RuntimeError, match="no"), fs.open(path, "wb") as file:  # noqa: PT012
        file.write(CONTENT)
        raise RuntimeError("no")
    with pytest.warns(ResourceWarning, match="was not closed"):
        fs.open(path, "wb").write(CONTENT)
    assert fs.cat(path) == b"before"
    with pytest.raises(FileExistsError):
        fs.open(path, "xb")
    with pytest.raises(FileExistsError):
        fs.pipe_file(path, b"other", mode="create")
    with fs.transaction:
        with fs.open(path, "wb") as file:
            file.write(b"after")
        assert fs.cat(path) == b"before"
    assert fs.cat(path) == b"after"


@pytest.mark.parametrize("how", ["fs.open", "fsspec.open"])
@pytest.mark.parametrize("mode", ["wb", "w"])
@pytest.mark.parametrize("compression", [None, "gzip", "zip"])
def test_what_fails_within_a_wrapper_writes_nothing(
    how: str, mode: str, compression: str | None, place: Place
) -> None:
    """Half of a text, of a compressed file, and of any from `fsspec.open` replaced the object."""
    fs, path = place.fs, place.path("a")
    fs.pipe(path, b"before")

    def opened() -> Any:
        if how == "fs.open":
            return fs.open(path, mode, compression=compression)
        return OpenFile(fs, path, mode, compression)

    half: Any = b"half" if "b" in mode else "half"
    with pytest.raises(RuntimeError, match="no"), opened() as file:  # noqa: PT012
        file.write(half)
        raise RuntimeError("no")
    assert fs.cat(path) == b"before"
    try:
        raise RuntimeError("before it was opened")
    except RuntimeError:
        # Somebody writes down what went wrong.
        with opened() as file:
            file.write(half)
    with fs.open(path, "rb", compression=compression) as file:
        assert file.read() == b"half"


def test_what_pandas_fails_to_write_is_not_written(place: Place) -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("no")

    fs, path = place.fs, place.path("a.csv")
    to: Any = {"path_or_buf": place.url("a.csv"), "storage_options": place.options}
    fs.pipe(path, b"before")
    for compression in ("gzip", None):
        with pytest.raises(RuntimeError, match="no"):
            pd.DataFrame({"a": [1, Odd()]}).to_csv(**to, compression=compression)
        assert fs.cat(path) == b"before"
    pd.DataFrame({"a": [1]}).to_csv(**to, index=False)
    assert fs.cat(path) == b"a\n1\n"


@pytest.mark.parametrize("mode", ["ab", "r+b", "q"])
def test_modes_that_objects_do_not_have(mode: str) -> None:
    with pytest.raises(haulage.UsageError) as refused:
        AzureFileSystem()._open("c/a", mode)
    assert refused.value.hint


def test_64_threads_on_one_file_and_on_many(place: Place) -> None:
    fs = place.fs
    fs.pipe({place.path(f"t/{number}"): bytes([number]) * 40_000 for number in range(64)})
    fs.pipe(place.path("a"), CONTENT)
    shared = fs.open(place.path("a"))

    def work(number: int) -> bool:
        rng = random.Random(number)
        for _ in range(8):
            offset = rng.randrange(5_000_000)
            if shared.read_at(offset, 9000) != CONTENT[offset : offset + 9000]:
                return False
        return bool(fs.cat(place.path(f"t/{number}")) == bytes([number]) * 40_000)

    with ThreadPoolExecutor(64) as threads:
        assert all(threads.map(work, range(64)))


def test_a_forked_child_goes_on_with_the_file_system_and_its_files(place: Place) -> None:
    fs = place.fs
    fs.pipe(place.path("a"), CONTENT)
    file = fs.open(place.path("a"))
    assert file.read(5) == CONTENT[:5]
    pid = os.fork()
    if pid == 0:
        good = False
        try:
            good = file.read(3_000_000) == CONTENT[5:3_000_005] and fs.cat(place.path("a")) == CONTENT
            fs.pipe(place.path("child"), b"written in a child")
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert file.read(100) == CONTENT[5:105]
    assert fs.cat(place.path("child")) == b"written in a child"


def test_coroutines(place: Place) -> None:
    async def use() -> None:
        fs = fsspec.filesystem(place.protocol, asynchronous=True, skip_instance_cache=True, **place.options)
        await fs._pipe({place.path(f"c/{number}"): str(number).encode() for number in range(30)})
        found = await fs._cat(place.path("c/*"))
        assert sorted(found.values()) == sorted(str(number).encode() for number in range(30))
        async with await fs.open_async(place.path("c/s"), "wb") as writing:
            await writing.write(b"one two")
        async with await fs.open_async(place.path("c/s")) as reading:
            reading.seek(4)
            assert await reading.read() == b"two"

    asyncio.run(use())


def test_a_copy_stops_where_its_coroutine_is_cancelled(counted_places: Counted, tmp_path: Any) -> None:
    place = counted_places.az
    (tmp_path / "big").write_bytes(bytes(20 << 20))

    async def use() -> None:
        options = {**place.options, "cap": "8mbit"}
        fs = fsspec.filesystem(place.protocol, asynchronous=True, skip_instance_cache=True, **options)
        await asyncio.wait_for(fs._put_file(tmp_path / "big", place.path("big")), 0.5)

    with pytest.raises(TimeoutError):
        asyncio.run(use())
    assert not place.fs.exists(place.path("big"))


def test_progress_of_fsspec(place: Place, tmp_path: Any) -> None:
    class Told(fsspec.Callback):  # type: ignore[misc]
        pass

    (tmp_path / "a").write_bytes(CONTENT)
    callback = Told()
    place.fs.put_file(tmp_path / "a", place.path("a"), callback=callback)
    assert (callback.size, callback.value) == (len(CONTENT), len(CONTENT))
    place.fs.get_file(place.path("a"), tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == CONTENT
    with pytest.raises(FileExistsError):
        place.fs.put_file(tmp_path / "a", place.path("a"), mode="create")


def test_no_secret_is_pickled_shown_or_kept_by_fsspec(place: Place) -> None:
    fs = place.fs
    with pytest.raises(TypeError, match=r"package\.module:function"):
        pickle.dumps(fs)
    assert haulage.Session is not None
    secrets = ("Eby8vdM02xNOcqFlqUw", "secret-of-haul-tests")
    kept = f"{fs.storage_options} {fs.to_json()} {fs!r} {fs._fs_token}"
    assert not any(secret in kept for secret in secrets)
    # JSON leads back to it within the process.
    assert fsspec.AbstractFileSystem.from_json(fs.to_json()).ls(place.container) == []


def test_two_credentials_are_two_file_systems() -> None:
    first = haulage.S3Credential(key_id="one", secret="first")
    second = haulage.S3Credential(key_id="one", secret="second")
    assert repr(first) == repr(second)
    one, two = (fsspec.filesystem("hauls3", credential=credential) for credential in (first, second))
    assert one is not two
    assert one != two
    assert fsspec.filesystem("hauls3", credential=first) is one


def emulator_credential() -> haulage.AzureCredential:
    """Stands in for a user's own function, which other processes import."""
    return haulage.AzureCredential(connection_string=os.environ["TEST_FILESYSTEM_CONNECTION"])


def test_what_finds_its_credentials_anew_is_pickled(
    counted_places: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = counted_places.az
    place.fs.pipe(place.path("a"), CONTENT)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", counted_places.emulator.connection_string)
    monkeypatch.setenv("TEST_FILESYSTEM_CONNECTION", counted_places.emulator.connection_string)
    by_name = fsspec.filesystem("haulaz", credential="filesystem.test_files:emulator_credential")
    for fs in (fsspec.filesystem("haulaz"), by_name):
        again = pickle.loads(pickle.dumps(fs))
        assert again.cat_file(place.path("a"), 0, 9) == CONTENT[:9]
        with fs.open(place.path("a")) as file:
            file.seek(77)
            assert pickle.loads(pickle.dumps(file)).read(10) == CONTENT[77:87]
    with pytest.raises(haulage.UsageError):
        fsspec.filesystem("haulaz", credential="filesystem.test_files:nothing")


def test_options_that_are_none_are_refused_by_name() -> None:
    with pytest.raises(haulage.UsageError, match="credential="):
        AzureFileSystem(key="c2VjcmV0")
    with pytest.raises(haulage.UsageError, match="both credential and session"):
        AzureFileSystem(session=haulage.Session(), credential="a:b")


def test_files_are_files(place: Place) -> None:
    place.fs.pipe(place.path("a"), b"one\ntwo\n")
    with place.fs.open(place.path("a")) as file:
        assert isinstance(file, ReadFile)
        assert isinstance(file, io.BufferedIOBase)
        assert file.readlines() == [b"one\n", b"two\n"]
        file.seek(-4, os.SEEK_END)
        buffer = bytearray(9)
        assert file.readinto(buffer) == 4
        assert (file.readable(), file.seekable(), file.writable()) == (True, True, False)
        assert file.full_name == place.url("a")
    with pytest.raises(ValueError, match="closed"):
        file.read()
