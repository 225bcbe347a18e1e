"""`haul view` and `haul index` as people run them."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from command import HAUL, clean_environment
from endpoints import Container
from sentences import Sentence
from view import odd_files

ROOT = Path(__file__).resolve().parent.parent.parent


def start(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [HAUL, "view", *arguments],
        env=clean_environment(folder) | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_view_prints_an_address_that_answers_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    odd_files.netcdf(tmp_path / "a.nc", "NETCDF4")
    with start(tmp_path, str(tmp_path)) as viewing:
        assert viewing.stderr is not None
        line = viewing.stderr.readline()
        assert line.startswith("page: http://127.0.0.1:")
        url = line.split()[1]
        parts = urlsplit(url)
        with urllib.request.urlopen(f"http://{parts.netloc}/api/catalogue?{parts.query}") as answer:
            assert json.load(answer)["files"][0]["name"] == "a.nc"
        with urllib.request.urlopen(url) as answer:
            assert b"<html" in answer.read().lower()
            assert "HttpOnly" in answer.headers["set-cookie"]
            assert "SameSite=strict" in answer.headers["set-cookie"]
        viewing.send_signal(signal.SIGINT)
        assert viewing.wait(10) == 0
        assert "Traceback" not in viewing.stderr.read()


def test_view_serves_zarr_and_says_where(tmp_path: Path) -> None:
    odd_files.netcdf(tmp_path / "a.nc", "NETCDF3_CLASSIC")
    with start(tmp_path, str(tmp_path / "a.nc"), "--serve") as viewing:
        assert viewing.stderr is not None
        line = viewing.stderr.readline()
        assert line.startswith("zarr: http://127.0.0.1:")
        url = line.split()[1].removesuffix("NAME") + "a.nc/zarr.json"
        with urllib.request.urlopen(url) as answer:
            assert json.load(answer)["node_type"] == "group"
        viewing.terminate()
        viewing.wait(10)


def test_no_secret_is_shown(blobs: Container, tmp_path: Path) -> None:
    # The page shows what is viewed; a signature in it would go with every screenshot.
    blobs.client.upload_blob("a.nc", odd_files.netcdf(tmp_path / "a.nc", "NETCDF4").read_bytes())
    sas = blobs.endpoint.sas()
    with start(tmp_path, blobs.url("a.nc", sas), "--json") as viewing:
        assert viewing.stdout is not None
        serving = json.loads(viewing.stdout.readline())
        parts = urlsplit(serving["url"])
        told = ""
        for path in (
            "info",
            "catalogue",
            "file?name=a.nc",
            "code?name=a.nc&var=plain",
            "slab?name=no&var=no",
        ):
            joint = "&" if "?" in path else "?"
            try:
                with urllib.request.urlopen(
                    f"http://{parts.netloc}/api/{path}{joint}{parts.query}"
                ) as answer:
                    told += answer.read().decode()
            except urllib.error.HTTPError as error:
                told += error.read().decode()
        assert "plain" in told
        assert "sig=" not in told
        assert sas not in told
        viewing.terminate()
        viewing.wait(10)
        assert viewing.stderr is not None
        assert "sig=" not in viewing.stderr.read()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["view"], 2),
        (["view", "--port", "99999", "x"], 2),
        (["view", "--frobnicate"], 2),
        (["index"], 2),
        (["index", "/not/there"], 4),
    ],
)
def test_wrong_arguments(arguments: list[str], code: int, tmp_path: Path, sentence: Sentence) -> None:
    run = subprocess.run(
        [HAUL, *arguments], capture_output=True, text=True, env=clean_environment(tmp_path), check=False
    )
    assert run.returncode == code, run.stderr
    sentence(run.stderr)
    assert "Traceback" not in run.stderr
