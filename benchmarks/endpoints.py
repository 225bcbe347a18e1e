"""The servers that the movers talk to, each for as long as a context is open."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from cases import Case
from harness import HERE

ACCOUNT = "devstoreaccount1"
CONTAINER = "bench"
BUILD = HERE.parent / "build"
EMPTY = "<?xml version='1.0'?><EnumerationResults><Blobs></Blobs><NextMarker/></EnumerationResults>"
#: Of a server, not of an authority: some clients refuse one that may do both.
CERTIFICATE = """[req]
prompt = no
distinguished_name = name
x509_extensions = uses
[name]
CN = 127.0.0.1
[uses]
basicConstraints = critical, CA:FALSE
subjectAltName = IP:127.0.0.1
"""


class MissingError(Exception):
    """A server that a case needs is not here."""


@dataclass(frozen=True)
class Endpoint:
    """A server while it runs."""

    url: str  #: with the account, without the container
    connection_string: str
    sas: str
    scratch: Path
    env: Mapping[str, str]  #: what clients need besides
    spent: Path | None = None  #: a folder to empty after each run
    speaks_s3: bool = False  #: then the URL is without an account, and the keys are in `env`

    @property
    def key(self) -> str:
        """The account's key, which is public knowledge."""
        parts = dict(part.split("=", 1) for part in self.connection_string.split(";") if part)
        return parts["AccountKey"]

    def at(self, url: str, env: Mapping[str, str] | None = None, spent: Path | None = None) -> Endpoint:
        """Return the same account behind another address."""
        said = f"AccountName={ACCOUNT};AccountKey={self.key};BlobEndpoint={url};"
        scheme = f"DefaultEndpointsProtocol={urlsplit(url).scheme};"
        return replace(self, url=url, connection_string=scheme + said, env=env or {}, spent=spent)


@contextmanager
def serve(case: Case, haul: Path, folder: Path, size: int) -> Iterator[Endpoint]:
    """Serve what ``case`` asks for, with an empty container. ``size`` is that of one object, for nginx."""
    with emulate(haul, folder, case) as ours:
        if case.server == "nginx":
            with nginx(ours, folder, size) as at:
                yield at
        elif case.server == "tls":
            with tls(ours, folder) as at:
                yield at
        elif case.server == "azurite":
            with azurite(ours) as at:
                make_container(haul, at)
                yield at
        elif case.server == "s3":
            with s3(ours, folder, spent=case.does == "up") as at:
                make_container(haul, at)
                yield at
        else:
            yield ours


@contextmanager
def emulate(haul: Path, folder: Path, case: Case) -> Iterator[Endpoint]:
    """Serve `haul emulate`; the other servers take its account, key and signature."""
    line = [str(haul), "emulate", "--listen", "127.0.0.1:0", "--json", "--store", case.store]
    line += ["--link", case.link] if case.link != "none" else []
    line += ["--faults", case.faults] if case.faults else []
    process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        at = Endpoint(said["endpoint"], said["connection_string"], said["sas"], folder, {})
        make_container(haul, at)
        yield by_s3(at, said["s3"]) if case.server == "emulate-s3" else at
    finally:
        process.terminate()
        process.wait()


def by_s3(at: Endpoint, said: Mapping[str, str]) -> Endpoint:
    """Return the other interface of `haul emulate`, as it says itself."""
    env = {
        "AWS_ENDPOINT_URL": said["endpoint_url"],
        "AWS_ACCESS_KEY_ID": said["access_key_id"],
        "AWS_SECRET_ACCESS_KEY": said["secret_access_key"],
        "AWS_REGION": said["region"],
    }
    return replace(at, url=said["endpoint_url"], env=env, speaks_s3=True)


def make_container(haul: Path, at: Endpoint) -> None:
    """Make the container that all cases use."""
    env = os.environ | {"AZURE_STORAGE_CONNECTION_STRING": at.connection_string} | dict(at.env)
    scheme = "s3" if at.speaks_s3 else "az"
    subprocess.run([haul, "mb", "--quiet", f"{scheme}://{CONTAINER}"], env=env, check=True)


