"""Slices of NetCDF and Zarr through file systems of fsspec: haulage beside adlfs and s3fs, requests counted.

python benchmarks/arrays.py                        over a link of 60 ms, some minutes
python benchmarks/arrays.py --link rtt=60ms,conn=100mbit,total=1gbit
python benchmarks/arrays.py --days 90 --times 2    a look

The others run in the Python of `make peers-bench`, or in PEERS_PYTHON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import haulage

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / "benchmarks/peers/arrays_run.py"
PEERS = os.environ.get("PEERS_PYTHON", str(ROOT / "build/peers/bin/python"))
CONTAINER = "arrays"
KINDS = {
    "a.nc": "NetCDF, a layer a chunk",
    "a.zarr": "Zarr, a chunk an object",
    "s.zarr": "Zarr, chunks in shards",
}


@dataclass(frozen=True)
class Arm:
    """One file system: which Python, which protocol, which options, what is in its environment."""

    python: str
    protocol: str
    options: dict[str, Any]
    environment: dict[str, str]


def main() -> None:
    """Print a line of JSON for each pair, and a table of all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--link", default="rtt=60ms", help="the emulator's link")
    parser.add_argument("--days", type=int, default=360, help="layers of each variable, 259 kB each")
    parser.add_argument("--times", type=int, default=3, help="readings, of which the quickest counts")
    args = parser.parse_args()
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        haulage.Emulator(link=args.link) as emulator,
    ):
        make(Path(folder), args.days)
        fill(emulator, Path(folder))
        for service, (ours, theirs) in arms(emulator).items():
            for name in KINDS:
                for slice_ in ("month", "point"):
                    if theirs.protocol == "az" and name == "s.zarr":
                        # adlfs cannot read the end of an object, where a shard has its index.
                        continue
                    pair = [measured(emulator, arm, name, slice_, args.times) for arm in (ours, theirs)]
                    row = compared(service, name, slice_, *pair)
                    rows.append(row)
                    print(json.dumps(row), flush=True)
    print(table(rows))


def make(folder: Path, days: int) -> None:
    """Write the same two variables as NetCDF, as Zarr and as Zarr in shards."""
    values = np.random.default_rng(1).normal(280, 10, size=(2, days, 180, 360)).astype("f4")
    axes = {"time": np.arange(days), "lat": np.linspace(-90, 90, 180), "lon": np.arange(360.0)}
    variables = {name: (("time", "lat", "lon"), values[at]) for at, name in enumerate(("tas", "pr"))}
    data = xr.Dataset(variables, axes)
    layers = {name: {"chunksizes": (1, 180, 360)} for name in variables}
    data.to_netcdf(folder / "a.nc", engine="h5netcdf", encoding=layers)
    blocks: dict[str, dict[str, Any]] = {name: {"chunks": (10, 90, 180)} for name in variables}
    shards: dict[str, dict[str, Any]] = {
        name: {"chunks": (10, 30, 60), "shards": (30, 180, 360)} for name in variables
    }
    data.to_zarr(folder / "a.zarr", zarr_format=3, consolidated=True, encoding=blocks)
    data.to_zarr(folder / "s.zarr", zarr_format=3, consolidated=True, encoding=shards)


def fill(emulator: haulage.Emulator, folder: Path) -> None:
    """Upload all of it; both interfaces of the emulator lead to the same objects."""
    credential = haulage.AzureCredential(connection_string=emulator.connection_string)
    with haulage.Session(credential) as session:
        haulage.make_container(f"az://{CONTAINER}", session=session)
        haulage.copy(folder, f"az://{CONTAINER}", session=session)


def arms(emulator: haulage.Emulator) -> dict[str, tuple[Arm, Arm]]:
    """Return for each interface ours and the other's."""
    keys = emulator.s3
    azure = {"AZURE_STORAGE_CONNECTION_STRING": emulator.connection_string}
    aws = {
        "AWS_ACCESS_KEY_ID": keys["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": keys["aws_secret_access_key"],
        "AWS_DEFAULT_REGION": keys["region_name"],
        "AWS_ENDPOINT_URL": keys["endpoint_url"],
    }
    return {
        "Azure": (
            Arm(sys.executable, "haulaz", {}, azure),
            Arm(PEERS, "az", {"connection_string": emulator.connection_string}, {}),
        ),
        "S3": (Arm(sys.executable, "hauls3", {}, aws), Arm(PEERS, "s3", {}, aws)),
    }


def measured(emulator: haulage.Emulator, arm: Arm, name: str, slice_: str, times: int) -> dict[str, Any]:
    """Return what one reading took: requests, seconds; and the digest of its values."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "AZURE_"))}
    env = {**kept, **arm.environment, "ARRAYS_OPTIONS": json.dumps(arm.options)}
    before = sum(emulator.stats()["requests"].values())
    command = [arm.python, str(RUN), arm.protocol, f"{CONTAINER}/{name}", slice_, str(times)]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=1200)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{ran.stderr[-4000:]}")
    requests = sum(emulator.stats()["requests"].values()) - before
    return {**json.loads(ran.stdout.splitlines()[-1]), "requests": round(requests / times, 1)}


def compared(
    service: str, name: str, slice_: str, ours: dict[str, Any], theirs: dict[str, Any]
) -> dict[str, Any]:
    """Return one row; values that differ end everything."""
    if ours["digest"] != theirs["digest"]:
        sys.exit(f"{service}, {name}, {slice_}: the values differ")
    return {
        "service": service,
        "what": KINDS[name],
        "slice": slice_,
        "haulage_requests": ours["requests"],
        "others_requests": theirs["requests"],
        "haulage_s": ours["seconds"],
        "others_s": theirs["seconds"],
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as Markdown."""
    lines = [
        "| | slice | requests | adlfs, s3fs | time | adlfs, s3fs | share of time |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['service']}: {row['what']} | {row['slice']} "
        f"| {row['haulage_requests']:g} | {row['others_requests']:g} "
        f"| {row['haulage_s']:.2f} s | {row['others_s']:.2f} s | {row['haulage_s'] / row['others_s']:.0%} |"
        for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
