"""Real endpoints to test against: Azurite and versitygw, which others wrote, and our own emulator."""

from __future__ import annotations

import itertools
import json
import select
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import ResourceExistsError
from azure.data import tables
from azure.data.tables import TableClient, TableServiceClient
from azure.storage.blob import (
    AccountSasPermissions,
    BlobServiceClient,
    ContainerClient,
    LinearRetry,
    ResourceTypes,
    generate_account_sas,
)

import haulage
from command import HAUL, clean_environment

ROOT = Path(__file__).resolve().parent.parent
NODE_MODULES = ROOT / "build/node/node_modules"
AZURITE = NODE_MODULES / "azurite/dist/src/blob/main.js"
AZURITE_TABLES = NODE_MODULES / "azurite/dist/src/table/main.js"
AZCOPY = NODE_MODULES / "@azure-tools/azcopy-linux/dist/bin/azcopy_linux_amd64"
RCLONE = HAUL.parent / "rclone"
VERSITYGW = ROOT / "build/tests/bin/versitygw"

ACCOUNT = "devstoreaccount1"
#: Published by the service's own documentation for every emulator, so it protects nothing.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Endpoint:
    """A blob service on this machine."""

    name: str
    url: str  #: http://127.0.0.1:PORT/devstoreaccount1
    connection_string: str

    @property
    def env(self) -> dict[str, str]:
        return {"AZURE_STORAGE_CONNECTION_STRING": self.connection_string}

    @property
    def service(self) -> BlobServiceClient:
        """Azure's own client, which asks again at once: faults are injected, and nobody is overloaded."""
        return BlobServiceClient.from_connection_string(
            self.connection_string,
            retry_policy=LinearRetry(backoff=0, retry_total=20, random_jitter_range=0),
            read_timeout=5,
        )

    def sas(self, permissions: str = "rwdlac", lasts: timedelta = timedelta(hours=1)) -> str:
        """Return a signature made by Azure's own library; it has expired where `lasts` is negative."""
        now = datetime.now(UTC)
        return generate_account_sas(
            ACCOUNT,
            KEY,
            ResourceTypes(service=True, container=True, object=True),
            AccountSasPermissions.from_string(permissions),  # type: ignore[no-untyped-call]
            expiry=now + lasts,
            start=now - timedelta(days=1),
        )

    def container(self) -> Container:
        """Return a new, empty container."""
        name = f"test-{next(_numbers)}"
        # Asked again on a slow machine, the service says that what it has just made is there.
        with suppress(ResourceExistsError):
            self.service.create_container(name)
        return Container(self, name, self.service.get_container_client(name))


@dataclass(frozen=True)
class Container:
    """A container of an endpoint."""

    endpoint: Endpoint
    name: str
    client: ContainerClient

    def az(self, path: str = "") -> str:
        return f"az://{self.name}/{path}"

    def url(self, path: str = "", sas: str = "") -> str:
        return f"{self.endpoint.url}/{self.name}/{path}" + (f"?{sas}" if sas else "")

    def contents(self) -> dict[str, bytes]:
        """Return all blobs, as Azure's own client reads them."""
        names = [blob.name for blob in self.client.list_blobs()]
        return {name: self.client.download_blob(name).readall() for name in names}


@dataclass(frozen=True)
class TableEndpoint:
    """A table service on this machine."""

    name: str
    url: str  #: http://127.0.0.1:PORT/devstoreaccount1

    @property
    def service(self) -> TableServiceClient:
        """Azure's own client, which asks again at once."""
        return TableServiceClient(
            self.url,
            credential=AzureNamedKeyCredential(ACCOUNT, KEY),
            retry_backoff_factor=0,
            retry_total=20,
            retry_read=20,
            retry_status=20,
        )

    def table(self) -> TableClient:
        """Return a new, empty table."""
        return self.service.create_table(f"Test{next(_numbers)}")

    def sas(self, permissions: str = "rwdlacu") -> str:
        """Return an account signature made by Azure's own library."""
        return tables.generate_account_sas(
            AzureNamedKeyCredential(ACCOUNT, KEY),
            tables.ResourceTypes(service=True, container=True, object=True),
            tables.AccountSasPermissions.from_string(permissions),
            datetime.now(UTC) + timedelta(hours=1),
        )


@contextmanager
def azurite(folder: Path, *, strict: bool = False) -> Iterator[Endpoint]:
    """Run Azurite with its blobs in memory; strict, it knows no CRC64."""
    with _azurite(folder, AZURITE, "blob", strict=strict) as url:
        yield Endpoint("azurite", url, connection_string(url))


@contextmanager
def azurite_by_tls(folder: Path, cert: Path, key: Path) -> Iterator[str]:
    """Run Azurite over https, where it takes tokens of Entra: those whose words and times are right."""
    tls = ["--oauth", "basic", "--cert", str(cert), "--key", str(key)]
    with _azurite(folder, AZURITE, "blob", more=tls) as url:
        yield url.replace("http://", "https://")


