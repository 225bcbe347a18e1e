"""A mover among others: a cap that may change, no storms of requests, no credentials for strangers."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import haulage
import trees
from command import Haul
from conftest import StartEmulator
from endpoints import ACCOUNT, Container, Endpoint, connection_string
from sentences import Sentence

MIB = 1 << 20


@pytest.fixture
def large(tmp_path: Path) -> Path:
    return trees.random_file(tmp_path / "large.bin", 16 * MIB)


def test_signals_change_the_cap_while_it_runs(haul: Haul, emulator: Endpoint, large: Path) -> None:
    container = emulator.container()
    # 13 s at this rate.
    process = haul.start("cp", large, container.az("x"), "--cap", "10mbit", "--block-size", "256KiB")
    time.sleep(0.7)
    began = time.monotonic()
    for number in (signal.SIGUSR1, *[signal.SIGUSR2] * 6):
        process.send_signal(number)
        time.sleep(0.1)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert time.monotonic() - began < 6
    caps = [line for line in said.decode().splitlines() if line.startswith("cap: ")]
    assert "5 Mbit/s" in caps[0], said.decode()
    assert "320 Mbit/s" in caps[-1]
    assert container.contents()["x"] == large.read_bytes()


def test_a_signal_sets_a_cap_where_there_is_none(start_emulator: StartEmulator, tmp_path: Path) -> None:
    endpoint = start_emulator(link="total=80mbit")
    haul, container = Haul(tmp_path, endpoint.env), endpoint.container()
    process = haul.start("cp", trees.random_file(tmp_path / "f", 16 * MIB), container.az("x"))
    time.sleep(1)
    process.send_signal(signal.SIGUSR2)
    time.sleep(0.1)
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.1)
    process.terminate()
    _, said = process.communicate(timeout=60)
    none, some = [line for line in said.decode().splitlines() if line.startswith("cap: ")]
    assert "none" in none
    rate = float(some.split("cap: ")[1].split()[0])
    assert 20 <= rate <= 60, some


def test_python_changes_the_cap(emulator: Endpoint, large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in emulator.env.items():
        monkeypatch.setenv(name, value)
    container = emulator.container()
    job = haulage.Job.copy(large, container.az("x"), cap="10mbit").start()
    time.sleep(0.5)
    with pytest.raises(haulage.UsageError, match="10"):
        job.set_cap("10")
    began = time.monotonic()
    job.set_cap(None)
    assert job.wait().objects_done == 1
    assert time.monotonic() - began < 4


class Stranger(BaseHTTPRequestHandler):
    """A server that sends everybody elsewhere, or notes what they bring."""

    elsewhere = ""
    seen: list[str]

    def answer(self) -> None:
        self.seen.append(f"{self.command} {self.path} {self.headers}")
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(307)
        self.send_header("Location", self.elsewhere + self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_PUT = do_HEAD = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def two_servers() -> Iterator[tuple[ThreadingHTTPServer, ThreadingHTTPServer]]:
    def serve(elsewhere: str) -> ThreadingHTTPServer:
        handler = type("Handler", (Stranger,), {"elsewhere": elsewhere, "seen": []})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    far = serve("http://127.0.0.1:9")
    near = serve(f"http://127.0.0.1:{far.server_port}")
    yield near, far
    for server in (near, far):
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_redirect_is_not_followed(
    two_servers: tuple[ThreadingHTTPServer, ThreadingHTTPServer], way: str, tmp_path: Path, sentence: Sentence
) -> None:
    near, far = two_servers
    env = {
        "AZURE_STORAGE_CONNECTION_STRING": connection_string(f"http://127.0.0.1:{near.server_port}/{ACCOUNT}")
    }
    haul = Haul(tmp_path, env)
    (tmp_path / "file").write_bytes(b"x")
    names = ("file", "az://data/x") if way == "up" else ("az://data/x", "back")
    said = haul("cp", *names, code=1)
    sentence(said.stderr)
    assert near.RequestHandlerClass.seen  # type: ignore[attr-defined]
    assert far.RequestHandlerClass.seen == []  # type: ignore[attr-defined]


def test_links_are_followed_only_when_asked(haul: Haul, container: Container) -> None:
    tree = haul.folder / "tree"
    (tree / "folder").mkdir(parents=True)
    (tree / "folder" / "file").write_bytes(b"inside")
    (haul.folder / "elsewhere").mkdir()
    (haul.folder / "elsewhere" / "far").write_bytes(b"outside")
    (tree / "away").symlink_to(haul.folder / "elsewhere")
    (tree / "folder" / "round").symlink_to(tree)
    said = haul("cp", "tree", container.az("skip/"))
    assert said.stderr.count("symbolic links are not followed") == 2
    said = haul("cp", "tree", container.az("follow/"), "--symlinks", "follow")
    assert "symlink loop" in said.stderr
    assert container.contents() == {
        "skip/folder/file": b"inside",
        "follow/folder/file": b"inside",
        "follow/away/far": b"outside",
    }


def test_a_service_that_bounds_its_requests_is_not_stormed(
    start_emulator: StartEmulator, haul_at: Callable[[Endpoint], Haul], tmp_path: Path
) -> None:
    """Refusals by chance neither defeat the job nor make it send much more."""
    endpoint = start_emulator(faults="busy=30%,seed=3")
    haul, container = haul_at(endpoint), endpoint.container()
    expected = trees.contents(trees.make(tmp_path / "tree", files=300))
    summary = haul("cp", "tree", container.az(""), "--json").summary
    assert summary["objects_done"] == len(expected)
    assert summary["requests"] < 2 * len(expected)


def test_a_job_begins_with_what_a_profile_tells(haul: Haul, emulator: Endpoint, large: Path) -> None:
    container = emulator.container()
    (haul.folder / "link.toml").write_text('concurrency = 7\nblock_size = "512KiB"\n')
    went = haul("cp", large, container.az("x"), "--profile", "./link.toml", "--json")
    blocks = [a for a in went.of("attempt") if a["api"] == "PutBlock"]
    assert blocks[0]["size_bytes"] == 512 << 10
    assert len({a["lane"] for a in blocks}) >= 7
    home = haul.folder / ".config/haulage/profiles"
    home.mkdir(parents=True)
    (home / "office.toml").write_text("concurrency = 7\n")
    assert haul("plan", large, container.az("y"), "--profile", "office", "--json").code == 0
    said = haul("cp", large, container.az("y"), "--profile", "nowhere", code=4)
    assert "nowhere.toml" in said.stderr
    assert "haul lab" in said.stderr
