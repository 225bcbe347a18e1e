"""`haul sync`, `haul mv` and dry runs: one side becomes equal to the other, and nothing else is lost."""

from __future__ import annotations

import json
import random
import re
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import endpoints
import trees
from command import Haul, Result
from endpoints import Container, Endpoint

STORES = pytest.mark.parametrize("store", ["local", "azure", "s3"])
PLANNED = {"would_copy": "copied", "would_delete": "deleted", "would_back_up": "backed_up"}


@pytest.fixture
def haul(emulator: Endpoint, tmp_path: Path) -> Haul:
    """The command, with the keys of both interfaces of the emulator."""
    return Haul(tmp_path, emulator.env | endpoints.by_s3(emulator).env, [endpoints.KEY])


def place(store: str, container: Container, folder: Path, name: str) -> str:
    """Return a name for a folder or prefix."""
    if store == "local":
        return f"{folder / name}/"
    return container.az(f"{name}/") if store == "azure" else f"s3://{container.name}/{name}/"


def fill(folder: Path, names: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in names.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def contents(haul: Haul, place: str) -> dict[str, bytes]:
    back = haul.folder / "back"
    shutil.rmtree(back, ignore_errors=True)
    if place.startswith("/"):
        return trees.contents(Path(place)) if Path(place).exists() else {}
    haul("cp", place, back)
    return trees.contents(back)


def done(result: Result) -> set[tuple[str, str, str, str | None]]:
    """Return what was done, or would be, with which object and why."""
    ended = [event for event in result.of("object") if event["outcome"] != "skipped"]
    return {
        (
            PLANNED.get(e["outcome"], e["outcome"]),
            e["source"],
            e["destination"],
            e["reason"] if e["outcome"] not in ("backed_up", "would_back_up") else None,
        )
        for e in ended
    }


def numbers(result: Result) -> list[Any]:
    fields = (
        "objects_done",
        "objects_skipped",
        "objects_deleted",
        "objects_backed_up",
        "objects_extra",
        "bytes_done",
        "exit_code",
    )
    return [result.summary[field] for field in fields]


def random_trees(haul: Haul, container: Container, seed: int) -> None:
    """A dry run says what the run then does, and afterwards both sides are equal."""
    rng = random.Random(seed)
    store = rng.choice(["local", "azure", "s3"])
    names = [
        f"{rng.choice('abc')}{'/' + rng.choice('xyz') if rng.random() < 0.5 else ''}/{n}"
        for n in range(rng.randrange(1, 25))
    ]
    source = fill(haul.folder / f"src-{seed}", {name: rng.randbytes(rng.randrange(40)) for name in names})
    there = place(store, container, haul.folder, f"dst-{seed}")
    before = fill(haul.folder / f"before-{seed}", {})
    for name in [name for name in names if rng.random() < 0.6]:
        target = before / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, target)
        if rng.random() < 0.3:
            target.write_bytes(rng.randbytes(rng.randrange(40)))
    fill(before, {f"{rng.choice('abcd')}/extra-{n}": b"extra" for n in range(rng.randrange(8))})
    fill(before, {"kept/a.keep": b"kept"})
    haul("cp", before, there)
    options: list[str] = ["--exclude", "*.keep"]
    backup = place(store, container, haul.folder, f"backup-{seed}")
    if rng.random() < 0.3:
        options += ["--backup-dir", backup]
    if rng.random() < 0.3:
        options += ["--compare", rng.choice(["size", "time", "checksum"])]
    guarded = rng.random() < 0.2
    if guarded:
        options += ["--max-delete", "2"]
    line = ["sync", str(source), there, "--delete", "--json", *options]
    was = contents(haul, there)
    extras = [name for name in was if name not in names and not name.endswith(".keep")]
    code = 1 if guarded and len(extras) > 2 else 0
    plan = haul(*line, "--dry-run", code=code)
    assert contents(haul, there) == was, "a dry run changes nothing"
    went = haul(*line, code=code)
    assert done(plan) == done(went), (seed, line)
    assert numbers(plan) == numbers(went), (seed, line)
    expected = trees.contents(source) | {"kept/a.keep": b"kept"}
    if code:
        expected |= {name: was[name] for name in extras}
    now = contents(haul, there)
    if "size" in options:
        assert sorted(now) == sorted(expected)
    else:
        trees.assert_same(now, expected)
    if (
        "--backup-dir" in options
        and not code
        and any(name not in now or now[name] != was[name] for name in was)
    ):
        saved = contents(haul, backup)
        assert saved == {
            name: content for name, content in was.items() if now.get(name) != content or name in saved
        }


