"""Every hint of the Python package is reached, and the engine's where Python alone comes to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fake_service
import haulage
from endpoints import Endpoint
from fake_service import Service
from haulage import _engine
from haulage.doctor import asked_of_stores

#: Names of objects that may be committed together at most, and one.
TOO_MANY = 100_001

CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: haulage.copy(Path("az://data/a"), "b"), 'pass the URL as a str: "az://..."'),
    (lambda: haulage.copy("\udcff", "b"), "rename the file, or copy the folder that holds it"),
    (lambda: haulage.copy("a", "b", no_such_option=1), "see help(haulage.copy)"),  # type: ignore[call-arg]
    (lambda: haulage.copy("a", "b", concurrency=0), 'write "auto" or a whole number from 1'),
    (lambda: haulage.copy("a", "b", checksum="sha1"), "write crc64, md5, none"),  # type: ignore[arg-type]
    (lambda: haulage.copy("a", "b", block_size="8"), "write 8KiB or 8MiB"),
    (lambda: haulage.copy("a"), "pass dst, or a list of (source, destination)"),
    (
        lambda: haulage.get("mem://odd/"),
        "write the name of the object after the last /; list what is there with: haul ls mem://odd/",
    ),
    (
        lambda: haulage.open("mem://odd/a", "r"),  # type: ignore[call-overload]
        'use "rb", "wb" or "xb"; for text, wrap it in io.TextIOWrapper',
    ),
    (lambda: _engine.generate("https://host/account/data/a", 8, 7), "write a local path, or mem://name/key"),
]


@pytest.mark.parametrize(("call", "hint"), CALLS, ids=[hint for _, hint in CALLS])
def test_call(call: Callable[[], object], hint: str) -> None:
    with pytest.raises(haulage.UsageError) as caught:
        call()
    assert caught.value.hint == hint


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with fake_service.serve() as http:
        yield http


def test_events_of_a_job_that_keeps_none(service: Service, tmp_path: Path) -> None:
    job = haulage.Job.copy(f"{service.url}/hang/data/a?sig=AAAA", tmp_path / "back").start()
    with pytest.raises(haulage.UsageError) as caught:
        next(job.events())
    assert caught.value.hint == "write job.start(listen=True), or events() on a job that is not started"
    job.cancel()


def test_cancelled(service: Service, tmp_path: Path) -> None:
    job = haulage.Job.copy(f"{service.url}/hang/data/a?sig=AAAA", tmp_path / "back").start()
    job.cancel()
    with pytest.raises(haulage.CancelledError) as caught:
        job.wait()
    assert caught.value.hint == "make the same call again to resume"


@pytest.mark.long
def test_a_collection_that_is_too_large(service: Service, tmp_path: Path) -> None:
    """Nothing is made for it but its names, and nothing is sent."""
    (tmp_path / "a").write_bytes(b"a")
    names = [f"{service.url}/hang/data/{number}?sig=AAAA" for number in range(TOO_MANY)]
    pairs = [(tmp_path / "a", name) for name in names]
    summary = haulage.copy(
        pairs, check=False, atomic=True, overwrite="always", concurrency=1, stall_timeout="1s"
    )
    # On a slow machine the first request has failed by itself before all names are known.
    first = next(failure for failure in summary.failures if failure.kind == "unsupported")
    assert first.hint == "copy it in parts, or without --atomic"


def test_a_name_that_no_address_can_hold(
    emulator: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
    (tmp_path / "a").write_bytes(b"a")
    haulage.copy([(tmp_path / "a", "mem://odd/a/../b")])
    with pytest.raises(haulage.UnsupportedError) as caught:
        haulage.copy("mem://odd/", emulator.container().az())
    assert caught.value.hint == "rename it with the tool that created it"


def test_what_the_doctor_cannot_ask(tmp_path: Path) -> None:
    options: dict[str, Any] = {}
    for look in (asked_of_stores.identity, asked_of_stores.knock):
        with pytest.raises(haulage.UsageError) as caught:
            look(print, url=str(tmp_path), options=options)
        assert caught.value.hint == "write az://container, s3://bucket or the URL of a container"
