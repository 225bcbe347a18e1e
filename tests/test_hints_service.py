"""Hints that only a service can cause, or its certificate; and every exit code."""

from __future__ import annotations

import base64
import re
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import endpoints
import fake_service
from command import Haul
from endpoints import Endpoint
from fake_service import Service
from shell import Shell, lay_out

KEY = "AZURE_STORAGE_KEY=d3Jvbmc="
TOKEN = "SSL_CERT_FILE=$cert AZURE_STORAGE_BEARER_TOKEN=token"
SAS = "sv=2021-12-02&sig=AAAA"
CHANGED = "run the same command again when nobody writes to it"
NETWORK = "check the network and run the same command again; what has arrived is not sent again"

#: By status, and by the service's own word for it, to somebody with a key.
ANSWERS = [
    (4, "404", "check the name of account, container and blob"),
    (4, "404-BlobNotFound", "list what is there with: haul ls $http/404-BlobNotFound/data"),
    (
        4,
        "404-ContainerNotFound",
        "check the name, or create it with: haul mb $http/404-ContainerNotFound/data",
    ),
    (1, "409-ContainerAlreadyExists", "nothing to do, or choose another name"),
    # With 409, as the service says it, it takes half a minute until nobody tries again.
    (1, "503-ContainerBeingDeleted", "the service needs about half a minute for that; try again then"),
    (1, "409-BlobAlreadyExists", "choose another name"),
    (3, "412-LeaseIdMissing", "break the lease, or wait until it ends"),
    (
        2,
        "409-BlobArchived",
        "set its tier to hot or cool with the service's own tools, and wait until that is done",
    ),
    (2, "409-BlobBeingRehydrated", "wait until that is done, which can take hours"),
    (3, "409-BlobImmutableDueToPolicy", "wait until the policy ends, or choose another name"),
    (
        1,
        "400-InvalidBlockList",
        "another client wrote this blob, or its blocks are older than a week; run the same command again",
    ),
    (
        1,
        "400-InvalidBlobOrBlock",
        "haul clean removes them if there is no such blob yet; otherwise copy with --method whole, which "
        "replaces both",
    ),
    (1, "409-InvalidBlobType", "remove it with haul rm, or choose another name"),
    (
        1,
        "503-ServerBusy",
        "run the same command again when the service is less busy; what has arrived is not sent again",
    ),
    (1, "500-FeatureNotSupported", "start Azurite with --loose, or use --checksum md5"),
    (1, "501", "if this server is an emulator, it may lack CRC64: use --checksum md5"),
    (
        2,
        "400-OutOfRangeInput",
        "container names have 3 to 63 lower-case letters, digits and hyphens; "
        "blob names at most 1,024 characters",
    ),
    (1, "204", "check the endpoint, and whether a proxy or a login page answers instead"),
    (1, "301", "check the endpoint: a blob service does not redirect"),
    (1, "418", "run the same command again; if it keeps failing, contact the operator of the service"),
    (
        3,
        "403-AuthenticationFailed",
        "check AZURE_STORAGE_KEY or AZURE_STORAGE_CONNECTION_STRING, and this machine's clock",
    ),
    (
        3,
        "403-AuthorizationFailure",
        "check AZURE_STORAGE_KEY or AZURE_STORAGE_CONNECTION_STRING, and the account's network rules "
        "(portal: Networking)",
    ),
    (
        3,
        "403-InsufficientAccountPermissions",
        "check the credential: a key needs AZURE_STORAGE_KEY, Entra a data role on the account",
    ),
]

