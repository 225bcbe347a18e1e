"""Python as in a notebook: bars, tables, datetimes and coroutines, in a kernel, at a prompt, in a script."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

import haulage
from command import clean_environment
from endpoints import Endpoint

SIZE = 600_000
#: A copy of SIZE bytes takes two and a half seconds.
SLOW = "2mbit"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "data"
    source.mkdir()
    (source / "a.nc").write_bytes(os.urandom(SIZE // 2))
    (source / "b & c.nc").write_bytes(os.urandom(SIZE // 2))
    return source


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("HOME", str(tmp_path))
    manager, client = start_new_kernel(kernel_name="python3")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def cell(kernel: Any, code: str) -> list[dict[str, Any]]:
    """Run a cell; return what it shows."""
    shown: list[dict[str, Any]] = []

    def take(message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        assert kind != "error", content
        if kind in ("display_data", "update_display_data", "execute_result"):
            shown.append({"kind": kind, **content["data"]})
        elif kind == "stream":
            shown.append({"kind": kind, "text/plain": content["text"]})

    reply = kernel.execute_interactive(code, output_hook=take, timeout=60)
    assert reply["content"]["status"] == "ok"
    return shown


@pytest.mark.slow("starts a kernel")
def test_a_bar_and_a_table_in_a_notebook(kernel: Any, emulator: Endpoint, folder: Path) -> None:
    container = emulator.container()
    cell(kernel, f"import os, haulage; os.environ.update({emulator.env!r})")
    shown = cell(kernel, f"haulage.copy({str(folder)!r}, {container.az('x/')!r}, cap='{SLOW}')")
    bar, result = shown[0], shown[-1]
    assert bar["kind"] == "display_data"
    assert "<progress" in bar["text/html"]
    updates = [one for one in shown if one["kind"] == "update_display_data"]
    assert len(updates) >= 3
    assert updates[-1]["text/plain"].startswith("copied 2 objects, 585.9 KiB in ")
    assert result["kind"] == "execute_result"
    assert "<th" in result["text/html"]
    assert "2 objects" in result["text/html"]
    assert result["text/plain"].startswith("<Summary: copied 2 objects, ")
    # A quick one shows no bar, and none is shown where it is not wanted.
    assert [
        one["kind"] for one in cell(kernel, f"_ = haulage.copy({str(folder)!r}, {container.az('x/')!r})")
    ] == []
    quiet = f"_ = haulage.copy({str(folder)!r}, {container.az('y/')!r}, cap='{SLOW}', progress=False)"
    assert cell(kernel, quiet) == []
    job = cell(kernel, f"haulage.Job.copy({str(folder)!r}, {container.az('x/')!r})")
    assert job[0]["text/plain"] == "<Job: copy, not running>"
    # A cell awaits.
    awaited = cell(kernel, f"await haulage.Job.copy({str(folder)!r}, {container.az('x/')!r})")
    assert "2 skipped" in awaited[-1]["text/plain"]


def test_scripts_are_quiet_unless_they_ask(emulator: Endpoint, folder: Path, tmp_path: Path) -> None:
    container = emulator.container()
    env = clean_environment(tmp_path) | emulator.env

    def script(name: str, more: str) -> str:
        code = f"import haulage; haulage.copy({str(folder)!r}, {container.az(name)!r}, cap='{SLOW}'{more})"
        ran = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        assert ran.stdout == ""
        return ran.stderr

    assert script("a/", "") == ""
    told = script("b/", ", progress=True")
    assert "of 585.9 KiB" in told
    assert told.endswith(")\n")
    assert "\x1b" not in told


def test_the_prompt_shows_a_bar(emulator: Endpoint, folder: Path, tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    env = clean_environment(tmp_path) | emulator.env | {"TERM": "xterm", "PYTHON_BASIC_REPL": "1"}
    code = (
        f"import haulage; s = haulage.copy({str(folder)!r}, {emulator.container().az('x/')!r}, cap='{SLOW}')"
    )
    with subprocess.Popen(
        [sys.executable, "-q"], stdin=follower, stdout=follower, stderr=follower, env=env
    ) as prompt:
        os.close(follower)
        os.write(leader, f"{code}\nexit()\n".encode())
        said = b""
        # When nobody writes there any more, reading ends with an error.
        with contextlib.suppress(OSError):
            while True:
                said += os.read(leader, 65536)
        assert prompt.wait(60) == 0
    os.close(leader)
    assert b"\r\x1b[K" in said
    assert b"copied 2 objects" in said


async def _awaited(job: haulage.Job) -> haulage.Summary:
    return await job


def test_a_cancelled_coroutine_cancels_its_job(
    emulator: Endpoint, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
    container = emulator.container()

    async def main() -> None:
        jobs = [haulage.Job.copy(folder, container.az(f"{number}/"), cap="500kbit") for number in range(8)]
        await asyncio.wait_for(asyncio.gather(*jobs), 0.5)

    began = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(main())
    # Each takes more than nine seconds.
    assert time.monotonic() - began < 7
    assert container.contents() == {}

    async def at_once(pause: float) -> None:
        task = asyncio.ensure_future(_awaited(haulage.Job.copy(folder, container.az("soon/"), cap="500kbit")))
        await asyncio.sleep(pause)
        task.cancel()
        await task

    # Before the job had started there was nothing to cancel, and it copied everything.
    for pause in (0.0, 0.001):
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(at_once(pause))
        assert time.monotonic() - began < 7
    assert container.contents() == {}
    job = haulage.Job.copy(folder, container.az("never/"), cap="500kbit")
    job.cancel()
    with pytest.raises(haulage.CancelledError):
        job.wait()
    assert container.contents() == {}

    async def good() -> haulage.Summary:
        return await haulage.Job.copy(folder, container.az("good/"))

    assert asyncio.run(good()).objects_done == 2

    async def missing() -> haulage.Summary:
        return await haulage.Job.copy("az://not-there", folder)

    with pytest.raises(FileNotFoundError):
        asyncio.run(missing())


def test_tables_and_datetimes(emulator: Endpoint, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
    container = emulator.container()
    job = haulage.Job.copy(folder, container.az("x/"))
    outcomes = job.to_arrow()
    assert sorted(outcomes["name"].to_pylist()) == ["a.nc", "b & c.nc"]
    assert set(outcomes["outcome"].to_pylist()) == {"copied"}
    assert "2 objects" in repr(job.wait())
    found = haulage.list(container.az(), recursive=True).to_arrow()
    assert found["url"].to_pylist() == [container.az("x/a.nc"), container.az("x/b & c.nc")]
    now = datetime.now(UTC)
    assert all(
        timedelta(0) < now - one + timedelta(seconds=2) < timedelta(hours=1)
        for one in found["modified"].to_pylist()
    )
    meta = haulage.stat(container.az("x/a.nc"))
    assert meta.url == container.az("x/a.nc")
    assert meta.modified == datetime.fromtimestamp(meta.modified_ns // 1000 / 1e6, UTC)
    assert meta.source_modified is not None
    assert abs(meta.source_modified.timestamp() - (folder / "a.nc").stat().st_mtime) < 1e-3
    # A URL of a listing is one that other calls take, whatever is in the name.
    by_url = [one.url for one in haulage.list(container.url("x/", sas=emulator.sas()), recursive=True)]
    assert by_url[1].endswith("/x/b%20%26%20c.nc")
    assert [haulage.get(url) for url in by_url] == [path.read_bytes() for path in sorted(folder.iterdir())]
    assert haulage.cat(by_url) == b"".join(path.read_bytes() for path in sorted(folder.iterdir()))
    (folder / "a.nc").write_bytes(b"changed")
    failed = haulage.verify(folder, container.az("x/"), check=False)
    assert failed.to_arrow()["kind"].to_pylist() == ["integrity"]
    assert "summary" not in failed._repr_html_()
    assert "failed because" in failed._repr_html_()


def test_the_url_of_a_file_on_this_machine_is_its_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of `data/a.nc` it was `data/a.nc/a.nc`, and below a `file://` URL it lacked the folder."""
    monkeypatch.chdir(folder)
    names = sorted(path.name for path in folder.iterdir())
    for name in names:
        for given in (name, folder / name, (folder / name).as_uri()):
            assert haulage.stat(given).url == str(given)
            assert [one.url for one in haulage.list(given)] == [str(given)]
            with haulage.open(given) as file:
                assert file.meta.url == str(given)
    for root in (str(folder), f"{folder}/", folder.as_uri()):
        urls = [one.url for one in haulage.list(root)]
        assert [haulage.get(url) for url in urls] == [(folder / name).read_bytes() for name in names]


def test_a_listing_shows_what_it_lists_and_no_signature() -> None:
    haulage.put("mem://shown/a", b"x")
    assert repr(haulage.list("mem://shown/")).startswith("<Listing of mem://shown/:")
    signed = repr(haulage.list("https://acc.blob.core.windows.net/c/?sv=1&sig=secret"))
    assert "blob.core.windows.net/c/:" in signed
    assert "secret" not in signed
