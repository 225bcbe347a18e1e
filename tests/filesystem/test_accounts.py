"""What a file system keeps is of the account of now, and of the version of now."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import fsspec
import pytest

import haulage
from endpoints import ACCOUNT, KEY
from filesystem.places import Counted
from filesystem.test_files import CONTENT
from haulage.filesystem.caches import environment
from sentences import Sentence

#: Has the environment name the first account, or the second.
Switch = Callable[[int], None]


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Switch]:
    """Two accounts with a container of the same name, and an object in it that differs."""
    with haulage.Emulator() as one, haulage.Emulator() as two:

        def switch(number: int) -> None:
            emulator = (one, two)[number]
            values = {
                "AZURE_STORAGE_CONNECTION_STRING": emulator.connection_string,
                "AWS_ENDPOINT_URL": emulator.s3["endpoint_url"],
                "AWS_ACCESS_KEY_ID": ACCOUNT,
                "AWS_SECRET_ACCESS_KEY": KEY,
                "AWS_REGION": "us-east-1",
            }
            for name, value in values.items():
                monkeypatch.setenv(name, value)

        for number in (1, 0):
            switch(number)
            for scheme in ("az", "s3"):
                haulage.make_container(f"{scheme}://of-{scheme}")
                haulage.put(f"{scheme}://of-{scheme}/d/x", bytes([number]) * 5_000_000)
                haulage.put(f"{scheme}://of-{scheme}/only-{number}", b"")
        yield switch


def files(scheme: str) -> Any:
    fsspec.filesystem(f"haul{scheme}").clear_instance_cache()
    return fsspec.filesystem(f"haul{scheme}")


@pytest.mark.parametrize("scheme", ["az", "s3"])
@pytest.mark.parametrize("closed", [True, False])
def test_another_account_is_not_answered_from_what_the_first_one_had(
    scheme: str, closed: bool, switch: Switch
) -> None:
    """Listings, sizes and bytes of the account before came back for ten seconds."""
    fs = files(scheme)
    open_files = []
    for number in (0, 1, 0):
        switch(number)
        # fsspec hands out the same one.
        assert fsspec.filesystem(f"haul{scheme}") is fs
        found = fs.ls(f"of-{scheme}", detail=False)
        assert found == [f"of-{scheme}/d", f"of-{scheme}/only-{number}"]
        assert fs.exists(f"of-{scheme}/only-{number}")
        assert not fs.exists(f"of-{scheme}/only-{1 - number}")
        fs.ls(f"of-{scheme}/d")
        file = fs.open(f"of-{scheme}/d/x")
        assert file.read(3) == bytes([number]) * 3
        if closed:
            file.close()
        else:
            open_files.append(file)
        assert fs._shards.get(f"of-{scheme}/d/x", is_index=True).read_at(0, 2) == bytes([number]) * 2


def test_a_folder_made_in_one_account_is_not_there_in_another(switch: Switch) -> None:
    fs = files("az")
    fs.mkdir("of-az/made")
    assert fs.isdir("of-az/made")
    switch(1)
    assert not fs.isdir("of-az/made")


@pytest.mark.parametrize("scheme", ["az", "s3"])
def test_an_open_file_stays_with_its_account(
    scheme: str, switch: Switch, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    fs = files(scheme)
    with fs.open(f"of-{scheme}/d/x") as file:
        assert file.read(10) == bytes(10)
        # Secrets are renewed while a program runs; this one is of no account.
        monkeypatch.setenv("AZURE_CLIENT_ID", "renewed")
        assert file.read_at(2_500_000, 10) == bytes(10)
        switch(1)
        # What is at hand is of the version that was opened.
        assert file.read_at(0, 10) == bytes(10)
        with pytest.raises(haulage.SourceChangedError, match="another account") as caught:
            file.read_at(4_900_000, 10)
        sentence(caught.value)
        switch(0)
        assert file.read_at(4_900_000, 10) == bytes(10)


def test_coroutines_are_answered_by_the_account_of_now(switch: Switch) -> None:
    async def use() -> None:
        fs = fsspec.filesystem("haulaz", asynchronous=True, skip_instance_cache=True)
        for number in (0, 1):
            switch(number)
            assert await fs._ls("of-az", detail=False) == ["of-az/d", f"of-az/only-{number}"]
            async with await fs.open_async("of-az/d/x") as file:
                assert await file.read(2) == bytes([number]) * 2

    asyncio.run(use())


def test_a_listing_that_was_under_way_is_not_kept_for_the_next_account(
    switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs = files("az")
    listed = fs._list

    def overtaken(path: str, *, recursive: bool) -> Any:
        found = listed(path, recursive=recursive)
        switch(1)
        return found

    monkeypatch.setattr(fs, "_list", overtaken)
    fs.ls("of-az")
    assert fs.ls("of-az", detail=False) == ["of-az/d", "of-az/only-1"]


def test_an_unpickled_file_system_has_nothing_of_the_account_before(switch: Switch) -> None:
    fs = files("az")
    fs.ls("of-az")
    pickled = pickle.dumps(fs)
    assert KEY.encode() not in pickled
    assert environment() not in pickled
    switch(1)
    assert pickle.loads(pickled).ls("of-az", detail=False) == ["of-az/d", "of-az/only-1"]


def test_the_environment_is_told_apart_and_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_KEY", "c2VjcmV0")
    before = environment()
    assert before == environment()
    assert b"c2VjcmV0" not in before
    for name in ("AWS_PROFILE", "AZURE_STORAGE_KEY", "https_proxy", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, "other")
        assert environment() != before, name
        before = environment()
    monkeypatch.setenv("LANG", "other")
    assert environment() == before


def test_a_file_that_was_read_is_asked_for_again_though_it_was_listed(counted_places: Counted) -> None:
    """After a listing the bytes of before came back, without a request, for ten seconds."""
    for place in (counted_places.az, counted_places.s3):
        fs, path = place.fs, place.path("d/x")
        place.fs.pipe(path, CONTENT)

        def requests(content: bytes, fs: Any = fs, path: str = path) -> int:
            before = counted_places.requests()
            with fs.open(path) as file:
                assert file.read() == content
                assert file.size == len(content)
            return counted_places.requests() - before

        fs.ls(place.path("d"))
        # Nothing is kept: to open it costs nothing, and each read is of the version that was listed.
        assert requests(CONTENT) == 2
        assert requests(CONTENT) == 1
        place.fs.pipe(path, CONTENT[::-1])
        assert requests(CONTENT[::-1]) > 1
        # Nor does the listing lead back to the version before.
        assert requests(CONTENT[::-1]) == 1
        place.fs.pipe(path, CONTENT + b"more")
        assert requests(CONTENT + b"more") > 1
        assert requests(CONTENT + b"more") == 1


def test_a_range_from_the_end_is_of_the_object_as_it_is(counted_places: Counted) -> None:
    """It was counted from the end of the object that was listed."""
    for place in (counted_places.az, counted_places.s3):
        fs, path = place.fs, place.path("d/x")
        place.fs.pipe(path, b"0123456789")
        fs.ls(place.path("d"))
        before = counted_places.requests()
        assert fs.cat_file(path, -3) == b"789"
        assert counted_places.requests() - before == 1
        place.fs.pipe(path, b"abc")
        assert fs.cat_file(path, -2) == b"bc"
        assert fs.cat_file(path, 0, -1) == b"ab"
        fs.ls(place.path("d"), refresh=True)
        place.fs.pipe(path, b"0123456789")
        assert fs.cat_file(path, 1, -3) == b"123456"
        assert fs.cat_ranges([path], [-4], [-2]) == [b"67"]
        assert fs.cat_file(path, 3, -7) == b""


def test_whole_files_that_are_kept_in_a_folder_are_checked_with_the_service(
    counted_places: Counted, tmp_path: Any
) -> None:
    for number, place in enumerate((counted_places.az, counted_places.s3)):
        path, fs = place.path("d/x"), place.fs
        place.fs.pipe(path, b"before")
        kept = {"cache_storage": str(tmp_path / str(number)), "check_files": True}
        cached = fsspec.filesystem("filecache", fs=fs, skip_instance_cache=True, **kept)
        fs.ls(place.path("d"))
        assert cached.cat_file(path) == b"before"
        place.fs.pipe(path, b"after!")
        with cached.open(path) as file:
            assert file.read() == b"after!"