#: Other commands, and other credentials.
LINES = [
    (6, f"{KEY} cp $http/get-412-ConditionNotMet/data/a back", "run the same command again"),
    (6, f"{KEY} cp $http/get-416-InvalidRange/data/a back", CHANGED),
    (
        3,
        f"stat $http/403-AuthenticationFailed/data/a?{SAS}&sp=r&se=2020-01-01",
        "make a new SAS and run the same command again",
    ),
    (3, f"stat $http/403/data/a?{SAS}&sp=wl", "make a SAS with sp=rwl"),
    (
        3,
        f"stat $http/403/data/a?{SAS}&sp=r",
        "check that it was copied completely, is for this container, and covers blobs and containers",
    ),
    (
        3,
        f"{TOKEN} stat az://data/a --endpoint $https/403-AuthorizationPermissionMismatch",
        "ask for the role `Storage Blob Data Reader` on the account or container",
    ),
    (
        3,
        f"{TOKEN} mb az://data --endpoint $https/403-AuthorizationPermissionMismatch",
        "ask for the role `Storage Blob Data Contributor` on the account or container",
    ),
    (
        3,
        f"{TOKEN} presign az://data/a --endpoint $https/403-AuthorizationPermissionMismatch",
        "ask for the role `Storage Blob Delegator` on the account, "
        "besides the one that reads or writes blobs",
    ),
    (
        2,
        f"presign $http/200/data/a?{SAS}&sp=r",
        "use the account's key (AZURE_STORAGE_KEY) or az login instead of the SAS, "
        "or share a URL with this SAS",
    ),
    (
        3,
        f"{TOKEN} stat az://data/a --endpoint $https/401-InvalidAuthenticationInfo",
        "sign in again with: az login",
    ),
    (
        3,
        f"{TOKEN} stat az://data/a --endpoint $https/403-AuthorizationFailure",
        "add this network in the portal: Storage account, Networking",
    ),
    (
        3,
        "PATH=nowhere AZURE_IMDS_ENDPOINT=$http/404 stat https://account.blob.core.windows.net/data/a",
        "set AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING, "
        "add a SAS to the URL, or sign in with: az login",
    ),
    (
        1,
        f"SSL_CERT_FILE=$other {KEY} stat $https/200/data/a",
        "if you trust the server or the proxy, pass its root certificate (PEM) with --ca or SSL_CERT_FILE",
    ),
    (
        1,
        f"SSL_CERT_FILE=a SSL_CERT_DIR=links {KEY} stat $https/200/data/a",
        "install the ca-certificates package, or set SSL_CERT_FILE to a PEM file",
    ),
    # One that speaks plain http where TLS is expected.
    (
        1,
        f"SSL_CERT_FILE=$cert {KEY} stat https://$host/200/data/a",
        "check that the server speaks https at this port",
    ),
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
    ("kind", "hint"),
    [
        ({"here": False}, "check the address: the certificate is for other names"),
        (
            {"until": timedelta(hours=-1)},
            "check the clock of this machine; if it is right, the server needs a new certificate",
        ),
        (
            {"authority": True},
            "give the server a certificate with basicConstraints CA:FALSE; your CA can sign it",
        ),
        ({"client": True}, "give the server a certificate with extendedKeyUsage serverAuth"),
    ],
    ids=["name", "time", "authority", "client"],
)
def test_certificate(tmp_path: Path, kind: dict[str, Any], hint: str) -> None:
    shell = Shell(Haul(lay_out(tmp_path)), cert=str(tmp_path / "cert.pem"))
    with fake_service.serve(tmp_path / "cert.pem", "other.example", **kind) as https:
        said = shell.expect(1, f"SSL_CERT_FILE=$cert {KEY} stat {https.url}/200/data/a", hint)
    assert "CaUsedAsEndEntity" not in said.stderr


@pytest.mark.parametrize(("code", "answer", "hint"), ANSWERS, ids=[answer for _, answer, _ in ANSWERS])
def test_answer(shell: Shell, code: int, answer: str, hint: str) -> None:
    shell.expect(code, f"{KEY} stat $http/{answer}/data/a", hint)


@pytest.mark.parametrize(("code", "line", "hint"), LINES, ids=[line for _, line, _ in LINES])
def test_line(shell: Shell, code: int, line: str, hint: str) -> None:
    shell.expect(code, line, hint)


def test_clean_where_blocks_are_taken_for_a_blob(azurite: Endpoint, shell: Shell) -> None:
    container = azurite.container()
    container.client.get_blob_client("a").stage_block(base64.b64encode(b"0").decode(), b"left over")
    haul = Haul(shell.haul.folder, azurite.env, [endpoints.KEY])
    Shell(haul).expect(1, f"clean {container.az()}", "the service removes them after a week")


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
