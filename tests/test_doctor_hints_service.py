"""Every hint of `haul doctor` about credentials, the way to a service, and rights on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor_asked import HUNG, Asked, said
from haulage.doctor import examine
from haulage.doctor.asking import Answer
from haulage.doctor.credentials import examine_found, examine_identity, examine_region
from haulage.doctor.examining import Examination
from haulage.doctor.finding import Finding
from haulage.doctor.network import Path as Way
from haulage.doctor.rights import examine_reading, examine_writing
from haulage.errors import ConnectionLostError, HaulageError, UsageError
from sentences import Sentence

# Credentials.


@pytest.mark.parametrize(
    "variables",
    [
        {"AWS_ACCESS_KEY_ID": "AKIA"},
        {"AZURE_STORAGE_KEY": '"a2V5"'},
        {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-east-1"},
    ],
)
def test_variables(variables: Mapping[str, str], sentence: Sentence) -> None:
    sentence(said(examine_found(variables)))


@pytest.mark.parametrize(
    ("variables", "file", "used"),
    [
        ({"AWS_REGION": "a-1"}, "", "a-1"),
        ({}, "[default]\nregion = c-1", "c-1"),
        ({"AWS_PROFILE": "lab"}, "[default]\nregion = c-1\n[profile lab]\nregion = d-1", "d-1"),
        ({"AWS_REGION": "a-1", "AWS_DEFAULT_REGION": "a-1"}, "[default]\nregion = c-1", "a-1"),
        ({"AWS_REGION": "a-1", "AWS_DEFAULT_REGION": "a-1"}, "not a file of AWS", None),
        ({"AWS_PROFILE": "lab"}, "[default]\nregion = c-1", None),
        ({}, "", None),
    ],
)
def test_regions_that_other_tools_do_not_find(
    variables: Mapping[str, str], file: str, used: str | None, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(file)
    found = list(examine_region({**variables, "AWS_CONFIG_FILE": str(config)}))
    assert [(one.check, one.level, one.values["used"]) for one in found] == (
        [("credentials.region", "note", used)] if used else []
    )


NOW = datetime(2030, 1, 1, 12, tzinfo=UTC).timestamp()
GOOD = "sp=rl&se=2030-02-01T00:00:00Z&sig=AAAA"


@pytest.mark.parametrize(
    ("query", "secure"),
    [
        ("sp=rl&se=2030-02-01", True),
        (f"{GOOD}&se=2029-01-01", True),
        (f"{GOOD}&st=2030-01-15", True),
        (f"{GOOD}&spr=https", False),
        (f"{GOOD}&ss=q", True),
        (f"{GOOD}&srt=s", True),
        ("sp=rl&se=2030-01-01T12:05:00Z&sig=AAAA", True),
        (f"{GOOD}&sip=10.0.0.9", True),
        ("sp=r&se=2030-02-01T00:00:00Z&sig=AAAA", True),
    ],
)
def test_sas(query: str, secure: bool, sentence: Sentence) -> None:
    answer = Answer(value={"source": "the URL", "kind": "SAS", "ends_s": None})
    found = examine_identity(answer, f"https://acc.example/c?{query}", NOW, secure, "rl", {})
    sentence(said(found))


def test_a_token_that_is_over(sentence: Sentence) -> None:
    answer = Answer(value={"source": "az", "kind": "token", "ends_s": NOW - 5})
    sentence(said(examine_identity(answer, "az://c", NOW, True, "r", {})))


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
    ("told", "answers"),
    [
        (AZURE, {"resolve": HUNG}),
        (AZURE, {"resolve": NO_NAME}),
        ({**AZURE, "host": "other"}, {"resolve": NO_NAME}),
        (S3, {"resolve": NO_NAME}),
        ({**S3, "host": "b.s3.example"}, {"resolve": NO_NAME}),
        (AZURE, {"knock": HUNG}),
        (AZURE, {"knock": HUNG, "resolve": {"addresses": ["2001:db8::1"]}}),
        (AZURE, {"knock": [knock(answer_s=0.4, x_ms_version="1")]}),
        ({**AZURE, "secure": False}, {"knock": [knock(x_ms_version="1")]}),
        (AZURE, {"knock": [knock(x_ms_version="1", date=formatdate(time.time() - 9999, usegmt=True))]}),
        (AZURE, {"knock": [knock(server="MinIO")]}),
        (S3, {"knock": [knock(x_ms_version="1")]}),
        (AZURE, {"knock": [knock(302, location="http://login.example/")]}),
        (AZURE, {"knock": [knock(400, "InvalidHeaderValue", x_ms_version="1")]}),
        (AZURE, {"knock": [knock(server="nginx")]}),
        (AZURE, {"knock": [knock(503, "ServerBusy", x_ms_version="1")]}),
        ({**S3, "region": "eu-west-1"}, {"knock": [knock(x_amz_bucket_region="us-east-1")]}),
        (AZURE, {"knock": [knock(x_ms_version="1")], "knock_crc64": {"code": "FeatureNotSupported"}}),
        ({**AZURE, "secure": False, "loopback": True}, {"knock": FAILED, "tls": tls(speaks=True)}),
        (AZURE, {"knock": FAILED, "tls": tls(plain=True)}),
        (AZURE, {"knock": FAILED, "tls": tls(verify_code=10)}),
        (AZURE, {"knock": FAILED, "tls": tls(verify_code=62)}),
        (AZURE, {"knock": FAILED, "tls": tls(verify_code=20)}),
        (AZURE, {"knock": FAILED, "tls": tls(verify_code=20, roots=0)}),
    ],
)
def test_way(told: dict[str, Any], answers: dict[str, Any], sentence: Sentence) -> None:
    hints = way(told, **answers)
    sentence(hints)


# Rights.


def rights(call: Callable[..., Iterator[Finding]], *args: Any, **answers: Any) -> list[str]:
    return said(call(Asked(**answers), "az://c", "", *args))


def test_rights(sentence: Sentence) -> None:
    assert rights(examine_reading, {}, False, look=HUNG) == ["try again with --timeout 30s"]
    part = Answer(error=HUNG.error, late=True, partial=[{"listed": 3, "object": None}])
    assert rights(examine_reading, {}, False, look=part) == ["try again with --timeout 30s"]
    left = "remove it with haul rm, with credentials that can delete"
    assert rights(examine_writing, {}, write=HUNG) == [left]
    told = {"object": "x", "left": False, "crc64": {"proof": 1}, "read_back": False}
    sentence(rights(examine_writing, {}, write=told))


def test_writing_that_is_not_tried(sentence: Sentence) -> None:
    examination = Examination(5.0, {}, write=True)
    assert said(examination._writing("az://", {"container": ""}, refused=False)) == ["name a container"]
    sentence(said(examination._writing("az://c", {"container": "c"}, refused=True)))


def test_what_is_no_place(sentence: Sentence) -> None:
    examination = Examination(5.0, {}, write=False)
    examination.ask = Asked(way={"service": "memory"})  # type: ignore[method-assign]
    sentence(said(examination.target("mem://a", "r", writes=False)))


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"session": SimpleNamespace()},
    ],
)
def test_options(options: dict[str, Any], sentence: Sentence) -> None:
    with pytest.raises(UsageError) as caught:
        examine(**options)
    assert isinstance(caught.value, HaulageError)
    sentence(caught.value)
