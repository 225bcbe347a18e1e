"""A machine with a route to a private endpoint only: everything works there, and nothing else is tried."""

from __future__ import annotations

import datetime
import ipaddress
import json
import select
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import CertificateBuilder as Builder
from cryptography.x509.oid import NameOID

from packages import jobs
from packages.machine import PACKAGES, ROOT, Machine, machine, sample_data
from packages.wires import NAME, PORT, STORE, Watch, inside, join, tried, watched

pytestmark = [pytest.mark.packages, pytest.mark.timeout(1800)]

CA = "/etc/ssl/our-ca.pem"
PREFIX = "/opt/haulage"
TRACE = "strace -f --seccomp-bpf -qq -e trace=connect,sendto,sendmsg,sendmmsg -e signal=none -o /tmp/calls"
#: Small, but whole: a ceiling, two ways, replicates, a verdict, a page.
PLAN = """
name = "island"
target = "emulated:lan"
replicates = 3
warm_up = 1
idle = "10ms"
directions = ["up"]
arms = [{ method = "baseline" }, { method = "blocks", block_size = "256KiB", concurrency = 4 }]
files = [{ size = "100KB", count = 2 }, { size = "2MB" }]
"""


@dataclass(frozen=True)
class Island:
    """The machine, and how it reaches the endpoint."""

    machine: Machine
    store: Machine
    access: dict[str, str]

    def __call__(self, line: str, *, code: int = 0, timeout: float = 900) -> str:
        """Run a line of a shell there, with each call that names an address written down."""
        path = f"{PREFIX}/bin:{self.machine.environment['PATH']}"
        traced = [*f"{TRACE}.$RANDOM".replace("$RANDOM", str(next(_numbers))).split(), "sh", "-euc", line]
        ran = self.machine(traced, env={**self.access, "PATH": path}, code=code, timeout=timeout)
        return ran.out + ran.err


_numbers = iter(range(1_000_000))


def certificates(folder: Path) -> None:
    """Write an authority that nobody else knows, and a certificate of it for the endpoint's name."""
    now = datetime.datetime.now(datetime.UTC)

    def certificate(name: str, key: ec.EllipticCurvePrivateKey, issuer: str, *, ca: bool) -> Builder:
        built = x509.CertificateBuilder().subject_name(_name(name)).issuer_name(_name(issuer))
        built = built.public_key(key.public_key()).serial_number(x509.random_serial_number())
        built = built.not_valid_before(now - datetime.timedelta(days=1))
        built = built.not_valid_after(now + datetime.timedelta(days=30))
        return built.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)

    ours, theirs = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = certificate("Island CA", ours, "Island CA", ca=True).sign(ours, hashes.SHA256())
    names = x509.SubjectAlternativeName([x509.DNSName(NAME), x509.IPAddress(ipaddress.ip_address(STORE))])
    leaf = certificate(NAME, theirs, "Island CA", ca=False).add_extension(names, critical=False)
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(root.public_bytes(pem))
    (folder / "server.pem").write_bytes(leaf.sign(ours, hashes.SHA256()).public_bytes(pem))
    key = theirs.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.key").write_bytes(key)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


@pytest.fixture(scope="module")
def carried() -> Path:
    """The folder as `make carry` leaves it."""
    folders = list((ROOT / "build/carry").glob("haulage-*"))
    assert len(folders) == 1, "no folder to carry (hint: make carry)"
    return folders[0]


@contextmanager
def serving(store: Machine) -> Iterator[dict[str, str]]:
    """Run the endpoint on the other machine; yield what the island's people are told to set."""
    store("dpkg --install /packages/haulage_*.deb")
    line = ["haul", "emulate", "--json", "--allow-remote", "--listen", f"{STORE}:{PORT}"]
    tls = ["--tls-cert", "/certificates/server.pem", "--tls-key", "/certificates/server.key"]
    with store.start(*line, *tls) as process:
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], 30)[0], "the endpoint did not start"
            said = json.loads(process.stdout.readline())
            sas, s3 = said["sas"].lstrip("?"), said["s3"]
            yield {
                "AZURE_STORAGE_CONNECTION_STRING": said["connection_string"].replace(STORE, NAME),
                "SAS_URL": f"https://{NAME}:{PORT}/devstoreaccount1/lab?{sas}",
                "AWS_ENDPOINT_URL": f"https://{NAME}:{PORT}",
                "AWS_ACCESS_KEY_ID": s3["access_key_id"],
                "AWS_SECRET_ACCESS_KEY": s3["secret_access_key"],
                "AWS_REGION": s3["region"],
                "SSL_CERT_FILE": CA,
            }
        finally:
            process.kill()


@pytest.fixture(scope="module")
def island(carried: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Island]:
    folder = tmp_path_factory.mktemp("certificates")
    certificates(folder)
    folders = {"packages": PACKAGES, "certificates": folder}
    with (
        machine("bookworm", carried=carried, data=sample_data(), **folders) as made,
        machine("bookworm", **folders) as store,
    ):
        join(made, store)
        made(f"cp /certificates/ca.pem {CA}")
        with serving(store) as access:
            yield Island(made, store, access)


@pytest.fixture
def watch(island: Island) -> Iterator[Watch]:
    """What was seen on the wire; checked in the end, where every test must have been quiet."""
    island.machine("rm -f /tmp/calls*")
    with watched(island.machine, island.store) as seen:
        yield seen


