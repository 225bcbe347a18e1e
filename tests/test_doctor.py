"""`haul doctor` against setups that are broken for real: diagnosis, hint and exit code."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas

import endpoints
import fake_service
from command import HAUL, Haul, clean_environment, in_own_mounts
from endpoints import Endpoint, S3Endpoint
from haulage.doctor import Report, examine
from hostile import tls
from proxies import proxy
from sentences import Sentence

NOBODY = "192.0.2.1"


@dataclass
class Told:
    """What an examination told."""

    code: int
    findings: list[dict[str, Any]]

    def fault(self, check: str) -> dict[str, Any]:
        found = [one for one in self.findings if one["check"] == check and one["level"] == "fault"]
        shown = [(one["check"], one["level"], one["text"]) for one in self.findings]
        assert found, "\n".join(map(str, shown))
        return found[0]

    def of(self, check: str) -> dict[str, Any]:
        return next(one for one in self.findings if one["check"] == check)

    @property
    def faults(self) -> list[str]:
        return [one["check"] for one in self.findings if one["level"] == "fault"]


@dataclass
class Doctor:
    """The command, where nothing but the endpoint's credential is in the environment."""

    haul: Haul

    def __call__(
        self, *args: str | Path, code: int, env: Mapping[str, str] = {}, wrap: Sequence[str] = ()
    ) -> Told:
        ran = self.haul("doctor", *args, "--json", code=code, env=env, wrap=wrap, timeout=60)
        return Told(ran.code, ran.events[-1]["findings"])


@pytest.fixture
def doctor(tmp_path: Path) -> Doctor:
    return Doctor(Haul(tmp_path, {}, [endpoints.KEY], loaded=True))


def sas(permissions: str, starts: timedelta, ends: timedelta) -> str:
    now = datetime.now(UTC)
    return generate_account_sas(
        endpoints.ACCOUNT,
        endpoints.KEY,
        ResourceTypes(service=True, container=True, object=True),
        AccountSasPermissions.from_string(permissions),  # type: ignore[no-untyped-call]
        expiry=now + ends,
        start=now + starts,
    )


HOUR = timedelta(hours=1)


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


# What is well.


def test_a_service_that_is_well(endpoint: Endpoint, doctor: Doctor) -> None:
    container = endpoint.container()
    container.client.upload_blob("a/b c.bin", os.urandom(3 << 20))
    told = doctor(container.az("a/"), "--write", "--timeout", "20s", code=0, env=endpoint.env)
    levels = {one["check"]: one["level"] for one in told.findings}
    for check in (
        "network.clock",
        "service.version",
        "rights.list",
        "rights.read",
        "rights.write",
        "rights.delete",
    ):
        assert levels[check] == "ok", check
    assert told.of("checksums.taken")["values"]["crc64"] is True
    assert told.of("path.read-rate")["values"]["bits_per_second"] > 0
    assert list(container.contents()) == ["a/b c.bin"], "the tiny object was left"


def test_s3_that_is_well(service: S3Endpoint, doctor: Doctor) -> None:
    bucket = service.new_name()
    doctor.haul("mb", f"s3://{bucket}", env=service.env)
    told = doctor(f"s3://{bucket}/x/", "--write", "--timeout", "20s", code=0, env=service.env)
    assert told.of("rights.delete")["level"] == "ok"
    assert doctor.haul("ls", "-r", f"s3://{bucket}", env=service.env).text == ""


def test_without_write_nothing_is_sent_that_changes(emulator: Endpoint, doctor: Doctor) -> None:
    container = emulator.container()
    told = doctor(container.az(), code=0, env=emulator.env)
    assert not [one for one in told.findings if one["check"] in ("rights.write", "rights.delete")]
    assert told.of("rights.read")["level"] == "note"


def test_this_machine_alone(doctor: Doctor) -> None:
    told = doctor(code=0)
    assert {one["check"].partition(".")[0] for one in told.findings} == {
        "versions", "machine", "disk", "credentials"
    }  # fmt: skip


# The ten.


@pytest.fixture(scope="session")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from troubles import CLOCK

    library = tmp_path_factory.mktemp("clock") / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, CLOCK, "-ldl"], check=True)
    return library


