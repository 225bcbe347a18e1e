"""Bad input: what the page and the terminal say of it, and that the server goes on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
from playwright.sync_api import Browser

from command import HAUL, clean_environment
from endpoints import Container
from view import odd_files
from view.paging import Seen, write_world
from view.viewing import Viewer, viewing

#: No build of HDF5 that we use has this filter.
JPEG = 32019


def filtered(path: Path) -> None:
    """Write a map whose only chunk passed a filter that is not here."""
    with h5py.File(path, "w") as file:
        settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        settings.set_chunk((8, 8))
        settings.set_filter(JPEG, h5py.h5z.FLAG_OPTIONAL, (1, 2))
        space, kind = h5py.h5s.create_simple((8, 8)), h5py.h5t.NATIVE_FLOAT
        h5py.h5d.create(file.id, b"v", kind, space, settings).write_direct_chunk((0, 0), b"x" * 100, 0)
        for place, (name, unit) in enumerate((("lat", "degrees_north"), ("lon", "degrees_east"))):
            file[name] = np.linspace(-70, 70, 8)
            file[name].attrs["units"] = unit
            file[name].make_scale(name)
            file["v"].dims[place].attach_scale(file[name])


def huge(path: Path) -> None:
    """Write a file that says that it holds 100 GB as one map, and holds nothing of it."""
    with netCDF4.Dataset(path, "w", format="NETCDF4") as file:
        for name, unit in (("lat", "degrees_north"), ("lon", "degrees_east")):
            file.createDimension(name, 160_000)
            file.createVariable(name, "f4", (name,), chunksizes=(10_000,), zlib=True).units = unit
        file.createVariable("v", "f4", ("lat", "lon"), chunksizes=(500, 500), zlib=True)


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("bad")
    write_world(folder / "good.nc")
    filtered(folder / "filter.h5")
    huge(folder / "huge.nc")
    (folder / "picture.nc").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(500))
    (folder / "empty.nc").write_bytes(b"")
    for name, form in (("cut3.nc", "NETCDF3_CLASSIC"), ("cut4.nc", "NETCDF4")):
        body = odd_files.netcdf(folder / "whole", form).read_bytes()
        (folder / name).write_bytes(body[: len(body) * 2 // 3])
    (folder / "whole").unlink()
    with viewing(folder) as viewer:
        yield viewer


SAID = {
    "filter.h5": "a filter that is not installed: jpeg (32019)",
    "huge.nc": "too large",
    "picture.nc": "not a NetCDF or HDF5 file",
    "empty.nc": "empty",
    "cut3.nc": "cut short",
    "cut4.nc": "cut short",
}


def test_the_page_says_what_is_wrong_and_goes_on(browser: Browser, bad: Viewer) -> None:
    one = Seen(browser, bad)
    for name, says in SAID.items():
        one.page.click(f"button[data-name='{name}']")
        one.state("failed")
        told = one.text("#notice p")
        assert says in told
        assert "hint: " in told
        # The next file draws, and the notice goes.
        one.page.click("button[data-name='good.nc']")
        one.state("done")
        assert not one.page.locator("#notice").is_visible()
    assert [text for text in one.said if "status of 4" not in text] == []
    one.opened.context.close()


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HAUL, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=clean_environment(folder),
        check=False,
    )


def test_without_the_right_to_read(blobs: Container, tmp_path: Path) -> None:
    write_world(tmp_path / "a.nc")
    blobs.client.upload_blob("a.nc", (tmp_path / "a.nc").read_bytes())
    options: dict[str, Any] = {"insecure_http": True}
    with viewing(blobs.url(sas=blobs.endpoint.sas("l")), **options) as viewer:
        assert viewer.names() == ["a.nc"]
        answer = viewer.get("/api/file", name="a.nc")
        assert (answer.status, answer.error["code"]) == (502, "permission")
        assert answer.error["hint"]
        assert "sig=" not in answer.body.decode()
        assert viewer.get("/api/info").status == 200
    # Without the right to list nothing can be shown at all: the terminal says so.
    refused = run(tmp_path, "view", blobs.url(sas=blobs.endpoint.sas("r")))
    assert refused.returncode == 3, refused.stderr
    assert "hint" in refused.stderr
    assert "sig=" not in refused.stderr


def test_the_terminal_says_what_cannot_be_indexed(tmp_path: Path) -> None:
    (tmp_path / "cut.nc").write_bytes(odd_files.netcdf(tmp_path / "a.nc", "NETCDF4").read_bytes()[:5000])
    (tmp_path / "notes.nc").write_text("no NetCDF at all")
    for name, says in (("cut.nc", "cut short"), ("notes.nc", "not a NetCDF or HDF5 file, but text")):
        refused = run(tmp_path, "index", str(tmp_path / name))
        assert refused.returncode in (1, 2), refused.stderr
        assert says in refused.stderr
        assert "hint" in refused.stderr
        assert "Traceback" not in refused.stderr
