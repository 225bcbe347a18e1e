"""`haulage.open`: an object as a file, read by ranges of one version and written whole or not at all."""

from __future__ import annotations

import gzip
import io
import multiprocessing
import random
import resource
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import xarray

import haulage
from command import clean_environment
from endpoints import Container, Endpoint, counted
from sentences import Sentence

MIB = 1 << 20


@pytest.fixture(params=["az", "mem", "path"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of an object at each kind of place."""
    if request.param == "az":
        container: Container = request.getfixturevalue("blobs")
        return container.az("a")
    return f"mem://open/{tmp_path.name}" if request.param == "mem" else str(tmp_path / "a")


def test_it_reads_as_any_file_does(url: str) -> None:
    rng = random.Random(1)
    content = rng.randbytes(300_007)
    haulage.put(url, content)
    with haulage.open(url, block_size="16KiB", max_memory="128KiB") as file:
        like = io.BytesIO(content)
        for _ in range(400):
            if rng.random() < 0.5:
                place = rng.choice([(rng.randrange(310_000), 0), (rng.randrange(1000), 1), (-5000, 2)])
                assert file.seek(*place) == like.seek(*place)
            size = rng.choice([0, 1, 100, 20_000, 70_000])
            assert file.read(size) == like.read(size)
            assert file.tell() == like.tell()
            ours, theirs = bytearray(size), bytearray(size)
            assert file.readinto(ours) == like.readinto(theirs)
            assert ours == theirs
        file.seek(0)
        assert file.read() == content
        assert (file.read(), file.read(5), file.meta.size_bytes) == (b"", b"", len(content))
        assert (file.readable(), file.seekable(), file.writable()) == (True, True, False)
    for closed in (file.read, file.tell, lambda: file.seek(0)):
        with pytest.raises(ValueError, match="closed"):
            closed()


def test_a_place_before_the_beginning_is_refused(url: str) -> None:
    haulage.put(url, b"x")
    with haulage.open(url) as file:
        for offset, whence in [(-1, 0), (-2, 2), (0, 7)]:
            with pytest.raises(ValueError):  # noqa: PT011
                file.seek(offset, whence)
        assert file.read() == b"x"


def test_a_blob_that_is_replaced_midway_is_an_error(url: str) -> None:
    haulage.put(url, bytes(4 * MIB))
    with haulage.open(url, block_size="256KiB", concurrency=1) as file:
        file.read(10)
        haulage.put(url, b"\1" * (4 * MIB))
        file.seek(3 * MIB)
        with pytest.raises(haulage.SourceChangedError):
            file.read(10)


def test_one_value_of_a_large_blob_brings_no_more_than_its_blocks(
    counting: haulage.Emulator, blobs: Container
) -> None:
    haulage.put(blobs.az("a"), bytes(8 * MIB))
    before = counting.stats()["bytes_out"]
    with haulage.open(blobs.az("a"), block_size="64KiB") as file:
        for offset in (5 * MIB, 2 * MIB, 7 * MIB, 2 * MIB):
            file.seek(offset)
            file.read(100)
    assert counting.stats()["bytes_out"] - before == 3 * 64 * 1024


def test_who_reads_on_has_the_next_ranges_fetched_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over 20 ms of round trip, 64 ranges one after another would take 1.3 s."""
    with haulage.Emulator(link="rtt=20ms") as far:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", far.connection_string)
        Endpoint("far", far.endpoint, far.connection_string).service.create_container("far")
        content = random.Random(2).randbytes(4 * MIB)
        haulage.put("az://far/a", content)
        with haulage.open("az://far/a", block_size="64KiB") as file:
            began = time.monotonic()
            found = b"".join(iter(lambda: file.read(10_000), b""))
            took = time.monotonic() - began
    assert found == content
    assert took < 0.65


def test_text_and_what_is_compressed_read_through_it(url: str) -> None:
    lines = [f"line {number}\n" for number in range(20_000)]
    with haulage.open(url, "wb") as file, gzip.open(file, "wt") as text:
        text.writelines(lines)
    with haulage.open(url) as packed, gzip.open(packed, "rt") as text:
        assert list(text) == lines
    haulage.put(url, "".join(lines).encode())
    with haulage.open(url) as plain, io.TextIOWrapper(plain) as wrapped:
        assert list(wrapped) == lines
    with haulage.open(url) as plain:
        assert plain.readline() == b"line 0\n"


def netcdf_files() -> list[Path]:
    """Return real files of climate models, where the package that has them is installed."""
    found = find_spec("iris_sample_data")
    if found is None or not found.submodule_search_locations:
        return []
    folder = Path(next(iter(found.submodule_search_locations)))
    files = sorted(folder.rglob("*.nc"))
    return [path for path in files if path.read_bytes()[:4] == b"\x89HDF"][:4]


def made(folder: Path) -> Path:
    """Return a file of NetCDF 4 with compressed chunks."""
    field = np.random.default_rng(3).normal(size=(20, 90, 180))
    data = xarray.Dataset({"tas": (("time", "lat", "lon"), field)}, attrs={"title": "made"})
    encoding = {"tas": {"zlib": True, "chunksizes": (1, 90, 180)}}
    data.to_netcdf(folder / "made.nc", engine="h5netcdf", encoding=encoding)
    return folder / "made.nc"


def test_xarray_reads_netcdf_from_it(blobs: Container, tmp_path: Path) -> None:
    for path in [made(tmp_path), *netcdf_files()]:
        haulage.copy(path, blobs.az("field.nc"), overwrite="always")
        with (
            haulage.open(blobs.az("field.nc")) as file,
            xarray.open_dataset(file, engine="h5netcdf", decode_times=False) as remote,
            xarray.open_dataset(path, engine="h5netcdf", decode_times=False) as local,
        ):
            xarray.testing.assert_identical(remote.load(), local.load())


def test_a_small_file_is_one_put_and_a_large_one_is_committed_once(
    counting: haulage.Emulator, blobs: Container
) -> None:
    def write(size: int) -> None:
        with haulage.open(blobs.az("a"), "wb") as file:
            for _ in range(size // 1000):
                assert file.write(bytes(1000)) == 1000
            assert file.tell() == size
        assert file.written is not None
        assert (file.written.size_bytes, file.written.proof) == (size, "crc64")

    assert counted(counting, lambda: write(50_000))[0] == {"PutBlob": 1}
    assert counted(counting, lambda: write(0))[0] == {"PutBlob": 1}
    assert counted(counting, lambda: write(5_000_000))[0] == {"PutBlock": 5, "PutBlockList": 1}
    assert len(haulage.get(blobs.az("a"))) == 5_000_000


def test_blocks_are_staged_while_the_file_is_written(counting: haulage.Emulator, blobs: Container) -> None:
    with haulage.open(blobs.az("a"), "wb") as file:
        file.write(bytes(6 * MIB))
        deadline = time.monotonic() + 5
        while counting.stats()["requests"].get("PutBlock", 0) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert counting.stats()["requests"]["PutBlock"] >= 4
        assert "PutBlockList" not in counting.stats()["requests"]


@pytest.mark.parametrize("size", [100, 5 * MIB])
def test_an_exception_leaves_what_was_there(url: str, size: int) -> None:
    haulage.put(url, b"before")
    file = haulage.open(url, "wb")

    def write() -> None:
        with file:
            file.write(bytes(size))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert file.closed
    assert haulage.get(url) == b"before"
    if "://" not in url:
        assert sorted(path.name for path in Path(url).parent.iterdir()) == ["a"]


def test_a_file_that_nobody_closes_is_not_written(url: str) -> None:
    haulage.put(url, b"before")
    file: haulage.objects.ObjectWriter | None = haulage.open(url, "wb")
    assert file is not None
    file.write(b"half of it")
    with pytest.warns(ResourceWarning, match="not closed"):
        file = None
    assert file is None
    assert haulage.get(url) == b"before"


def test_a_failed_write_says_why_and_commits_nothing(counting: haulage.Emulator) -> None:
    url = f"{counting.endpoint}/none/a"
    file = haulage.open(url, "wb", block_size="64KiB")

    def write_on() -> None:
        for _ in range(1000):
            file.write(bytes(64 * 1024))
            time.sleep(0.001)

    with pytest.raises(haulage.NotFoundError):
        write_on()
    assert file.closed
    with pytest.raises(ValueError, match="closed"):
        file.write(b"x")
    file.close()
    with pytest.raises(haulage.NotFoundError), haulage.open(url, "wb") as small:
        small.write(b"x")


def test_a_new_file_only(url: str, sentence: Sentence) -> None:
    with haulage.open(url, "xb") as file:
        file.write(b"first")
    with pytest.raises(haulage.ExistsError) as caught:
        haulage.open(url, "xb")
    sentence(caught.value)
    assert haulage.get(url) == b"first"


def test_two_who_write_a_new_file_do_not_both_succeed(blobs: Container) -> None:
    one, other = haulage.open(blobs.az("a"), "xb"), haulage.open(blobs.az("a"), "xb")
    one.write(b"one")
    other.write(b"other")
    other.close()
    with pytest.raises(haulage.ExistsError):
        one.close()
    assert haulage.get(blobs.az("a")) == b"other"


LARGE = """
import resource, sys, haulage
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with haulage.open(sys.argv[1], "wb", max_memory="16MiB") as file:
    for number in range(192):
        file.write(bytes([number]) * (1 << 20))
with haulage.open(sys.argv[1], max_memory="16MiB") as file:
    for number in range(192):
        assert file.read(1 << 20) == bytes([number]) * (1 << 20)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_memory_is_bounded_whatever_the_size(emulator: Endpoint, tmp_path: Path) -> None:
    url = emulator.container().az("large")
    env = clean_environment(tmp_path) | emulator.env
    ran = subprocess.run(
        [sys.executable, "-c", LARGE, url], env=env, check=True, capture_output=True, text=True
    )
    assert int(ran.stdout) < 64


def test_a_writer_does_not_outlive_a_fork(blobs: Container) -> None:
    file = haulage.open(blobs.az("a"), "wb")
    file.write(bytes(3 * MIB))

    def child() -> None:
        with pytest.raises(haulage.UsageError) as caught:
            file.write(bytes(MIB))
        assert caught.value.hint == "open it again and write it from the beginning"

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(30)
    assert process.exitcode == 0
    file.close()
    assert len(haulage.get(blobs.az("a"))) == 3 * MIB


def test_descriptors_do_not_grow_with_the_calls(blobs: Container, tmp_path: Path) -> None:
    def rounds(count: int) -> int:
        for number in range(count):
            for url in (blobs.az(f"{number % 5}"), str(tmp_path / "a")):
                haulage.put(url, b"x" * 1000)
                with haulage.open(url) as file:
                    file.read(10)
        return len(list(Path("/proc/self/fd").iterdir()))

    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 64
    assert rounds(50) <= rounds(5) + 4
