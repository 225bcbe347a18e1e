"""The sample data in two stores: each file opens and draws or says why not, and every value is xarray's."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest
import xarray as xr

import haulage
from endpoints import S3Endpoint
from haulage import _engine
from haulage.view.index.opening import open_file
from haulage.view.reading.place import Place
from view.test_reading import compared
from view.viewing import NETCDF_FILES, Viewer, samples, viewing

FILES = 172
#: Places of each map whose values are compared.
POINTS = 100
#: Formats of the other samples, by what the answer calls them.
_OTHERS = re.compile("Unified Model|GRIB|text")


@pytest.fixture(params=["azurite", "versitygw"])
def url(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A container of the samples."""
    service = request.getfixturevalue(request.param)
    for name, value in service.env.items():
        monkeypatch.setenv(name, value)
    if isinstance(service, S3Endpoint):
        found = f"s3://{service.new_name()}/"
        assert _engine.main(["haul", "mb", "--quiet", found]) == 0
    else:
        found = service.container().az()
    haulage.copy(samples(), found)
    return found


def drawn(viewer: Viewer, name: str) -> tuple[int, int, int]:
    """Draw a file; return how many variables were drawn, how many not, and how many values compared."""
    maps = refused = points = 0
    rng = np.random.default_rng(11)
    with xr.open_dataset(samples() / name, decode_times=False, decode_timedelta=False) as local:
        for variable in viewer.file(name)["variables"]:
            if not variable["drawn"]:
                assert variable["why_not"], (name, variable["path"])
                refused += 1
                continue
            asked: dict[str, Any] = {"name": name, "var": variable["path"]}
            head, _ = viewer.get("/api/grid", grid=variable["grid"], **asked).framed
            dims, shape = variable["dims"], variable["shape"]
            across = {axis["role"]: axis["dim"] for axis in variable["axes"] if axis["role"] in ("x", "y")}
            steps = {dim: int(rng.integers(n)) for dim, n in zip(dims, shape, strict=True)}
            index = ",".join(f"{dim}:{at}" for dim, at in steps.items() if dim not in across.values())
            said, values = viewer.get("/api/slab", index=index, **asked).framed
            assert said["shape"] == [head["ny"], head["nx"]]
            expected = local[variable["path"]].isel(
                {dim: at for dim, at in steps.items() if dim not in across.values()}
            )
            expected = expected.transpose(across["y"], across["x"]).to_numpy()
            found = values.reshape(expected.shape)
            for y, x in rng.integers(0, expected.shape, (POINTS, 2)):
                # Values outside the valid range are missing here, and xarray leaves them in.
                outside = np.isnan(found[y, x]) and "valid" in " ".join(variable["attributes"])
                same = np.array_equal(np.float32(expected[y, x]), found[y, x], equal_nan=True)
                assert same or outside, (name, variable["path"], y, x)
                points += 1
            one = viewer.get("/api/value", index=index, y=y, x=x, **asked).json
            if one["value"] is not None:
                assert one["value"] == expected[y, x].item(), (name, variable["path"])
            maps += 1
    return maps, refused, points


@pytest.mark.long
@pytest.mark.timeout(900)
def test_all_samples_in_a_store(url: str) -> None:
    place, opened, variables, total = Place(url, {}), 0, 0, np.zeros(3, int)
    began = time.monotonic()
    with viewing(url) as viewer:
        names = viewer.names()
        assert len(names) == FILES
        for name in names:
            answer = viewer.get("/api/file", name=name)
            if answer.status != 200:
                assert not name.endswith(".nc")
                assert answer.status == 422
                assert _OTHERS.search(answer.error["error"]), answer.error
                assert answer.error["hint"]
                continue
            opened += 1
            total += drawn(viewer, name)
            variables += compared(open_file(place.pin(name), None), samples() / name)
    print(
        f"{url}: {opened} of {FILES} files opened, {total[0]} variables drawn, {total[1]} say why not,"
        f" {total[2]} values of maps and {POINTS} of each of {variables} variables equal,"
        f" {time.monotonic() - began:.0f} s"
    )
    assert opened == NETCDF_FILES
