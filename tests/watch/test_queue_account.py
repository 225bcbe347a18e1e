"""Which queue a name means, what is shown to it, and what is said where that is wrong."""

from __future__ import annotations

import builtins
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from azure.storage.queue import AccountSasPermissions, ResourceTypes, generate_account_sas

from command import Haul
from endpoints import ACCOUNT, KEY, free_port
from haulage.errors import HaulageError
from haulage.watch.queues.account import is_queue, opened
from sentences import Sentence
from watch.queueing import Queues

ENV = "AZURE_STORAGE_"


def count(name: str, environment: Mapping[str, str]) -> int:
    queue = opened(name, {}, environment)
    try:
        return queue.messages()
    finally:
        queue.close()


def refused(name: str, environment: Mapping[str, str] = MappingProxyType({})) -> HaulageError:
    with pytest.raises(HaulageError) as raised:
        count(name, environment)
    return raised.value


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({"ACCOUNT": "a", "KEY": KEY}, "https://a.queue.core.windows.net/jobs"),
        ({"ACCOUNT": "a", "KEY": KEY, "ENDPOINT": "https://a.blob.x.cn"}, "https://a.queue.x.cn/jobs"),
        ({"CONNECTION_STRING": f"AccountName=a;AccountKey={KEY}"}, "https://a.queue.core.windows.net/jobs"),
        (
            {"CONNECTION_STRING": f"AccountName=a;AccountKey={KEY};EndpointSuffix=x.cn", "ACCOUNT": "b"},
            "https://a.queue.x.cn/jobs",
        ),
        (
            {"CONNECTION_STRING": f"AccountName=a;AccountKey={KEY};QueueEndpoint=https://q.org/a/"},
            "https://q.org/a/jobs",
        ),
        ({"CONNECTION_STRING": "UseDevelopmentStorage=true"}, f"http://127.0.0.1:10001/{ACCOUNT}/jobs"),
    ],
)
def test_a_name_is_of_the_account_of_the_environment(environment: dict[str, str], url: str) -> None:
    given = {f"{ENV}{name}": value for name, value in environment.items()}
    for name in ("jobs", "queue://jobs"):
        queue = opened(name, {}, given)
        assert queue.client.url == url
        assert queue.name == "queue://jobs"
        queue.close()


def test_a_signature_goes_to_its_own_account_alone() -> None:
    given = {f"{ENV}ACCOUNT": "a", f"{ENV}SAS_TOKEN": "?sv=1&sig=s"}
    queue = opened("https://a.queue.core.windows.net/jobs", {}, given)
    assert queue.client.url.endswith("/jobs?sv=1&sig=s")
    for other in (
        "https://b.queue.core.windows.net/jobs",
        "https://evil.org/a/jobs",
        "https://a.evil.org/jobs",
    ):
        assert refused(other, given).code == "permission"


def test_what_names_a_queue() -> None:
    assert not any(map(is_queue, ["az://log", "log", "-", "https://a.blob.core.windows.net/queue", "queue"]))


@pytest.mark.parametrize(
    ("code", "name", "environment"),
    [
        ("usage", "No_Queue", {}),
        ("usage", "https://a.queue.core.windows.net/No", {}),
        ("usage", "http://host/a/jobs?sig=s", {}),
        ("permission", "https://a.queue.core.windows.net/jobs", {}),
        (
            "usage",
            "jobs",
            {"CONNECTION_STRING": f"AccountName=a;AccountKey={KEY};BlobEndpoint=http://127.0.0.1:9/a"},
        ),
        ("usage", "jobs", {}),
    ],
)
def test_what_is_wrong_has_a_hint(
    code: str, name: str, environment: dict[str, str], sentence: Sentence
) -> None:
    error = refused(name, {f"{ENV}{one}": value for one, value in environment.items()})
    assert error.code == code
    sentence(error.hint)
    assert "sig=" not in str(error)