@contextmanager
def nginx(ours: Endpoint, folder: Path, size: int) -> Iterator[Endpoint]:
    """Serve nginx with DAV, whose objects are all of ``size`` bytes (peers/nginx.conf.in)."""
    root = folder / "nginx"
    for name in ("", "data", "data/sink", f"data/{ACCOUNT}", f"data/{ACCOUNT}/{CONTAINER}"):
        (root / name).mkdir()
    (root / "data/list.xml").write_text(EMPTY)
    with (root / "data/object").open("wb") as file:
        file.truncate(size)
    port = free_port()
    with _nginx(root, "nginx.conf.in", PORT=str(port)):
        yield ours.at(f"http://127.0.0.1:{port}/{ACCOUNT}", spent=root / "data/sink")


@contextmanager
def tls(ours: Endpoint, folder: Path) -> Iterator[Endpoint]:
    """Serve ``ours`` behind TLS, with a certificate made for this run, that clients are told to trust."""
    root, port = folder / "tls", free_port()
    root.mkdir()
    cert, config = root / "cert.pem", root / "cert.conf"
    config.write_text(CERTIFICATE)
    line = (
        f"req -x509 -newkey rsa:2048 -nodes -days 2 -config {config} -keyout {root / 'key.pem'} -out {cert}"
    )
    subprocess.run(["openssl", *line.split()], check=True, capture_output=True)
    behind = str(urlsplit(ours.url).port)
    with _nginx(root, "tls.conf.in", PORT=str(port), BEHIND=behind):
        yield ours.at(f"https://127.0.0.1:{port}/{ACCOUNT}", env={"SSL_CERT_FILE": str(cert)})


@contextmanager
def _nginx(root: Path, template: str, **words: str) -> Iterator[None]:
    program = _program("nginx", BUILD / "nginx/usr/sbin")
    # Modules lie where the package has put them, beside /usr/sbin.
    modules = program.parent.parent / "lib/nginx/modules"
    text = (HERE / "peers" / template).read_text()
    for word, value in (words | {"MODULES": str(modules)}).items():
        text = text.replace(f"@{word}@", value)
    (root / "nginx.conf").write_text(text)
    line = [str(program), "-p", str(root), "-c", "nginx.conf", "-e", "stderr"]
    with _running(line, int(words["PORT"])):
        yield


@contextmanager
def azurite(ours: Endpoint) -> Iterator[Endpoint]:
    """Serve Azurite, in memory. Loose, because else it refuses checksums that the service checks."""
    script = Path(os.environ.get("AZURITE_PATH", BUILD / "node/node_modules/azurite/dist/src/blob/main.js"))
    if not script.exists():
        raise MissingError("Azurite is not here: make peers")
    port = free_port()
    line = f"node {script} --blobHost 127.0.0.1 --blobPort {port}"
    line += " --loose --skipApiVersionCheck --disableTelemetry --inMemoryPersistence --silent"
    with _running(line.split(), port):
        yield ours.at(f"http://127.0.0.1:{port}/{ACCOUNT}")


@contextmanager
def s3(ours: Endpoint, folder: Path, spent: bool) -> Iterator[Endpoint]:
    """Serve a folder by S3, with versitygw; what runs leave in it is removed after each, if ``spent``."""
    program, port = _program("versitygw", BUILD / "bin"), free_port()
    root = folder / "s3"
    root.mkdir()
    keys = ("versitygw", "versitygw")
    line = f"{program} --access {keys[0]} --secret {keys[1]} --port 127.0.0.1:{port} --quiet --keep-alive"
    line += f" posix --disableotmp {root}"
    url = f"http://127.0.0.1:{port}"
    said = {"endpoint_url": url, "access_key_id": keys[0], "secret_access_key": keys[1]}
    with _running(line.split(), port):
        yield replace(by_s3(ours, said | {"region": "us-east-1"}), spent=root / CONTAINER if spent else None)


def _program(name: str, place: Path) -> Path:
    # Not NGINX, which has a meaning of its own to nginx.
    path = os.environ.get(f"{name.upper()}_PATH")
    path = path or shutil.which(name, path=f"{place}:{os.environ.get('PATH', '')}:/usr/sbin")
    if not path:
        raise MissingError(f"{name} is not here: make peers-bench")
    return Path(path)


@contextmanager
def _running(line: Sequence[str], port: int) -> Iterator[None]:
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        try:
            for _ in range(100):
                if process.poll() is not None:
                    errors.seek(0)
                    said = errors.read().decode(errors="replace").strip()
                    raise MissingError(f"{Path(line[0]).name} ended at its start: {said[-500:]}")
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            else:
                sys.exit(f"{line[0]} does not answer")
            yield
        finally:
            process.terminate()
            process.wait()


def free_port() -> int:
    """Return a port that nothing listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert isinstance(port, int)
    return port
