"""Every hint of `haul doctor` about credentials, the way to a service, and rights on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import pytest

from doctor_asked import HUNG, Asked, said
from haulage.doctor import examine
from haulage.doctor.asking import Answer
from haulage.doctor.credentials import examine_found, examine_identity
from haulage.doctor.examining import Examination
from haulage.doctor.finding import Finding
from haulage.doctor.network import Path as Way
from haulage.doctor.rights import examine_reading, examine_writing
from haulage.errors import ConnectionLostError, HaulageError, UsageError

# Credentials.


@pytest.mark.parametrize(
    ("variables", "hint"),
    [
        ({"AWS_ACCESS_KEY_ID": "AKIA"}, "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        (
            {"AZURE_STORAGE_KEY": '"a2V5"'},
            "set it again without quotes, spaces or line breaks",
        ),
    ],
)
def test_variables(variables: Mapping[str, str], hint: str) -> None:
    assert said(examine_found(variables)) == [hint]


NOW = datetime(2030, 1, 1, 12, tzinfo=UTC).timestamp()
GOOD = "sp=rl&se=2030-02-01T00:00:00Z&sig=AAAA"


@pytest.mark.parametrize(
    ("query", "secure", "hint"),
    [
        (
            "sp=rl&se=2030-02-01",
            True,
            "copy all of it again, and quote the URL in the shell: it contains &",
        ),
        (f"{GOOD}&se=2029-01-01", True, "make a new SAS and run the same command again"),
        (
            f"{GOOD}&st=2030-01-15",
            True,
            "wait until then, or make a SAS that starts 15 minutes ago, as clocks differ",
        ),
        (f"{GOOD}&spr=https", False, "write the URL with https://"),
        (f"{GOOD}&ss=q", True, "make a SAS with ss=b"),
        (
            f"{GOOD}&srt=s",
            True,
            "make a SAS with srt=co: containers, to list, and objects, to read and write",
        ),
        (
            "sp=rl&se=2030-01-01T12:05:00Z&sig=AAAA",
            True,
            "make one that lasts for the whole copy; an interrupted copy can resume with a new one",
        ),
        (
            f"{GOOD}&sip=10.0.0.9",
            True,
            "if the service sees another address for this machine, make the SAS for that one",
        ),
        ("sp=r&se=2030-02-01T00:00:00Z&sig=AAAA", True, "make a SAS with sp=rl"),
    ],
)
def test_sas(query: str, secure: bool, hint: str) -> None:
    answer = Answer(value={"source": "the URL", "kind": "SAS", "ends_s": None})
    found = examine_identity(answer, f"https://acc.example/c?{query}", NOW, secure, "rl", {})
    assert said(found) == [hint]


def test_a_token_that_is_over() -> None:
    answer = Answer(value={"source": "az", "kind": "token", "ends_s": NOW - 5})
    assert said(examine_identity(answer, "az://c", NOW, True, "r", {})) == [
        "sign in again, or fetch new keys"
    ]


# The way to a service.

AZURE = {
    "service": "azure",
    "account": "acc",
    "container": "c",
    "key": "",
    "host": "acc.example",
    "port": 443,
    "origin": "https://acc.example",
    "secure": True,
    "loopback": False,
    "proxy": None,
    "region": None,
}
S3 = {**AZURE, "service": "s3", "account": None, "container": "b", "host": "s3.example"}
FOUND = {"addresses": ["192.0.2.1"]}
NO_NAME = {"addresses": [], "why_not": "not known", "temporary": False}


def knock(
    status: int = 200, code: str | None = None, answer_s: float = 0.01, **headers: str
) -> dict[str, Any]:
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    return {
        "remote": "192.0.2.1:443",
        "dns_ns": None,
        "proxy_ns": None,
        "tls_ns": None,
        "answer_ns": int(answer_s * 1e9),
        "rtt_ns": None,
        "at_ns": time.time_ns(),
        "status": status,
        "code": code,
        "headers": [*({"date": formatdate(usegmt=True), **shown}).items()],
    }


def way(told: dict[str, Any], **answers: Any) -> list[str]:
    asked = Asked(**{"resolve": FOUND, "knock_crc64": {"code": None}, **answers})
    return said(Way(told, asked, "az://c", {}).examine())


FAILED = Answer(error=ConnectionLostError("connect", "https://acc.example", "it broke"))


def tls(**told: Any) -> dict[str, Any]:
    return {"roots": 9, "verify_code": None, "verify_message": "no", "plain": False, "date": None, **told}


@pytest.mark.parametrize(
    ("told", "answers", "hint"),
    [
        (AZURE, {"resolve": HUNG}, "the name server does not respond: check /etc/resolv.conf"),
        (AZURE, {"resolve": NO_NAME}, "check the name of the account, acc, and the network"),
        ({**AZURE, "host": "other"}, {"resolve": NO_NAME}, "check the endpoint and the network"),
        (S3, {"resolve": NO_NAME}, "check the endpoint, the region and the network"),
        (
            {**S3, "host": "b.s3.example"},
            {"resolve": NO_NAME},
            "give --addressing path, if this service has no host for each bucket; or check the endpoint",
        ),
        (
            AZURE,
            {"knock": HUNG},
            "a firewall may drop the packets: ask the administrator, or use a proxy",
        ),
        (
            AZURE,
            {"knock": HUNG, "resolve": {"addresses": ["2001:db8::1"]}},
            "check whether this machine has a route: ip -6 route get 2001:db8::1; or use a proxy",
        ),
        (
            AZURE,
            {"knock": [knock(answer_s=0.4, x_ms_version="1")]},
            "small files take long over such a link; --concurrency auto sends more of them at once",
        ),
        (
            {**AZURE, "secure": False},
            {"knock": [knock(x_ms_version="1")]},
            "use https, if the service supports it",
        ),
        (
            AZURE,
            {"knock": [knock(x_ms_version="1", date=formatdate(time.time() - 9999, usegmt=True))]},
            "set the clock: timedatectl set-ntp true, or chronyc makestep;"
            " on a virtual machine sync it with its host",
        ),
        (AZURE, {"knock": [knock(server="MinIO")]}, "write s3://BUCKET with --endpoint https://acc.example"),
        (
            S3,
            {"knock": [knock(x_ms_version="1")]},
            "write the URL as https://ACCOUNT.blob.core.windows.net/CONTAINER, or az://CONTAINER",
        ),
        (
            AZURE,
            {"knock": [knock(302, location="http://login.example/")]},
            "check the endpoint; a network that requires a login in the browser responds like this too",
        ),
        (
            AZURE,
            {"knock": [knock(400, "InvalidHeaderValue", x_ms_version="1")]},
            "install a newer one (npm install -g azurite), or start it with --skipApiVersionCheck",
        ),
        (AZURE, {"knock": [knock(server="nginx")]}, "check the host and the port of the endpoint"),
        (
            AZURE,
            {"knock": [knock(503, "ServerBusy", x_ms_version="1")]},
            "wait a few minutes and run haul doctor again; if it keeps failing, ask its operator",
        ),
        (
            {**S3, "region": "eu-west-1"},
            {"knock": [knock(x_amz_bucket_region="us-east-1")]},
            "give --region us-east-1, or set AWS_REGION=us-east-1: it saves a request",
        ),
        (
            AZURE,
            {"knock": [knock(x_ms_version="1")], "knock_crc64": {"code": "FeatureNotSupported"}},
            "give --checksum md5; if it is Azurite, start it with --loose",
        ),
        (
            {**AZURE, "secure": False, "loopback": True},
            {"knock": FAILED, "tls": tls(speaks=True)},
            "write https:// instead of http://",
        ),
        (
            AZURE,
            {"knock": FAILED, "tls": tls(plain=True)},
            "use the port that supports https, or http:// with --insecure-http if you trust the network",
        ),
        (
            AZURE,
            {"knock": FAILED, "tls": tls(verify_code=10)},
            "the owner of the service must renew it; also check this machine's clock",
        ),
        (
            AZURE,
            {"knock": FAILED, "tls": tls(verify_code=62)},
            "use the host name in its certificate; openssl s_client -connect shows it",
        ),
        (
            AZURE,
            {"knock": FAILED, "tls": tls(verify_code=20)},
            "if the service or proxy is yours, name its root certificate (PEM) with --ca or SSL_CERT_FILE",
        ),
        (
            AZURE,
            {"knock": FAILED, "tls": tls(verify_code=20, roots=0)},
            "install the ca-certificates package, or name a PEM file in SSL_CERT_FILE or with --ca",
        ),
    ],
)
def test_way(told: dict[str, Any], answers: dict[str, Any], hint: str) -> None:
    assert [one for one in way(told, **answers) if one.startswith(hint)], way(told, **answers)


# Rights.


def rights(call: Callable[..., Iterator[Finding]], *args: Any, **answers: Any) -> list[str]:
    return said(call(Asked(**answers), "az://c", "", *args))


def test_rights() -> None:
    assert rights(examine_reading, {}, False, look=HUNG) == ["try again with --timeout 30s"]
    part = Answer(error=HUNG.error, late=True, partial=[{"listed": 3, "object": None}])
    assert rights(examine_reading, {}, False, look=part) == ["try again with --timeout 30s"]
    left = "remove it with haul rm, with credentials that can delete"
    assert rights(examine_writing, {}, write=HUNG) == [left]
    told = {"object": "x", "left": False, "crc64": {"proof": 1}, "read_back": False}
    assert rights(examine_writing, {}, write=told) == [
        "do not use this service until its owner has found the cause"
    ]


def test_writing_that_is_not_tried() -> None:
    examination = Examination(5.0, {}, write=True)
    assert said(examination._writing("az://", {"container": ""}, refused=False)) == ["name a container"]
    assert said(examination._writing("az://c", {"container": "c"}, refused=True)) == [
        "fix the credential first, as described above"
    ]


def test_what_is_no_place() -> None:
    examination = Examination(5.0, {}, write=False)
    examination.ask = Asked(way={"service": "memory"})  # type: ignore[method-assign]
    assert said(examination.target("mem://a", "r", writes=False)) == [
        "name a container, a bucket, or a folder"
    ]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"timeout": 0}, "write seconds, such as 5"),
        ({"session": SimpleNamespace()}, "put the credentials into the environment"),
    ],
)
def test_options(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        examine(**options)
    assert isinstance(caught.value, HaulageError)
    assert caught.value.hint == hint
