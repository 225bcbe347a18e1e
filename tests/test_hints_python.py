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
from haulage.doctor import store_questions
from sentences import Sentence

#: Names of objects that may be committed together at most, and one.
TOO_MANY = 100_001

CALLS: list[Callable[[], object]] = [
    lambda: haulage.copy(Path("az://data/a"), "b"),
    lambda: haulage.copy("\udcff", "b"),
    lambda: haulage.copy("a", "b", no_such_option=1),  # type: ignore[call-arg]
    lambda: haulage.copy("a", "b", concurrency=0),
    lambda: haulage.copy("a", "b", checksum="sha1"),  # type: ignore[arg-type]
    lambda: haulage.copy("a", "b", block_size="8"),
    lambda: haulage.copy("a"),
    lambda: haulage.get("mem://odd/"),
    lambda: haulage.open("mem://odd/a", "r"),  # type: ignore[call-overload]
    lambda: _engine.generate("https://host/account/data/a", 8, 7),
]


@pytest.mark.parametrize("call", CALLS, ids=map(str, range(len(CALLS))))
def test_call(call: Callable[[], object], sentence: Sentence) -> None:
    with pytest.raises(haulage.UsageError) as caught:
        call()
    sentence(caught.value)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with fake_service.serve() as http:
        yield http


def test_events_of_a_job_that_keeps_none(service: Service, tmp_path: Path, sentence: Sentence) -> None:
    job = haulage.Job.copy(f"{service.url}/hang/data/a?sig=AAAA", tmp_path / "back").start()
    with pytest.raises(haulage.UsageError) as caught:
        next(job.events())
    sentence(caught.value)
    job.cancel()


def test_cancelled(service: Service, tmp_path: Path, sentence: Sentence) -> None:
    job = haulage.Job.copy(f"{service.url}/hang/data/a?sig=AAAA", tmp_path / "back").start()
    job.cancel()
    with pytest.raises(haulage.CancelledError) as caught:
        job.wait()
    sentence(caught.value)


@pytest.mark.long
def test_a_collection_that_is_too_large(service: Service, tmp_path: Path, sentence: Sentence) -> None:
    """Nothing is made for it but its names, and nothing is sent."""
    (tmp_path / "a").write_bytes(b"a")
    names = [f"{service.url}/hang/data/{number}?sig=AAAA" for number in range(TOO_MANY)]
    pairs = [(tmp_path / "a", name) for name in names]
    summary = haulage.copy(
        pairs, check=False, atomic=True, overwrite="always", concurrency=1, stall_timeout="1s"
    )
    # On a slow machine the first request has failed by itself before all names are known.
    first = next(failure for failure in summary.failures if failure.kind == "unsupported")
    sentence(first.hint)


def test_a_name_that_no_address_can_hold(
    emulator: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
    (tmp_path / "a").write_bytes(b"a")
    haulage.copy([(tmp_path / "a", "mem://odd/a/../b")])
    with pytest.raises(haulage.UnsupportedError) as caught:
        haulage.copy("mem://odd/", emulator.container().az())
    sentence(caught.value)


def test_what_the_doctor_cannot_ask(tmp_path: Path, sentence: Sentence) -> None:
    options: dict[str, Any] = {}
    for look in (store_questions.identity, store_questions.knock):
        with pytest.raises(haulage.UsageError) as caught:
            look(print, url=str(tmp_path), options=options)
        sentence(caught.value)