def attempts(island: Island) -> tuple[Counter[str], int]:
    """Return what calls have tried to reach besides the endpoint, and how many calls named an address."""
    found: Counter[str] = Counter()
    total = 0
    for log in Path(f"/proc/{island.machine.process}", "root", "tmp").glob("calls*"):
        elsewhere, all_of_them = tried(log)
        found += elsewhere
        total += all_of_them
    return found, total


def nothing_elsewhere(island: Island, watch: Watch) -> str:
    """Fail if a packet, a question or a call was for anybody but the endpoint; return what was counted."""
    elsewhere, calls = attempts(island)
    assert watch.dropped == 0, "packets were not looked at"
    assert not watch.packets, dict(watch.packets)
    assert not watch.questions, watch.questions
    assert not elsewhere, dict(elsewhere)
    return f"{watch.seen} packets and {calls} calls with an address: none for anybody else, no name asked for"


ATTEMPTS = """
import socket
socket.socket().connect_ex(("198.51.100.7", 443))
socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.2", 9))
"""


def test_an_attempt_would_be_noticed(island: Island, watch: Watch) -> None:
    island(f"python3 -c '{ATTEMPTS}'; getent hosts telemetry.example.org || true")
    with pytest.raises(AssertionError):
        nothing_elsewhere(island, watch)
    assert "connect 198.51.100.7 port 443" in attempts(island)[0]
    assert "telemetry.example.org" in watch.questions
    assert "protocol 17 from 192.0.2.1 to 192.0.2.2 port 9" in watch.packets


def test_there_is_no_other_route(island: Island) -> None:
    with inside(island.machine):
        routes = Path("/proc/thread-self/net/route").read_text().splitlines()[1:]
    assert [line.split()[1] for line in routes] == ["000200C0"]
    jobs.has_no_compilers(island.machine)


def test_everything_works_and_nothing_else_is_tried(
    island: Island, watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    # From the folder alone.
    said = island(f"sh /carried/install.sh {PREFIX}")
    assert f"installed into {PREFIX}" in said
    assert "No broken requirements" in island(f"{PREFIX}/bin/pip check")

    # The demo, on the machine itself.
    said = island("mkdir demo-run && cd demo-run && python /carried/demo 2>&1")
    assert "172 of 172 files came back equal" in said

    # Against the private endpoint: copy, prove, resume, look, sync.
    island("haul mb -q az://climate && haul mb -q az://lab")
    island("haul cp -q /data az://climate/all --record run.parquet --receipt run.receipt")
    island("haul verify -q /data az://climate/all && haul verify -q run.receipt az://climate/all")
    island("haul cp -q az://climate/all back && diff -r /data back")
    island("haul sync -q --delete /data az://climate/all")
    # No authority but theirs is asked, and without it nothing is sent.
    assert "certificate" in island("SSL_CERT_FILE= haul ls az://climate", code=1)

    # The same over S3.
    island(
        "haul mb -q s3://bucket && haul cp -q /data s3://bucket/all && haul verify -q /data s3://bucket/all"
    )

    # Diagnosis, a page of it, and why.
    island("haul doctor")
    island("haul doctor az://climate/all --write --html doctor.html")
    island("haul why run.parquet --html why.html && haul why run.parquet")

    # A plan of the lab, its report, checked and made again.
    island(
        f"cat >plan.toml <<'END'\n{PLAN}END\nhaul lab run plan.toml --to \"$SAS_URL\" --out runs/island -q"
    )
    island("haul lab verify runs/island && haul lab report runs/island")
    island("haul lab run plan.toml --to emulated:lan --out runs/here -q")

    # Several nodes.
    island("haul cp -q /data az://climate/nodes --nodes 2 && haul verify -q /data az://climate/nodes")

    # From Python, and NetCDF where it lies.
    island(f"python - <<'END'\n{PYTHON}END")
    pages = island("find . -name '*.html'").split()
    assert {"./doctor.html", "./why.html"} < set(pages)
    for page in pages:
        # What a browser would fetch by itself.
        text = island.machine(["cat", page]).out
        assert text.count('<script src="http') + text.count('<link rel="stylesheet" href="http') == 0, page
    counted = nothing_elsewhere(island, watch)
    assert watch.seen > 1000
    with capsys.disabled():
        print(f"\nair-gapped: {counted}")


PYTHON = """
import haulage, tempfile
print(haulage.copy("/data", "az://climate/python").objects_done)
print(len(list(haulage.list("az://climate/python"))))
"""


def test_the_command_alone_without_python(island: Island, watch: Watch) -> None:
    said = island("sh /carried/install.sh --command /opt/haul-only")
    assert "installed into /opt/haul-only" in said
    island("PATH=/opt/haul-only/bin:$PATH && haul mb -q az://alone && haul cp -q /data az://alone/")
    assert "haul-cp(1)" in island("man -M /opt/haul-only/share/man -P cat haul")
    nothing_elsewhere(island, watch)


def test_a_damaged_folder_is_not_installed(island: Island, watch: Watch) -> None:
    island("mkdir /damaged && cp -R /carried/. /damaged && echo >>/damaged/README.txt")
    assert "damaged or was changed" in island("sh /damaged/install.sh /opt/never 2>&1", code=1)
    island("test ! -e /opt/never")
    nothing_elsewhere(island, watch)


def test_another_python_is_refused_with_what_to_do(island: Island, watch: Watch) -> None:
    island("cp -R /carried /other && echo 3.14 >/other/PYTHON")
    assert "PYTHONS=3.11" in island("sh /other/install.sh --no-check /opt/never 2>&1", code=1)
    assert "--command" in island("PYTHON=/nowhere sh /carried/install.sh --no-check /opt/never 2>&1", code=1)
    nothing_elsewhere(island, watch)
