"""`haul presign`: URLs by which a program that knows no credential reads and writes."""

from __future__ import annotations

import base64
import json
import subprocess
import time
import urllib.parse
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import botocore.auth
import pytest
from botocore.config import Config

import endpoints
import haulage
from command import Haul
from endpoints import Endpoint, S3Endpoint
from fake_service import make_certificate
from sentences import Sentence

ODD = "a b/#?%41+&=ü😀.nc"


def curl(*args: str | Path) -> tuple[int, bytes]:
    """Return the status of an answer and its body, as a program without any credential gets it."""
    line = ["curl", "-sS", "--globoff", "-w", "\n%{http_code}", *map(str, args)]
    ran = subprocess.run(line, capture_output=True, check=True, timeout=30)
    body, _, status = ran.stdout.rpartition(b"\n")
    return int(status), body


def signed(haul: Haul, *args: str) -> dict[str, Any]:
    [line] = haul("presign", *args, "--json").stdout.splitlines()
    told: dict[str, Any] = json.loads(line)
    return told


def headers(told: dict[str, Any]) -> list[str]:
    return [word for name, value in told["headers"].items() for word in ("-H", f"{name}: {value}")]


@pytest.fixture(params=["azurite", "emulator", "versitygw", "emulator-s3"])
def side(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Haul, str]:
    """The command, and a new container of a service."""
    name = request.param.partition("-")[0]
    endpoint = request.getfixturevalue(name)
    if request.param == "emulator-s3":
        endpoint = endpoints.by_s3(endpoint)
    if isinstance(endpoint, S3Endpoint):
        haul = Haul(tmp_path, endpoint.env, [endpoint.keys[1]])
        url = f"s3://{endpoint.new_name()}"
        haul("mb", url)
        return haul, url
    return Haul(tmp_path, endpoint.env, [endpoints.KEY]), f"az://{endpoint.container().name}"


def test_what_is_printed_works_with_curl(side: tuple[Haul, str]) -> None:
    haul, container = side
    (haul.folder / "file").write_bytes(b"content")
    url = f"{container}/{ODD}"
    to_write = signed(haul, url, "--write", "--expires", "5m")
    assert to_write["method"] == "PUT"
    status, _ = curl("-T", haul.folder / "file", *headers(to_write), to_write["url"])
    assert status in (200, 201)
    [to_read] = haul("presign", url).text.splitlines()
    assert curl(to_read) == (200, b"content")
    assert haul("cat", url).stdout == b"content"
    # Neither is good for more than it says.
    assert curl("-T", haul.folder / "file", *headers(to_write), to_read)[0] == 403
    assert curl("-X", "DELETE", to_read)[0] == 403
    other = urllib.parse.urlsplit(to_read)
    assert curl(other._replace(path=other.path.replace("41", "42")).geturl())[0] == 403


@pytest.mark.parametrize("style", ["path", "virtual"])
@pytest.mark.parametrize("token", ["", "FwoG+session/token=="])
@pytest.mark.parametrize("write", [False, True])
def test_urls_of_s3_are_those_of_boto3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str, token: str, write: bool
) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "K7MDENG/bPx+RfiCYEXAMPLE"}
    keys |= {"AWS_SESSION_TOKEN": token} if token else {}
    haul = Haul(tmp_path, keys, [keys["AWS_SECRET_ACCESS_KEY"]])
    for endpoint in (None, "https://store.example:9000"):
        line = [
            f"s3://some-bucket/{ODD}",
            "--region",
            "eu-central-1",
            "--addressing",
            style,
            "--expires",
            "90m",
        ]
        line += ["--endpoint", endpoint] if endpoint else []
        ours = urllib.parse.urlsplit(signed(haul, *line, *(["--write"] if write else []))["url"])
        query = sorted(urllib.parse.parse_qsl(ours.query))
        then = datetime.strptime(dict(query)["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
        monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda then=then, **_: then)
        client = boto3.client(
            "s3",
            region_name="eu-central-1",
            endpoint_url=endpoint,
            aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
            aws_session_token=token or None,
            config=Config(
                signature_version="s3v4",
                s3={"addressing_style": style},
                request_checksum_calculation="when_required",
            ),
        )
        asked = {"Bucket": "some-bucket", "Key": ODD}
        named = client.generate_presigned_url("put_object" if write else "get_object", asked, 5400)
        theirs = urllib.parse.urlsplit(named)
        assert (ours.netloc, ours.path) == (theirs.netloc, theirs.path)
        assert query == sorted(urllib.parse.parse_qsl(theirs.query))


def test_it_ends_when_it_says(side: tuple[Haul, str]) -> None:
    haul, container = side
    haul("cp", "-", f"{container}/a", stdin=b"x")
    told = signed(haul, f"{container}/a", "--expires", "2s")
    ends = datetime.fromisoformat(told["expires"])
    assert timedelta(0) < ends - datetime.now(UTC) <= timedelta(seconds=2)
    assert curl(told["url"])[0] == 200
    time.sleep(max(0.0, (ends - datetime.now(UTC)).total_seconds()) + 1.1)
    assert curl(told["url"])[0] == 403


def test_a_container_of_azure_has_one_too(azurite: Endpoint, tmp_path: Path) -> None:
    container = azurite.container()
    haul, stranger = Haul(tmp_path, azurite.env), Haul(tmp_path)
    haul("cp", "-", container.az("a/b"), stdin=b"x")
    [url] = haul("presign", container.az().rstrip("/")).text.splitlines()
    assert stranger("ls", "-r", url).text.split()[-1] == "a/b"
    stranger("cp", "-", url.replace("?", "/c?"), stdin=b"y", code=3)
    [url] = haul("presign", container.az().rstrip("/"), "--write").text.splitlines()
    stranger("cp", "-", url.replace("?", "/c?"), stdin=b"y")
    assert sorted(container.contents()) == ["a/b", "c"]


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["az://c/a/"], 2),
        (["s3://b/a/"], 2),
        (["s3://b"], 2),
        (["file"], 2),
        (["az://"], 2),
        (["s3://"], 2),
        (["s3://b/a", "--expires", "8d"], 2),
        (["az://c/a", "--expires", "100ms"], 2),
        (["az://c/a", "--expires", "60"], 2),
        (["s3://b/a", "--no-sign-request"], 2),
    ],
)
def test_what_no_url_can_be_signed_for(
    emulator: Endpoint, tmp_path: Path, args: list[str], code: int, sentence: Sentence
) -> None:
    haul = Haul(tmp_path, emulator.env | endpoints.by_s3(emulator).env)
    sentence(haul("presign", *args, code=code).hints)