@pytest.mark.parametrize("seed", range(20))
def test_a_dry_run_is_what_the_run_does(haul: Haul, emulator: Endpoint, seed: int) -> None:
    random_trees(haul, emulator.container(), seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_a_dry_run_is_what_the_run_does_on_many_trees(haul: Haul, emulator: Endpoint, seed: int) -> None:
    random_trees(haul, emulator.container(), seed)


@STORES
def test_an_empty_or_missing_source_deletes_nothing(haul: Haul, emulator: Endpoint, store: str) -> None:
    container = emulator.container()
    there = place(store, container, haul.folder, "there")
    haul("cp", fill(haul.folder / "full", {"a": b"1", "b/c": b"2"}), there)
    (haul.folder / "empty").mkdir()
    went = haul("sync", "empty", there, "--delete", code=4)
    assert went.hints == {"check the name of the source; add --allow-empty if you mean it"}
    for dry in ([], ["--dry-run"]):
        went = haul("sync", "missing", there, "--delete", "--allow-empty", *dry, code=4)
        assert went.hints == {"check the name of the source: nothing is deleted where it is missing"}
    assert len(contents(haul, there)) == 2
    haul("sync", "empty", there, "--delete", "--allow-empty")
    if store == "local":
        assert not trees.contents(Path(there))
    else:
        haul("ls", "-r", there, code=4)


def test_guards_stop(haul: Haul, emulator: Endpoint) -> None:
    there = emulator.container().az("there/")
    haul("cp", fill(haul.folder / "full", {f"{n}": b"1" for n in range(10)}), there)
    fill(haul.folder / "few", {f"{n}": b"1" for n in range(5)})
    for most in ("4", "49%"):
        went = haul("sync", "few", there, "--delete", "--max-delete", most, "--json", code=1)
        assert (went.summary["objects_deleted"], went.summary["objects_extra"]) == (0, 5)
        assert went.hints == {"look at them with --dry-run, then allow more with --max-delete"}
    assert len(contents(haul, there)) == 10
    assert (
        haul("sync", "few", there, "--delete", "--max-delete", "50%", "--json").summary["objects_deleted"]
        == 5
    )
    haul("sync", "few", there, "--delete", "--max-delete", "ten", code=2)


@STORES
def test_what_one_side_holds_of_the_other_is_refused(haul: Haul, emulator: Endpoint, store: str) -> None:
    outer = place(store, emulator.container(), haul.folder, "tree")
    haul("cp", fill(haul.folder / "made", {"a": b"1", "in/b": b"2"}), outer)
    inner = outer + "in/"
    for line in (
        ["sync", inner, outer, "--delete"],
        ["sync", outer, inner, "--delete"],
        ["mv", outer, inner],
    ):
        assert haul(*line, code=2).hints == {"name two places of which neither holds the other"}
    assert haul("sync", outer, outer, "--delete", code=2).hints == {"name another destination"}
    haul("sync", "made", outer, "--delete", "--backup-dir", inner, code=2)
    assert sorted(contents(haul, outer)) == ["a", "in/b"]


def test_a_failed_copy_withholds_all_deletes(haul: Haul) -> None:
    there = fill(haul.folder / "there", {"gone": b"1", "a/below": b"2"})
    fill(haul.folder / "here", {"a": b"a file where there is a folder", "b": b"2"})
    went = haul("sync", "here", there, "--delete", "--json", code=1)
    assert (went.summary["objects_deleted"], went.summary["objects_failed"]) == (0, 1)
    assert "not everything was copied" in went.summary["warnings"][-1]
    assert (there / "gone").exists()


def test_links_are_neither_followed_nor_deleted(haul: Haul) -> None:
    outside = fill(haul.folder / "outside", {"precious": b"1"})
    there = fill(
        haul.folder / "there",
        {"gone/deep/file": b"1", "stays": b"1", "linked": b"copied when links were followed"},
    )
    (there / "link").symlink_to(outside)
    here = fill(haul.folder / "here", {"stays": b"1"})
    (here / "linked").symlink_to(outside / "precious")
    haul("sync", here, there, "--delete")
    haul("sync", here, there, "--delete", "--symlinks", "follow")
    assert (outside / "precious").exists()
    assert (there / "link").is_symlink()
    assert (there / "linked").exists(), "the source has something of this name"
    assert not (there / "gone").exists(), "folders that became empty go too"
    assert haul("mv", here, "moved/", "--symlinks", "follow", code=2).hints == {
        "leave it out, or copy with haul cp --symlinks follow"
    }


def test_a_receipt_saves_a_look_at_each_object(haul: Haul, emulator: Endpoint) -> None:
    there = f"s3://{emulator.container().name}/t/"
    fill(haul.folder / "here", {f"{n}": b"x" * n for n in range(1, 30)})
    line = ["sync", "here", there, "--receipt", "here.jsonl", "--compare", "receipt", "--json"]
    assert haul(*line).summary["objects_done"] == 29
    for _ in range(2):
        again = haul(*line)
        assert again.summary["objects_skipped"] == 29
        assert "HeadObject" not in {attempt["api"] for attempt in again.of("attempt")}
    (haul.folder / "here/7").write_bytes(b"changed")
    assert haul(*line).summary["objects_done"] == 1
    assert haul("verify", "here.jsonl", there).code == 0
    assert haul("sync", "here", there, "--compare", "receipt", code=2).hints == {
        "add --receipt FILE: it is read, then written anew"
    }
    assert haul("sync", "here", there, "--compare", "mtime", code=2).code == 2


class Gateway:
    """Passes requests on to an endpoint, and spoils the page of a list that it is told to."""

    def __init__(self, target: str) -> None:
        self.target, self.pages, self.spoil, self.how = target, 0, 0, "cut"


@contextmanager
def gateway(endpoint: Endpoint) -> Iterator[tuple[Gateway, str]]:
    base = endpoint.url.rsplit("/", 1)[0]
    state, lock = Gateway(base), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
            path = self.path
            if "comp=list" in path:
                # A SAS does not sign it, so that a few names are several pages.
                path = re.sub(r"&maxresults=\d+", "", path) + "&maxresults=100"
            sent = urllib.request.Request(
                base + path, data=body or None, headers=headers, method=self.command
            )
            try:
                with urllib.request.urlopen(sent) as answer:
                    status, told, data = answer.status, answer.headers, answer.read()
            except urllib.error.HTTPError as error:
                status, told, data = error.code, error.headers, error.read()
            hit = False
            if "comp=list" in self.path and self.command == "GET":
                with lock:
                    state.pages += 1
                    hit = state.pages == state.spoil
            if hit and state.how == "refuse":
                status, data = 404, b""
            self.send_response(status)
            for name, value in told.items():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            if not (hit and state.how == "end"):
                self.send_header(
                    "Content-Length",
                    told.get("Content-Length", "0") if self.command == "HEAD" else str(len(data)),
                )
            else:
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data[: len(data) // 2] if hit and state.how != "refuse" else data)
            if hit:
                self.close_connection = True

        do_GET = do_PUT = do_HEAD = do_DELETE = serve  # noqa: N815

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        # A client that has cut a connection needs no report.
        def handle_error(self, *_: object) -> None: ...

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state, f"http://127.0.0.1:{server.server_port}/{endpoints.ACCOUNT}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_no_page_of_a_list_that_is_cut_short_leads_to_a_wrong_delete(haul: Haul, emulator: Endpoint) -> None:
    """Cut once, a page is asked for again; refused, nothing is deleted."""
    source, there, sas = emulator.container(), emulator.container(), emulator.sas()
    names = [f"{n:03}" for n in range(260)]
    extras = [f"{name}-extra" for name in names[::50]]
    fill(haul.folder / "all", dict.fromkeys(names, b""))
    for place in (source, there):
        haul("cp", "all", place.az())
    with gateway(emulator) as (state, url):
        places = [f"{url}/{container.name}/?{sas}" for container in (source, there)]
        for how in ("refuse", "cut", "end"):
            spoiled = 1
            while True:
                for name in extras:
                    there.client.upload_blob(name, b"", overwrite=True)
                state.pages, state.spoil, state.how = 0, spoiled, how
                running = haul.start("sync", *places, "--delete", "--json", "--compare", "size")
                told, said = running.communicate(timeout=100)
                if state.pages < spoiled:
                    break
                left = {blob.name for blob in there.client.list_blobs()}
                if how == "refuse":
                    assert running.returncode != 0
                    assert left == {*names, *extras}, (spoiled, said)
                else:
                    assert running.returncode == 0, (how, spoiled, said)
                    assert json.loads(told.splitlines()[-1])["objects_deleted"] == len(extras)
                    assert left == {*names}, (how, spoiled)
                spoiled += 1
            assert spoiled > 6, "both lists have several pages"


def test_a_move_between_two_names_of_one_place_deletes_nothing(haul: Haul, emulator: Endpoint) -> None:
    container, sas = emulator.container(), emulator.sas()
    haul("cp", fill(haul.folder / "made", {"a": b"1", "b/c": b"22"}), container.az())
    with gateway(emulator) as (_, url):
        went = haul("mv", container.url("", sas), f"{url}/{container.name}/?{sas}", "--json")
    assert (went.summary["objects_skipped"], went.summary["objects_deleted"]) == (2, 0)
    assert "may be the same object" in went.summary["warnings"][-1]
    assert len(contents(haul, container.az())) == 2


@STORES
@pytest.mark.parametrize("to", ["local", "azure", "s3"])
def test_a_move_deletes_what_is_proven_and_nothing_else(
    haul: Haul, emulator: Endpoint, store: str, to: str
) -> None:
    container = emulator.container()
    files = {"a": b"1", "b/c": b"22", "b/large": b"x" * 9_000_000}
    here, there = (
        place(kind, container, haul.folder, name) for kind, name in ((store, "here"), (to, "there"))
    )
    haul("cp", fill(haul.folder / "made", files), here)
    plan = haul("mv", here, there, "--dry-run", "--json")
    assert (plan.summary["objects_done"], plan.summary["objects_deleted"]) == (3, 3)
    assert contents(haul, here) == files
    # One that is there already, and one whose destination is a folder or something else.
    haul("cp", f"{here}a", f"{there}a")
    went = haul("mv", here, there, "--json")
    assert (went.summary["objects_deleted"], went.summary["objects_failed"]) == (3, 0)
    assert contents(haul, there) == files
    if store == "local":
        assert not trees.contents(Path(here))
        assert not (Path(here) / "b").exists()
    else:
        haul("ls", "-r", here, code=4)
    if store == to == "azure":
        assert went.summary["bytes_by_service"] >= 9_000_000


def test_a_move_onto_itself_is_refused_and_what_fails_stays(haul: Haul, emulator: Endpoint) -> None:
    container = emulator.container()
    folder = fill(haul.folder / "here", {"a": b"1", "b": b"2"})
    for there in (folder / "a", f"{folder}/"):
        assert haul("mv", folder / "a", there, code=2).hints == {"name another destination"}
    fill(haul.folder / "there", {"a/in-the-way": b"3"})
    went = haul("mv", "here", "there/", "--json", code=1)
    assert (went.summary["objects_failed"], went.summary["objects_deleted"]) == (1, 1)
    assert trees.contents(folder) == {"a": b"1"}
    assert haul("mv", "-", container.az("x"), code=2).hints == {"copy it with haul cp"}


def test_a_dry_run_of_a_copy_says_what_and_why(haul: Haul, emulator: Endpoint) -> None:
    there = emulator.container().az("t/")
    fill(haul.folder / "here", {"new": b"1", "same": b"2"})
    haul("cp", "here/same", there)
    lines = haul("cp", "here", there, "--dry-run")
    assert lines.text.splitlines() == [f"would copy: {there}new (new)"]
    assert "nothing was changed" in lines.stderr
