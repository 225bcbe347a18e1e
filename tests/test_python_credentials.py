"""Credentials as arguments of `haulage.Session`: whose count, where they go, and that nobody sees them."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import haulage
from endpoints import ACCOUNT, KEY, Container, Endpoint, connection_string
from haulage.session import Credential
from sentences import Sentence

#: A key that no service knows.
WRONG = "d3Jvbmctd3Jvbmctd3Jvbmc="


def of_emulator(emulator: haulage.Emulator, key: str = KEY) -> haulage.AzureCredential:
    return haulage.AzureCredential(connection_string=connection_string(emulator.endpoint, key))


def test_a_connection_string_wins_over_the_environment(
    counting: haulage.Emulator, blobs: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    for environment in (connection_string(blobs.endpoint.url, key=WRONG), "AccountKey=broken;nonsense"):
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", environment)
        with haulage.Session(of_emulator(counting)) as session:
            haulage.put(blobs.az("a"), b"x", session=session)
            assert haulage.get(blobs.url("a"), session=session) == b"x"
    with pytest.raises(haulage.UsageError):
        haulage.get(blobs.az("a"))


def test_a_key_and_a_sas_as_arguments(
    counting: haulage.Emulator, blobs: Container, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection_string(blobs.endpoint.url, key=WRONG))
    (tmp_path / "a").write_bytes(b"hello")
    for number, credential in enumerate(
        [
            haulage.AzureCredential(account=ACCOUNT, endpoint=counting.endpoint, key=KEY),
            haulage.AzureCredential(endpoint=counting.endpoint, sas=counting.sas()),
            haulage.AzureCredential(endpoint=counting.endpoint, sas="?" + counting.sas()),
        ]
    ):
        with haulage.Session([credential]) as session:
            assert haulage.copy(tmp_path / "a", blobs.az(f"{number}"), session=session).objects_done == 1
            assert haulage.get(blobs.url(f"{number}"), session=session) == b"hello"
    # The endpoint of the call, where the credential names none.
    with haulage.Session(haulage.AzureCredential(account=ACCOUNT, sas=counting.sas())) as session:
        assert haulage.get(blobs.az("0"), endpoint=counting.endpoint, session=session) == b"hello"


def test_wrong_credentials_fail_by_name(
    counting: haulage.Emulator, blobs: Container, sentence: Sentence
) -> None:
    with haulage.Session(of_emulator(counting, WRONG)) as session:
        with pytest.raises(haulage.CredentialError) as caught:
            haulage.get(blobs.az("a"), session=session)
        sentence(caught.value)
    expired = counting.sas("r", datetime.now(UTC) - timedelta(hours=1))
    credential = haulage.AzureCredential(endpoint=counting.endpoint, sas=expired)
    with haulage.Session(credential) as session, pytest.raises(haulage.CredentialError) as caught:
        haulage.get(blobs.az("a"), session=session)
    assert "the SAS expired on" in caught.value.cause


def test_a_sas_goes_to_no_host_that_nobody_named(blobs: Container, sentence: Sentence) -> None:
    credential = haulage.AzureCredential(account=ACCOUNT, sas="sv=1&sig=c2VjcmV0c2VjcmV0")
    with haulage.Session(credential) as session, pytest.raises(haulage.CredentialError) as caught:
        haulage.get(blobs.url("a"), session=session)
    sentence(caught.value)


ARGUMENTS: list[tuple[Callable[[], object], str]] = [
    (lambda: haulage.AzureCredential(account="acc"), "AzureCredential"),
    (lambda: haulage.AzureCredential(account="acc", key=WRONG, sas="sig=x"), "AzureCredential"),
    (lambda: haulage.AzureCredential(key=WRONG), "key"),
    (lambda: haulage.AzureCredential(account="acc", key="c2VjcmV0!"), "key"),
    (lambda: haulage.AzureCredential(account="acc", sas="sv=c2VjcmV0"), "sas"),
    (lambda: haulage.AzureCredential(account="a b", key=WRONG), "account"),
    (lambda: haulage.AzureCredential(account="acc", endpoint="host", key=WRONG), "host"),
    (
        lambda: haulage.AzureCredential(
            account="acc", connection_string="AccountName=acc;AccountKey=c2VjcmV0"
        ),
        "connection_string",
    ),
    (
        lambda: haulage.AzureCredential(token=7),  # type: ignore[arg-type]
        "token",
    ),
    (lambda: haulage.AzureCredential(account="acc", key=b"c2VjcmV0"), "key"),  # type: ignore[arg-type]
    (lambda: haulage.S3Credential(key_id="id"), "S3Credential"),
    (lambda: haulage.S3Credential(anonymous=True, token="c2VjcmV0"), "S3Credential"),
    (lambda: haulage.S3Credential(key_id="id", secret="c2VjcmV0", profile="lab"), "S3Credential"),
    (lambda: haulage.S3Credential(), "S3Credential"),
    (lambda: haulage.S3Credential(key_id="i d", secret="c2VjcmV0"), "key_id"),
    (lambda: haulage.S3Credential(key_id="id", secret="c2VjcmV0", token=""), "token"),
    (lambda: haulage.S3Credential(profile=" "), "profile"),
    (
        lambda: haulage.Session(["c2VjcmV0"]),  # type: ignore[list-item]
        "credentials",
    ),
    (lambda: haulage.stat("mem://a/a", session="x"), "session"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(
    ("call", "name"),
    ARGUMENTS,
    ids=[f"{number}-{name}" for number, (_, name) in enumerate(ARGUMENTS, 1)],
)
def test_what_cannot_be_right_is_refused_by_name(
    call: Callable[[], object], name: str, sentence: Sentence
) -> None:
    with pytest.raises(haulage.UsageError) as caught:
        call()
    assert caught.value.object == name
    sentence(caught.value)
    assert "c2VjcmV0" not in repr(caught.value) + str(caught.value)


# S3.


def of_s3(emulator: haulage.Emulator, **changed: str) -> haulage.S3Credential:
    access = emulator.s3
    arguments = {
        "key_id": access["aws_access_key_id"],
        "secret": access["aws_secret_access_key"],
        "endpoint": access["endpoint_url"],
    }
    return haulage.S3Credential(**(arguments | changed))  # type: ignore[arg-type]


@pytest.fixture
def buckets() -> Iterator[haulage.Emulator]:
    """A second service; what it has as a container is a bucket too."""
    with haulage.Emulator() as own:
        yield own


@pytest.fixture
def bucket(buckets: haulage.Emulator) -> str:
    endpoint = Endpoint("in process", buckets.endpoint, buckets.connection_string)
    return f"s3://{endpoint.container().name}"


def test_one_job_takes_from_one_service_and_gives_to_another(
    counting: haulage.Emulator,
    blobs: Container,
    buckets: haulage.Emulator,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection_string(blobs.endpoint.url, key=WRONG))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "wrong")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with haulage.Session([of_emulator(counting), of_s3(buckets)]) as session:
        haulage.put(blobs.az("run/a"), b"hello", session=session)
        assert haulage.copy(blobs.az("run/"), f"{bucket}/run/", session=session).objects_done == 1
        assert haulage.get(f"{bucket}/run/a", session=session) == b"hello"
        assert [meta.key for meta in haulage.list(f"{bucket}/run/", session=session)] == ["run/a"]
        before = buckets.stats()["connections"]
        haulage.put(f"{bucket}/b", b"x", session=session)
        haulage.copy(f"{bucket}/run/", blobs.az("back/"), session=session)
        assert haulage.get_range(f"{bucket}/run/a", 1, 3, session=session) == b"ell"
        assert buckets.stats()["connections"] == before, "what an earlier call has left is used"


def test_keys_that_are_wrong_fail_by_name(buckets: haulage.Emulator, bucket: str) -> None:
    for changed, hint in (
        (
            {"secret": "c2VjcmV0"},
            "check the secret you passed, and the endpoint",
        ),
        (
            {"key_id": "nobody"},
            "check the key id you passed, and the endpoint",
        ),
    ):
        with (
            haulage.Session(of_s3(buckets, **changed)) as session,
            pytest.raises(haulage.CredentialError) as caught,
        ):
            haulage.get(f"{bucket}/a", session=session)
        assert caught.value.hint == hint
        assert "c2VjcmV0" not in repr(caught.value) + str(caught.value)


def test_a_profile_names_keys_region_and_endpoint(
    buckets: haulage.Emulator,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    sentence: Sentence,
) -> None:
    access = buckets.s3
    (tmp_path / "config").write_text(
        f"[profile lab]\nendpoint_url = {access['endpoint_url']}\nregion = x-1\n"
    )
    keys = "[lab]\naws_access_key_id = {aws_access_key_id}\naws_secret_access_key = {aws_secret_access_key}\n"
    (tmp_path / "credentials").write_text(keys.format(**access))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "wrong")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with haulage.Session(haulage.S3Credential(profile="lab")) as session:
        haulage.put(f"{bucket}/a", b"hello", session=session)
        assert haulage.get(f"{bucket}/a", session=session) == b"hello"
        assert repr(session) == "Session(S3Credential(profile='lab'))"
    # The profile alone: not whom the environment names.
    none = haulage.S3Credential(profile="none", endpoint=access["endpoint_url"])
    with haulage.Session(none) as session, pytest.raises(haulage.CredentialError) as caught:
        haulage.get(f"{bucket}/a", session=session)
    sentence(caught.value)


def test_nobodys_name_is_asked_in_and_a_call_goes_before(buckets: haulage.Emulator, bucket: str) -> None:
    endpoint = buckets.s3["endpoint_url"]
    with haulage.Session(haulage.S3Credential(anonymous=True, endpoint=endpoint)) as session:
        with pytest.raises(haulage.CredentialError) as caught:
            haulage.get(f"{bucket}/a", session=session)
        assert "not open to all" in caught.value.cause
        keys = (buckets.s3["aws_access_key_id"], buckets.s3["aws_secret_access_key"])
        haulage.put(f"{bucket}/a", b"x", keys=keys, session=session)


# Where secrets go.


@contextmanager
def listening() -> Iterator[tuple[str, list[str]]]:
    """A host that wants to know secrets, and all that it was told."""
    told: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def answer(self) -> None:
            told.append(f"{self.path} {self.headers.items()}")
            self.send_error(404)

        do_GET = do_HEAD = do_PUT = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", told
        finally:
            server.shutdown()
            thread.join()


def test_what_is_for_one_host_never_reaches_another(
    counting: haulage.Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    sas = "sv=1&sig=c2VjcmV0c2VjcmV0"
    own = f"{counting.endpoint.rsplit('/', 1)[0]}/acc"
    given: list[Credential] = [
        haulage.AzureCredential(endpoint=own, sas=sas),
        haulage.AzureCredential(endpoint=own, token=lambda: ("c2VjcmV0", time.time() + 3600)),
        haulage.AzureCredential(endpoint=own, key=WRONG),
        of_s3(counting, key_id="AKIDOURS", token="c2VjcmV0"),
    ]
    with listening() as (host, told):
        for credential in given:
            with haulage.Session(credential) as session:
                for url, endpoint in (
                    (f"{host}/acc/c/a", None),
                    ("az://c/a", f"{host}/acc"),
                    ("s3://bucket/a", host),
                ):
                    with pytest.raises(haulage.HaulageError):
                        haulage.get(url, endpoint=endpoint, session=session)
        everything = " ".join(told)
        for secret in ("c2VjcmV0", "SharedKey", "AKIDOURS"):
            assert secret not in everything
        # One that belongs to this host is used here, so the listener does listen.
        with (
            haulage.Session(of_s3(counting, key_id="AKIDOURS", endpoint=host)) as session,
            pytest.raises(haulage.NotFoundError),
        ):
            haulage.get("s3://bucket/a", session=session)
        assert "AKIDOURS" in told[-1]


# Secrets.


def test_nothing_printed_or_pickled_holds_a_secret(counting: haulage.Emulator) -> None:
    credentials: list[Credential] = [
        of_emulator(counting),
        haulage.AzureCredential(account="acc", key=WRONG),
        haulage.AzureCredential(account="other", sas="sv=1&sig=c2VjcmV0c2VjcmV0"),
        haulage.AzureCredential(token=lambda: ("token", 0)),
        haulage.AzureCredential(token="c2VjcmV0"),
        haulage.S3Credential(key_id="id", secret="c2VjcmV0", token="c2VjcmV0"),
    ]
    session = haulage.Session(credentials)
    shown = [*map(repr, credentials), *map(str, credentials), repr(session), str(session)]
    shown += [repr(vars(one)) for one in [*credentials, session]]
    for text in shown:
        assert not any(secret in text for secret in (KEY, WRONG, "c2VjcmV0")), text
    assert "AzureCredential(account='acc', key=...)" in repr(session)
    assert "S3Credential(secret=...)" in repr(session)
    for one in [*credentials, session]:
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(one)


def test_a_secret_given_is_in_no_error_and_no_record(
    blobs: Container, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING")
    credential = haulage.AzureCredential(endpoint=blobs.endpoint.url, key=WRONG)
    # A name that holds the secret, as an answer might that echoes it.
    with haulage.Session(credential) as session, pytest.raises(haulage.CredentialError) as caught:
        haulage.copy(blobs.az(WRONG), tmp_path / "a", session=session, record=tmp_path / "run.parquet")
    assert WRONG not in repr(caught.value) + str(caught.value) + str(caught.value.summary)
    record = tmp_path / "run.parquet"
    assert not record.exists() or WRONG.encode() not in record.read_bytes()