@pytest.mark.parametrize("seconds", [-7200, 86400])
def test_wrong_clock(seconds: int, emulator: Endpoint, doctor: Doctor, clock: Path, tmp_path: Path) -> None:
    (tmp_path / "jump").write_text(str(seconds))
    env = {**emulator.env, "LD_PRELOAD": str(clock), "TEST_CLOCK": str(tmp_path / "jump")}
    told = doctor(emulator.container().az(), code=3, env=env)
    fault = told.fault("network.clock")
    assert ("ahead of" if seconds > 0 else "behind") in fault["text"]
    assert "timedatectl set-ntp true" in fault["hint"]
    assert abs(fault["values"]["skew_s"] - seconds) < 3


def test_wrong_clock_where_tls_fails_for_it(doctor: Doctor, clock: Path, tmp_path: Path) -> None:
    (tmp_path / "jump").write_text(str(5 * 86400))
    with _secure(tmp_path, tls.SHOWS["good"]) as (url, trust):
        env = {**trust, "LD_PRELOAD": str(clock), "TEST_CLOCK": str(tmp_path / "jump")}
        told = doctor(url, code=3, env=env)
    assert "ahead of" in told.fault("network.clock")["text"]


def test_expired_sas(endpoint: Endpoint, doctor: Doctor, sentence: Sentence) -> None:
    url = endpoint.container().url(sas=sas("rwdl", -2 * HOUR, -HOUR))
    fault = doctor(url, code=3).fault("credentials.sas")
    assert "the SAS expired on" in fault["text"]
    sentence(fault["hint"])


def test_sas_not_yet_valid(emulator: Endpoint, doctor: Doctor) -> None:
    url = emulator.container().url(sas=sas("rwdl", HOUR, 2 * HOUR))
    fault = doctor(url, code=3).fault("credentials.sas")
    assert "not valid before" in fault["text"]
    assert "starts 15 minutes ago" in fault["hint"]


@pytest.mark.parametrize(("has", "lacks"), [("rw", "ld"), ("rl", "wd"), ("wdl", "r"), ("rlw", "d")])
def test_missing_right(has: str, lacks: str, emulator: Endpoint, doctor: Doctor) -> None:
    container = emulator.container()
    told = doctor(container.url(sas=sas(has, -HOUR, 2 * HOUR)), "--write", code=3)
    fault = told.fault("credentials.permissions")
    assert all(f"{letter} (" in fault["text"] for letter in lacks), fault["text"]
    assert set(fault["hint"].rpartition("sp=")[2]) == set(has + lacks)
    assert container.contents() == {}


def test_dead_proxy(doctor: Doctor, emulator: Endpoint) -> None:
    dead = f"http://127.0.0.1:{closed_port()}"
    env = {"HTTPS_PROXY": dead, "AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_KEY": "a2V5"}
    fault = doctor("az://climate", code=1, env=env).fault("network.connection")
    assert "HTTPS_PROXY" in fault["text"]
    assert "--proxy none" in fault["hint"]
    assert doctor(emulator.container().az(), code=0, env={**emulator.env, **{"HTTP_PROXY": dead}})


@contextmanager
def _secure(folder: Path, show: tls.Show) -> Iterator[tuple[str, dict[str, str]]]:
    """Run the emulator behind TLS that shows this; give a URL, and what trusts a good certificate."""
    file = tls.certificate(show)
    running = endpoints.Emulator(folder, tls=(file, file))
    try:
        with_sas = f"{running.endpoint.url}/climate?{sas('rwdl', -HOUR, 2 * HOUR)}"
        yield with_sas, {"SSL_CERT_FILE": str(tls.certificate(show if show.trusted else tls.Show()))}
    finally:
        running.kill()


@pytest.mark.parametrize(
    ("show", "says", "hint"),
    [
        ("self-signed", "has signed the certificate", "--ca"),
        ("wrong-host", "is not for", "name in its certificate"),
        ("expired", "has expired", "renew it"),
        ("not-yet", "is not valid yet", "renew it"),
    ],
)
def test_certificate(show: str, says: str, hint: str, doctor: Doctor, tmp_path: Path) -> None:
    with _secure(tmp_path, tls.SHOWS[show]) as (url, trust):
        fault = doctor(url, code=1, env=trust).fault("network.tls")
    assert says in fault["text"]
    assert hint in fault["hint"]


def test_no_authorities(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "none.pem").write_text("")
    with _secure(tmp_path, tls.SHOWS["good"]) as (url, _):
        env = {"SSL_CERT_FILE": str(tmp_path / "none.pem"), "SSL_CERT_DIR": str(tmp_path / "nothing")}
        fault = doctor(url, code=1, env=env).fault("network.tls")
    assert "no authorities are installed" in fault["text"]
    assert "ca-certificates" in fault["hint"]


