"""What a file system refuses, and what it says to do instead."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import haulage
from filesystem.places import Counted
from haulage.filesystem import AzureFileSystem
from sentences import Sentence

KEY = haulage.AzureCredential(account="acc", key="a2V5")


def modes(place: Counted) -> object:
    return place.az.fs.open(place.az.path("a"), "ab")


def no_mode(place: Counted) -> object:
    return place.az.fs.open(place.az.path("a"), "qb")


def full_folder(place: Counted) -> object:
    place.az.fs.pipe(place.az.path("x/a"), b"a")
    place.az.fs.rmdir(place.az.path("x"))
    return None


def full_container(place: Counted) -> object:
    place.az.fs.pipe(place.az.path("x/a"), b"a")
    place.az.fs.rmdir(place.az.container)
    return None


def container_as_object(place: Counted) -> object:
    place.az.fs.rm(place.az.container)
    return None


def folder_as_object(place: Counted) -> object:
    place.az.fs.pipe(place.az.path("x/a"), b"a")
    place.az.fs.rm(place.az.path("x"))
    return None


def folder_moved(place: Counted) -> object:
    place.az.fs.pipe(place.az.path("x/a"), b"a")
    place.az.fs.mv(place.az.path("x"), place.az.path("y"))
    return None


def container_alone(place: Counted) -> object:
    return place.az.fs.pipe(place.az.container, b"a")


def both(_: Counted) -> object:
    options: dict[str, Any] = {"session": haulage.Session(), "credential": KEY, "skip_instance_cache": True}
    return AzureFileSystem(**options)


def no_option(_: Counted) -> object:
    return AzureFileSystem(account_key="a2V5", skip_instance_cache=True)


def no_credential(_: Counted) -> object:
    wrong: Any = 7
    return AzureFileSystem(credential=wrong, skip_instance_cache=True)


def hdf5(place: Counted) -> object:
    import h5py

    with place.az.fs.open(place.az.path("a.h5"), "wb") as file:
        return h5py.File(file, "w")


CASES: list[Callable[[Counted], object]] = [
    modes,
    no_mode,
    full_folder,
    full_container,
    container_as_object,
    folder_as_object,
    folder_moved,
    container_alone,
    hdf5,
    both,
    no_option,
    no_credential,
]


@pytest.mark.parametrize("call", CASES, ids=[call.__name__ for call in CASES])
def test_a_mistake_is_told_with_what_to_do(
    call: Callable[[Counted], object], counted_places: Counted, sentence: Sentence
) -> None:
    with pytest.raises(haulage.HaulageError) as caught:
        call(counted_places)
    sentence(caught.value.hint or "")
    # An option of the command is none of a call.
    assert "--" not in (caught.value.hint or "")


def test_xarray_is_told_how_to_write(counted_places: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """It said no more than that the underlying stream is not seekable."""
    import xarray as xr

    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", counted_places.emulator.connection_string)
    url = f"haulaz://{counted_places.az.path('x.nc')}"
    with pytest.raises(haulage.UnsupportedError) as caught:
        xr.Dataset({"a": ("x", [1, 2])}).to_netcdf(url, engine="h5netcdf")
    assert "write to memory first" in (caught.value.hint or "")


def test_what_is_there_is_not_replaced_unasked(
    counted_places: Counted, tmp_path: Path, sentence: Sentence
) -> None:
    fs, path = counted_places.az.fs, counted_places.az.path("a")
    fs.pipe(path, b"a")
    (tmp_path / "b").write_bytes(b"b")
    with pytest.raises(FileExistsError) as caught:
        fs.put_file(str(tmp_path / "b"), path, mode="create")
    assert isinstance(caught.value, haulage.ExistsError)
    sentence(caught.value)


def test_a_table_of_a_listing_needs_arrow(counted_places: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    counted_places.az.fs.pipe(counted_places.az.path("a"), b"a")
    with pytest.raises(haulage.UnsupportedError) as caught:
        haulage.list("mem://empty/").to_arrow()
    assert caught.value.hint == "pip install 'haulage[tables]'"