@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("https://[bad/bell", {}),
        ("https:///bell?sig=s", {}),
        ("https://a b/bell?sig=s", {}),
        ("https://a:port/bell?sig=s", {}),
        *(
            ("bell", {"CONNECTION_STRING": f"AccountName=a;AccountKey={KEY};QueueEndpoint={url}"})
            for url in ("http://[::1", "ftp://a", "a.queue.core.windows.net", "https://a:99999")
        ),
    ],
)
def test_what_is_no_address_is_said(name: str, environment: dict[str, str]) -> None:
    given = {f"{ENV}{one}": value for one, value in environment.items()}
    error = refused(name, given)
    assert (error.code, error.hint) == (
        "usage",
        "write https://ACCOUNT.queue.core.windows.net/QUEUE; a QueueEndpoint is that without /QUEUE",
    )
    # Beside a name that is well, it is not looked at.
    assert refused("https://b.queue.core.windows.net/jobs", given).code == "permission"


def test_a_source_that_is_no_address_is_said(tmp_path: Path) -> None:
    Haul(tmp_path)("watch", "https://[bad/bell", "--once", code=2)
    Haul(tmp_path)("watch", "--queue", "https://[bad/bell", "--once", code=2)


def test_a_key_that_is_none_is_no_outage(sentence: Sentence) -> None:
    given = "AccountName=a;AccountKey=notbase64!;QueueEndpoint=http://127.0.0.1:9/a"
    error = refused("jobs", {f"{ENV}CONNECTION_STRING": given})
    assert (error.code, error.exit_code) == ("permission", 3)
    sentence(error.hint)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def none(name: str, *args: Any) -> Any:
        if name.startswith("azure.storage.queue"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", none)
    assert refused("jobs", {f"{ENV}ACCOUNT": "a", f"{ENV}KEY": KEY}).hint == "pip install 'haulage[queue]'"


def test_the_face_of_workers_imports_none_of_it() -> None:
    heavy = ("azure", "click", "distributed", "rich")
    code = f"import sys, haulage.watch; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_queue_that_is_not_there_and_a_service_that_is_away(queues: Queues, sentence: Sentence) -> None:
    error = refused("none", queues.env)
    assert error.code == "not_found"
    sentence(error.hint)
    away = f"AccountName=a;AccountKey={KEY};QueueEndpoint=http://127.0.0.1:{free_port()}/a"
    error = refused("jobs", {f"{ENV}CONNECTION_STRING": away})
    assert (error.code, error.hint) == ("connection", "is the service running?")


def test_a_signature_opens_a_queue_and_an_old_one_does_not(queues: Queues, sentence: Sentence) -> None:
    name = queues.queue().queue_name
    for lasts, code in ((1, ""), (-1, "permission")):
        now = datetime.now(UTC)
        sas = generate_account_sas(
            ACCOUNT,
            KEY,
            ResourceTypes(service=True, container=True, object=True),
            AccountSasPermissions(read=True, process=True),
            expiry=now + timedelta(hours=lasts),
            start=now - timedelta(days=1),
        )
        url = f"{queues.url}/{name}?{sas}"
        if not code:
            assert count(url, {}) == 0
            continue
        error = refused(url)
        assert error.code == code
        sentence(error.hint)
        assert "sig=" not in str(error)


@pytest.fixture
def answering() -> Iterator[Any]:
    """A service that answers every request with one status."""

    class Answer(BaseHTTPRequestHandler):
        status = 503

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(self.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            self.answer()

        def do_HEAD(self) -> None:
            self.answer()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "code"), [(503, "busy"), (429, "busy"), (500, "service"), (413, "service")]
)
def test_a_service_that_is_full(answering: Any, status: int, code: str) -> None:
    answering.RequestHandlerClass.status = status
    url = f"http://127.0.0.1:{answering.server_port}/a/jobs?sig=s"
    error = refused(url)
    assert (error.code, error.hint) == (code, "it is tried again")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("--scheduler tcp://h:1 --scheduler-file f", "leave out --scheduler or --scheduler-file"),
        ("--queue a --doorbell b", "haul watch LOG --doorbell QUEUE, or haul watch LOG --send QUEUE"),
        ("queue://a --send b", "haul watch LOG --doorbell QUEUE, or haul watch LOG --send QUEUE"),
        ("log --consume", "haul watch QUEUE --consume, or haul watch LOG --doorbell QUEUE --consume"),
        ("--scheduler head:8786 --once", "write tcp://HOST:PORT or tls://HOST:PORT"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, line: str, hint: str) -> None:
    assert Haul(tmp_path)("watch", *line.split(), code=2).hints == {hint}