def test_tiny_ulimit(emulator: Endpoint, doctor: Doctor) -> None:
    wrap = ["sh", "-c", 'ulimit -n 40 && exec "$@"', "sh"]
    told = doctor(emulator.container().az(), code=1, env=emulator.env, wrap=wrap)
    fault = told.fault("machine.files")
    assert "only 40 open files" in fault["text"]
    assert "nofile" in fault["hint"]


def test_full_disk(emulator: Endpoint, doctor: Doctor, tmp_path: Path) -> None:
    container = emulator.container()
    container.client.upload_blob("a.bin", bytes(100))
    (tmp_path / "small").mkdir()
    mount = f"mount -t tmpfs -o size=256k none {tmp_path}/small"
    fill = f"{mount} && (head -c 1M /dev/zero > {tmp_path}/small/x 2>/dev/null || true)"
    told = doctor(
        "--job", container.az(), tmp_path / "small", code=1, env=emulator.env, wrap=in_own_mounts(fill)
    )
    assert "the disk is full" in told.fault("disk.room")["text"]
    assert "another disk" in told.fault("disk.room")["hint"]


def test_too_little_room_and_too_few_inodes(
    emulator: Endpoint, doctor: Doctor, tmp_path: Path, sentence: Sentence
) -> None:
    container = emulator.container()
    for number in range(12):
        container.client.upload_blob(f"{number}.bin", bytes(1 << 20))
    (tmp_path / "small").mkdir()
    mount = f"mount -t tmpfs -o size=8m,nr_inodes=8 none {tmp_path}/small"
    told = doctor(
        "--job", container.az(), tmp_path / "small", code=1, env=emulator.env, wrap=in_own_mounts(mount)
    )
    assert "12.0 MiB do not fit" in told.fault("job.room")["text"]
    sentence(told.fault("job.inodes")["text"])


def test_no_inodes_and_read_only(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    none = f"mount -t tmpfs -o size=8m,nr_inodes=1 none {tmp_path}/small"
    told = doctor(tmp_path / "small", code=1, wrap=in_own_mounts(none))
    assert "no inodes left" in told.fault("disk.inodes")["text"]
    read_only = f"mount -t tmpfs -o ro none {tmp_path}/small"
    told = doctor(tmp_path / "small", code=3, wrap=in_own_mounts(read_only))
    assert "read-only" in told.fault("disk.write")["text"]


def test_unknown_host(doctor: Doctor, sentence: Sentence) -> None:
    env = {"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_KEY": "a2V5"}
    told = doctor("https://acc.blob.core.windows.net.invalid/acc/climate", code=1, env=env)
    assert "host not found" in told.fault("network.dns")["text"]
    sentence(told.fault("network.dns")["hint"])


def test_http_instead_of_https(doctor: Doctor, tmp_path: Path) -> None:
    with _secure(tmp_path, tls.SHOWS["good"]) as (url, _):
        fault = doctor(url.replace("https://", "http://"), code=2).fault("network.tls")
    assert "uses https" in fault["text"]
    assert "https://" in fault["hint"]
    fault = doctor(f"http://{NOBODY}/acc/climate?sig=AAAA&spr=https", code=2).fault("network.connection")
    assert "plain http" in fault["text"]
    assert "use https" in fault["hint"]


def test_https_instead_of_http(emulator: Endpoint, doctor: Doctor) -> None:
    fault = doctor(emulator.container().url().replace("http://", "https://"), code=1).fault("network.tls")
    assert "does not support https" in fault["text"]


def test_no_crc64(doctor: Doctor, tmp_path: Path) -> None:
    with endpoints.azurite(tmp_path, strict=True) as strict:
        container = strict.container()
        for options in ((), ("--write",)):
            told = doctor(container.az(), "--timeout", "20s", *options, code=1, env=strict.env)
            fault = told.fault("checksums.taken")
            assert "does not support CRC64" in fault["text"]
            assert "--checksum md5" in fault["hint"]
        assert container.contents() == {}


# And others.


def test_container_missing(endpoint: Endpoint, doctor: Doctor) -> None:
    fault = doctor("az://not-there", code=4, env=endpoint.env).fault("rights.list")
    assert "no such container" in fault["text"]
    assert "haul mb" in fault["hint"]


def test_wrong_key(endpoint: Endpoint, doctor: Doctor) -> None:
    env = {"AZURE_STORAGE_CONNECTION_STRING": endpoint.connection_string.replace(endpoints.KEY, "d3Jvbmc=")}
    fault = doctor(endpoint.container().az(), code=3, env=env).fault("rights.list")
    assert "AZURE_STORAGE_KEY" in fault["hint"]


def test_port_closed(doctor: Doctor) -> None:
    fault = doctor(f"http://127.0.0.1:{closed_port()}/devstoreaccount1/climate", code=1)
    assert "refused" in fault.fault("network.connection")["text"]


def test_no_storage_service(doctor: Doctor) -> None:
    with fake_service.serve() as http:
        told = doctor(f"{http.url}/devstoreaccount1/climate", code=1)
    assert "no storage service" in told.fault("service.version")["text"]


def test_the_other_kind_of_service(versitygw: S3Endpoint, doctor: Doctor) -> None:
    told = doctor(f"{versitygw.url}/devstoreaccount1/climate", code=2)
    assert "is an S3 service" in told.fault("service.version")["text"]


def test_a_silent_server_and_dns_that_hangs(doctor: Doctor, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/devstoreaccount1/climate"
        began = time.monotonic()
        told = doctor(url, "--timeout", "1s", code=1)
        assert "network.connection" in told.faults
        assert time.monotonic() - began < 20
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:30\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 53))
        mount = f"mount --bind {tmp_path}/resolv.conf /etc/resolv.conf"
        env = {"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_KEY": "a2V5"}
        told = doctor("az://climate", "--timeout", "1s", code=1, env=env, wrap=in_own_mounts(mount))
    assert "resolv.conf" in told.fault("network.dns")["hint"]