def test_a_sas_signs_nothing(emulator: Endpoint, tmp_path: Path, sentence: Sentence) -> None:
    hint = "use the account's key (AZURE_STORAGE_KEY) or az login instead of the SAS, "
    hint += "or share a URL with this SAS"
    sas, container = emulator.sas(), emulator.container()
    signature = sas.partition("sig=")[2].partition("&")[0]
    by_variable = {"AZURE_STORAGE_SAS_TOKEN": sas, "AZURE_STORAGE_ACCOUNT": endpoints.ACCOUNT}
    by_variable["AZURE_STORAGE_ENDPOINT"] = emulator.url
    for env, url in [({}, container.url("a", sas)), (by_variable, container.az("a"))]:
        refused = Haul(tmp_path, env, [signature])("presign", url, code=2)
        assert refused.hints == {hint}
        sentence(refused.stderr)


def test_the_signature_is_nowhere_else(emulator: Endpoint, tmp_path: Path) -> None:
    container = emulator.container()
    haul = Haul(tmp_path, emulator.env, [endpoints.KEY])
    haul("cp", "-", container.az("a"), stdin=b"x")
    [url] = haul("presign", container.az("a")).text.splitlines()
    [signature] = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["sig"]
    used = Haul(tmp_path, secrets=[signature, urllib.parse.quote(signature, safe="")])
    used("-vv", "cp", url, "back", "--json", "--receipt", "receipt", "--record", "record.parquet")
    assert signature not in (tmp_path / "receipt").read_text()
    said = haul("-vv", "presign", container.az("a")).stderr
    assert "sig=" not in said


def test_with_a_token_of_entra_the_service_gives_a_key(tmp_path: Path) -> None:
    """Azurite signs in whoever has a token with the right words in it, by https only."""
    cert = tmp_path / "cert.pem"
    key = make_certificate(cert)
    with endpoints.azurite_by_tls(tmp_path, cert, key) as url:
        env = {"AZURE_STORAGE_ENDPOINT": url, "SSL_CERT_FILE": str(cert)}
        Haul(
            tmp_path, env | {"AZURE_STORAGE_KEY": endpoints.KEY, "AZURE_STORAGE_ACCOUNT": "devstoreaccount1"}
        )("mb", "az://tokens")
        token = bearer()
        credential = haulage.AzureCredential(token=lambda: (token, time.time() + 3000), endpoint=url)
        ca, place = str(cert), f"{url}/tokens"
        with haulage.Session(credential) as session:
            haulage.put(f"{place}/a", b"content", session=session, ca=ca)
            to_read = haulage.presign(f"{place}/a", session=session, ca=ca)
            minutes = timedelta(minutes=5)
            to_write = haulage.presign(f"{place}/b", write=True, expires=minutes, session=session, ca=ca)
            with pytest.raises(haulage.UsageError, match="7 days"):
                haulage.presign(f"{place}/a", expires="8d", session=session, ca=ca)
        assert "skoid=" in to_read
        assert token not in to_read
        assert curl("--cacert", cert, to_read) == (200, b"content")
        (tmp_path / "file").write_bytes(b"other")
        sent = curl("--cacert", cert, "-T", tmp_path / "file", "-H", "x-ms-blob-type: BlockBlob", to_write)
        assert sent[0] == 201


def bearer() -> str:
    """Return a token that Azurite takes: it looks at its words and times, and not at its signature."""
    now = int(time.time())

    def part(words: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(words).encode()).decode().rstrip("=")

    claims: dict[str, object] = {
        "aud": "https://storage.azure.com",
        "iss": "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
        "iat": now - 60,
        "nbf": now - 60,
        "exp": now + 3600,
        "oid": "23657296-5cd5-45b0-a809-d972a7f4dfe1",
        "tid": "dd0d0df1-06c3-436c-8034-4b9a153097ce",
    }
    return f"{part({'alg': 'none', 'typ': 'JWT'})}.{part(claims)}.c2lnbmF0dXJl"


def test_python_returns_the_url(versitygw: S3Endpoint) -> None:
    key_id, secret = versitygw.keys
    credential = haulage.S3Credential(key_id=key_id, secret=secret, endpoint=versitygw.url)
    with haulage.Session(credential) as session:
        bucket = f"s3://{versitygw.new_name()}"
        haulage.make_container(bucket, session=session)
        haulage.put(f"{bucket}/a", b"x", session=session)
        assert curl(haulage.presign(f"{bucket}/a", session=session)) == (200, b"x")
        with pytest.raises(haulage.UsageError):
            haulage.presign(bucket, session=session)
