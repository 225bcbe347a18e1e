"""Hints that only a service can cause, or its certificate; and every exit code."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import fake_service
from command import Haul
from fake_service import Service
from sentences import Sentence
from shell import Shell, lay_out

KEY = "AZURE_STORAGE_KEY=d3Jvbmc="
TOKEN = "SSL_CERT_FILE=$cert AZURE_STORAGE_BEARER_TOKEN=token"
SAS = "sv=2021-12-02&sig=AAAA"
NETWORK = "check the network and run the same command again; what has arrived is not sent again"

#: By status, and by the service's own word for it, to somebody with a key.
ANSWERS = [
    (4, "404"),
    (4, "404-BlobNotFound"),
    (4, "404-ContainerNotFound"),
    (1, "409-ContainerAlreadyExists"),
    # With 409, as the service says it, it takes half a minute until nobody tries again.
    (1, "503-ContainerBeingDeleted"),
    (1, "409-BlobAlreadyExists"),
    (3, "412-LeaseIdMissing"),
    (2, "409-BlobArchived"),
    (2, "409-BlobBeingRehydrated"),
    (3, "409-BlobImmutableDueToPolicy"),
    (1, "400-InvalidBlockList"),
    (1, "400-InvalidBlobOrBlock"),
    (1, "409-InvalidBlobType"),
    (1, "503-ServerBusy"),
    (1, "500-FeatureNotSupported"),
    (1, "501"),
    (2, "400-OutOfRangeInput"),
    (1, "204"),
    (1, "301"),
    (1, "418"),
    (3, "403-AuthenticationFailed"),
    (3, "403-AuthorizationFailure"),
    (3, "403-InsufficientAccountPermissions"),
]

#: Other commands, and other credentials.
LINES = [
    (6, f"{KEY} cp $http/get-412-ConditionNotMet/data/a back"),
    (6, f"{KEY} cp $http/get-416-InvalidRange/data/a back"),
    (3, f"stat $http/403-AuthenticationFailed/data/a?{SAS}&sp=r&se=2020-01-01"),
    (3, f"stat $http/403/data/a?{SAS}&sp=wl"),
    (3, f"stat $http/403/data/a?{SAS}&sp=r"),
    (3, f"{TOKEN} stat az://data/a --endpoint $https/403-AuthorizationPermissionMismatch"),
    (3, f"{TOKEN} mb az://data --endpoint $https/403-AuthorizationPermissionMismatch"),
    (3, f"{TOKEN} presign az://data/a --endpoint $https/403-AuthorizationPermissionMismatch"),
    (2, f"presign $http/200/data/a?{SAS}&sp=r"),
    (3, f"{TOKEN} stat az://data/a --endpoint $https/401-InvalidAuthenticationInfo"),
    (3, f"{TOKEN} stat az://data/a --endpoint $https/403-AuthorizationFailure"),
    (3, "PATH=nowhere AZURE_IMDS_ENDPOINT=$http/404 stat https://account.blob.core.windows.net/data/a"),
    (1, f"SSL_CERT_FILE=$other {KEY} stat $https/200/data/a"),
    (1, f"SSL_CERT_FILE=a SSL_CERT_DIR=links {KEY} stat $https/200/data/a"),
    # One that speaks plain http where TLS is expected.
    (1, f"SSL_CERT_FILE=$cert {KEY} stat https://$host/200/data/a"),
]

#: For each exit code a line that ends with it; what stops the last is a signal.
CODES = {
    0: "ls x",
    1: "cp x/a y/a both/",
    2: "cp a",
    3: f"{KEY} stat $http/403/data/a",
    4: "ls no-such-folder",
    5: "verify a b",
    6: f"{KEY} cp $http/get-412-ConditionNotMet/data/a back",
}


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shell, Service]]:
    """The fake service over http, and what the lines name: it over https, and certificates."""
    folder = lay_out(tmp_path_factory.mktemp("services"))
    cert, other = folder / "cert.pem", folder / "other.pem"
    fake_service.make_certificate(other)
    with fake_service.serve() as http, fake_service.serve(cert) as https:
        host = http.url.split("//")[1]
        names = {"http": http.url, "https": https.url, "host": host, "cert": str(cert), "other": str(other)}
        yield Shell(Haul(folder), **names), http


@pytest.fixture(scope="module")
def shell(services: tuple[Shell, Service]) -> Shell:
    return services[0]


@pytest.mark.parametrize(
    "kind",
    [
        {"here": False},
        {"until": timedelta(hours=-1)},
        {"authority": True},
        {"client": True},
    ],
    ids=["name", "time", "authority", "client"],
)
def test_certificate(tmp_path: Path, kind: dict[str, Any], sentence: Sentence) -> None:
    shell = Shell(Haul(lay_out(tmp_path)), cert=str(tmp_path / "cert.pem"))
    with fake_service.serve(tmp_path / "cert.pem", "other.example", **kind) as https:
        said = shell.expect(1, f"SSL_CERT_FILE=$cert {KEY} stat {https.url}/200/data/a")
        sentence(said.hints)
    assert "CaUsedAsEndEntity" not in said.stderr


@pytest.mark.parametrize(("code", "answer"), ANSWERS, ids=[answer for _, answer in ANSWERS])
def test_answer(shell: Shell, code: int, answer: str, sentence: Sentence) -> None:
    sentence(shell.expect(code, f"{KEY} stat $http/{answer}/data/a").hints)


@pytest.mark.parametrize(("code", "line"), LINES, ids=[line for _, line in LINES])
def test_line(shell: Shell, code: int, line: str, sentence: Sentence) -> None:
    sentence(shell.expect(code, line).hints)


@pytest.mark.parametrize("command", ["ls", "cp"])
def test_interrupted(services: tuple[Shell, Service], command: str) -> None:
    shell, http = services
    http.asked.clear()
    running = shell.haul.start(command, f"{http.url}/hang/data/a?{SAS}", *(["b"] if command == "cp" else []))
    assert http.asked.wait(20)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=20)
    assert running.returncode == 130
    assert b"run the same command again" in said


def test_every_exit_code_is_reached(shell: Shell) -> None:
    table = shell("cp --help").text.split("Exit codes:")[1].split("Examples:")[0]
    told = {int(code) for code in re.findall(r"(?:^|  )(\d+) ", table, re.MULTILINE)}
    assert told == {*CODES, 130}, "130 is that of the test above"
    for code, line in CODES.items():
        shell(line, code)