def test_no_credential(emulator: Endpoint, doctor: Doctor) -> None:
    url = emulator.url.replace(endpoints.ACCOUNT, "other")
    fault = doctor(f"{url}/climate", code=3).fault("credentials.used")
    assert "no credential found" in fault["text"]


def test_through_a_proxy(doctor: Doctor, emulator: Endpoint) -> None:
    with proxy() as one:
        url = emulator.container().url().replace("127.0.0.1", "localhost.localdomain")
        told = doctor(url, "--insecure-http", "--proxy", f"http://{one.address}", code=3)
    assert told.of("network.proxy")["values"]["proxy"]["named_by"] == "--proxy"


# How it behaves.


def test_interrupted_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/devstoreaccount1/climate"
        process = subprocess.Popen(
            [str(HAUL), "doctor", url, "--timeout", "60s"],
            env=clean_environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        line, _ = silent.accept()
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        assert process.returncode == 130
        assert said == b"haul: interrupted\n"
        line.close()
        assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "args",
    [
        ("--timeout", "5"),
        ("a", "--job", "b", "c"),
        ("--html", "not/there/x.html"),
        ("",),
    ],
)
def test_usage(args: tuple[str, ...], doctor: Doctor, sentence: Sentence) -> None:
    ran = doctor.haul("doctor", *args, code=1 if "--html" in args else 2)
    sentence(ran.stderr)


def test_the_page_holds_all_and_no_secret(
    emulator: Endpoint, doctor: Doctor, tmp_path: Path, browser: Any
) -> None:
    from browsing import Opened

    secret = sas("rl", -2 * HOUR, -HOUR)
    url = emulator.container().url(sas=secret)
    doctor.haul("doctor", url, "--html", tmp_path / "page.html", code=3)
    text = (tmp_path / "page.html").read_text()
    assert "sig=" not in text
    for scheme in ("light", "dark"):
        for width in (1200, 360):
            size = {"width": width, "height": 900}
            opened = Opened(browser, f"file://{tmp_path}/page.html", color_scheme=scheme, viewport=size)
            assert opened.said == []
            assert len(opened.asked) == 1
            assert opened.page.locator(".fault").count() >= 2
            wide = opened.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width
            opened.context.close()


def test_from_python(emulator: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string)
    report = examine("az://not-there", timeout=timedelta(seconds=10))
    assert isinstance(report, Report)
    assert report.exit_code == 4
    found = report.find("rights.list")
    assert found is not None
    assert found.kind == "not_found"
    assert "no such container" in str(report)
    assert "no such container" in report._repr_html_()
    assert json.loads(json.dumps(report.to_dict()))["exit_code"] == 4