@contextmanager
def azurite_tables(folder: Path) -> Iterator[TableEndpoint]:
    """Run Azurite with its tables in memory."""
    with _azurite(folder, AZURITE_TABLES, "table") as url:
        yield TableEndpoint("azurite", url)


@contextmanager
def _azurite(
    folder: Path, program: Path, service: str, *, strict: bool = False, more: Sequence[str] = ()
) -> Iterator[str]:
    port = free_port()
    command = ["node", str(program), "--inMemoryPersistence", "--silent", "--disableTelemetry"]
    # Strict, it refuses CRC64 headers; loose, it takes them. The SDK of the day may speak a newer version
    # of the protocol than this Azurite has heard of.
    command += [] if strict else ["--loose"]
    command += [
        "--skipApiVersionCheck",
        f"--{service}Host",
        "127.0.0.1",
        f"--{service}Port",
        str(port),
        *more,
    ]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=clean_environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_for(port, process)
            yield f"http://127.0.0.1:{port}/{ACCOUNT}"
        finally:
            process.kill()


#: Of a server that ends with the tests.
S3_KEYS = ("haul-tests", "secret-of-haul-tests")


@dataclass(frozen=True)
class S3Endpoint:
    """An S3 service on this machine."""

    name: str
    url: str  #: http://127.0.0.1:PORT
    keys: tuple[str, str] = S3_KEYS

    @property
    def env(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": self.keys[0],
            "AWS_SECRET_ACCESS_KEY": self.keys[1],
        }

    def new_name(self) -> str:
        """Return the name of a bucket that is not there yet."""
        return f"test-{next(_numbers)}"


@contextmanager
def versitygw(folder: Path) -> Iterator[S3Endpoint]:
    """Run versitygw with its objects as files below a folder."""
    port, root = free_port(), folder / "buckets"
    root.mkdir()
    command = [str(VERSITYGW), "--access", S3_KEYS[0], "--secret", S3_KEYS[1], "--quiet", "--keep-alive"]
    command += ["--port", f"127.0.0.1:{port}", "posix", "--disableotmp", str(root)]
    with (folder / "versitygw.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=clean_environment(folder), stdout=log, stderr=subprocess.STDOUT
        )
        try:
            wait_for(port, process)
            yield S3Endpoint("versitygw", f"http://127.0.0.1:{port}")
        finally:
            process.kill()
            process.wait()


def by_s3(emulator: Endpoint) -> S3Endpoint:
    """Return the other interface of an emulator."""
    return S3Endpoint(emulator.name, emulator.url.rpartition("/")[0], (ACCOUNT, KEY))


class Emulator:
    """`haul emulate`, which may be killed and started again at the same address."""

    def __init__(
        self,
        folder: Path,
        *,
        store: str = "memory",
        link: str = "none",
        faults: str = "",
        port: int = 0,
        tls: tuple[Path, Path] | None = None,
    ) -> None:
        self._folder = folder
        self._args = ["--store", store, "--link", link, *(["--faults", faults] if faults else [])]
        if tls is not None:
            self._args += ["--tls-cert", str(tls[0]), "--tls-key", str(tls[1])]
        self._start(port)

    def _start(self, port: int) -> None:
        command = [str(HAUL), "emulate", "--listen", f"127.0.0.1:{port}", "--json", *self._args]
        with (self._folder / "emulator.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self._folder,
                env=clean_environment(self._folder),
                stdout=subprocess.PIPE,
                stderr=log,
            )
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], 20)
        line = self.process.stdout.readline() if ready else b""
        assert line, f"the emulator did not start: {(self._folder / 'emulator.log').read_text()[-2000:]}"
        serving = json.loads(line)
        url = serving["endpoint"].rstrip("/")
        self.endpoint = Endpoint("emulator", url, serving["connection_string"])

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def restart(self, pause: float = 0.3) -> None:
        """Kill it, and start it again after so many seconds."""
        self.kill()
        time.sleep(pause)
        self._start(int(self.endpoint.url.split(":")[2].split("/")[0]))


@contextmanager
def emulator(
    folder: Path,
    *,
    store: str = "memory",
    link: str = "none",
    faults: str = "",
    tls: tuple[Path, Path] | None = None,
) -> Iterator[Endpoint]:
    """Run `haul emulate`; over https with a certificate and its key."""
    running = Emulator(folder, store=store, link=link, faults=faults, tls=tls)
    try:
        yield running.endpoint
    finally:
        running.kill()


def counted(emulator: haulage.Emulator, call: Callable[[], object]) -> tuple[dict[str, int], int]:
    """Return the requests that a call sends, by operation, and the connections that it makes."""
    before, _, after = emulator.stats(), call(), emulator.stats()
    new = {name: count - before["requests"].get(name, 0) for name, count in after["requests"].items()}
    return {name: n for name, n in new.items() if n}, after["connections"] - before["connections"]


def connection_string(url: str, key: str = KEY) -> str:
    """Return what Azure's own clients take to connect."""
    return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={key};BlobEndpoint={url};"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up:
        assert process.poll() is None, f"the endpoint ended with {process.returncode}"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the endpoint does not listen")
