"""Tokens of Microsoft Entra that a program gives: asked for again in time, checked, sent to nobody else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

import fake_service
import haulage
from sentences import Sentence


class Asked(BaseHTTPRequestHandler):
    """Has four bytes for everybody, and keeps with which token they came."""

    protocol_version = "HTTP/1.1"
    tokens: list[str | None]

    def do_HEAD(self) -> None:
        self.tokens.append(self.headers.get("Authorization"))
        self.send_response(200)
        for name, value in {
            "Content-Length": "4",
            "ETag": '"0x1"',
            "Last-Modified": "Fri, 01 Jan 2021 00:00:00 GMT",
        }.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


#: An account at a loopback address, and the tokens with which it was asked.
Asking = tuple[str, list[str | None]]


@pytest.fixture
def service() -> Iterator[Asking]:
    """An account at a loopback address, and the tokens with which it is asked."""
    tokens: list[str | None] = []
    handler = type("Handler", (Asked,), {"tokens": tokens})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/acc", tokens
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("form", ["seconds", "datetime", "object", "credential"])
def test_a_token_is_asked_for_again_when_it_has_expired(service: Asking, form: str) -> None:
    endpoint, tokens = service
    ends = [time.time() + 60, time.time() + 3600, time.time() + 7200]

    def give() -> object:
        end = ends.pop(0)
        token = f"token-{2 - len(ends)}"
        match form:
            case "seconds":
                return token, end
            case "datetime":
                return token, datetime.fromtimestamp(end, UTC)
            case _:
                return SimpleNamespace(token=token, expires_on=int(end))

    def get_token(scope: str) -> object:
        assert scope == "https://storage.azure.com/.default"
        return give()

    source = SimpleNamespace(get_token=get_token) if form == "credential" else give
    credential = haulage.AzureCredential(endpoint=endpoint, token=source)  # type: ignore[arg-type]
    with haulage.Session(credential) as session:
        for _ in range(4):
            assert haulage.stat("az://data/a", session=session).size_bytes == 4
    # The first ends within five minutes, so the second question asks for another; that lasts.
    assert tokens == ["Bearer token-0"] + ["Bearer token-1"] * 3
    assert "token-" not in repr(session)


def test_a_token_without_an_end_is_used_as_it_is(service: Asking) -> None:
    endpoint, tokens = service
    with haulage.Session(haulage.AzureCredential(endpoint=endpoint, token="token-0")) as session:
        for _ in range(2):
            haulage.stat("az://data/a", session=session)
    assert tokens == ["Bearer token-0"] * 2


def raises() -> tuple[str, float]:
    raise RuntimeError("c2VjcmV0")


@pytest.mark.parametrize(
    "give",
    [
        raises,
        lambda: "c2VjcmV0",
        lambda: ("c2VjcmV0", time.time() - 1),
        lambda: ("Bearer c2VjcmV0", time.time() + 600),
    ],
    ids=["raises", "no pair", "expired", "no token"],
)
def test_a_token_that_does_not_come_fails_by_name(
    service: Asking, give: Callable[[], tuple[str, float]], sentence: Sentence
) -> None:
    endpoint, tokens = service
    with (
        haulage.Session(haulage.AzureCredential(endpoint=endpoint, token=give)) as session,
        pytest.raises(haulage.CredentialError) as caught,
    ):
        haulage.stat("az://data/a", session=session)
    sentence(caught.value)
    assert "c2VjcmV0" not in repr(caught.value) + str(caught.value)
    assert tokens == []


def test_a_token_that_the_service_refuses(sentence: Sentence) -> None:
    with fake_service.serve() as refusing:
        hints = {}
        for told in ("403-InvalidAuthenticationInfo", "403-AuthorizationFailure"):
            endpoint = f"{refusing.url}/{told}"
            credential = haulage.AzureCredential(
                endpoint=endpoint, token=lambda: ("token", time.time() + 3600)
            )
            with haulage.Session(credential) as session, pytest.raises(haulage.CredentialError) as caught:
                haulage.stat("az://data/a", session=session)
            hints[told] = caught.value.hint
    sentence(hints["403-InvalidAuthenticationInfo"])


def test_a_token_is_not_sent_over_plain_http(sentence: Sentence) -> None:
    credential = haulage.AzureCredential(
        endpoint="http://192.0.2.1/acc", token=lambda: ("token", time.time() + 3600)
    )
    with haulage.Session(credential) as session, pytest.raises(haulage.CredentialError) as caught:
        haulage.get("az://data/a", session=session, insecure_http=True)
    sentence(caught.value)
