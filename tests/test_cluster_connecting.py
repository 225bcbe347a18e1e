"""A scheduler that is named wrong, that is not there, or that is something else: said in words, and soon."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import haulage
import workers
from command import Haul, clean_environment
from haulage import cluster
from haulage.cluster import connecting
from haulage.errors import ArgumentTypeError
from workers import Cluster

ADDRESS_HINT = "write it as dask scheduler prints it: tcp://HOST:PORT or tls://HOST:PORT"


@contextlib.contextmanager
def listening(reply: bytes = b"") -> Iterator[str]:
    """The address of something that accepts connections and is no scheduler."""
    kept: list[socket.socket] = []

    def answer(server: socket.socket) -> None:
        # Ends with the server.
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                kept.append(connection)
                with contextlib.suppress(OSError):
                    connection.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, args=(server,), daemon=True)
        thread.start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in kept:
        connection.close()


@pytest.fixture
def haul(tmp_path: Path) -> Haul:
    own = Haul(tmp_path)
    (own.folder / "one").write_bytes(b"one")
    return own


@pytest.mark.slow("waits as long as a scheduler may take to answer")
def test_what_accepts_and_never_answers_ends_the_command_with_words(haul: Haul) -> None:
    with listening() as silent:
        went = haul("cp", "one", "two", "--scheduler", silent, code=1)
    cause = "something accepts connections there, but does not answer as a Dask scheduler does"
    hint = "is it the address that dask scheduler prints when it starts? if so, look at its log"
    assert f"{silent}: {cause} (hint: {hint})" in went.stderr
    assert "Traceback" not in went.stderr
    assert not (haul.folder / "two").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_waits_for_an_answer_ends_at_once_when_stopped(haul: Haul, number: int) -> None:
    """One that went on waiting would end with what connecting came to."""
    with listening() as silent:
        process = haul.start("cp", "one", "two", "--progress", "none", "--scheduler", silent)
        time.sleep(4)
        process.send_signal(number)
        try:
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert "interrupted" in err.decode()
    assert "Traceback" not in err.decode()


def test_a_script_that_waits_for_an_answer_ends_at_once_when_stopped(haul: Haul) -> None:
    code = "import sys\nfrom haulage import cluster\nprint('go', flush=True)\n"
    code += "cluster.copy('one', 'two', scheduler=sys.argv[1])"
    with listening() as silent:
        process = subprocess.Popen(
            [sys.executable, "-c", code, silent],
            cwd=haul.folder,
            env=clean_environment(haul.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert err.decode().splitlines()[-1] == "KeyboardInterrupt", err.decode()
    assert "Exception ignored" not in err.decode()


#: The command, with no patience for clusters that have no workers.
HURRIED = """
import sys
from haulage.__main__ import main
from haulage.cluster import driver
driver.ALONE_SECONDS = 0.2
sys.argv[0] = "haul"
sys.exit(main())
"""


def test_that_a_cluster_has_no_workers_is_said_while_they_are_waited_for(haul: Haul) -> None:
    # Without an address it insists on a port that other schedulers of this machine have, too.
    place: dict[str, Any] = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
    with LocalCluster(n_workers=0, processes=False, protocol="tcp://", **place) as empty:
        address = empty.scheduler_address
        process = subprocess.Popen(
            [sys.executable, "-c", HURRIED, "cp", "one", "two", "--progress=none", "--scheduler", address],
            cwd=haul.folder,
            env=clean_environment(haul.folder),
            stderr=subprocess.PIPE,
            text=True,
        )
        # It waits until somebody ends it.
        late = threading.Timer(20, process.kill)
        late.start()
        with process:
            assert process.stderr is not None
            said = process.stderr.readline()
            late.cancel()
            process.kill()
    assert said == f"warning: {address}: there are no workers; waiting for some\n"


@pytest.mark.parametrize("reply", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH\r\n", bytes(64)])
def test_what_answers_as_something_else_is_said_to_be_no_scheduler(reply: bytes) -> None:
    with listening(reply) as other, pytest.raises(haulage.ConnectionLostError) as refused:
        cluster.copy("one", "two", scheduler=other)
    assert refused.value.object == other
    assert refused.value.cause == "something answers there, but it is not a Dask scheduler"
    assert refused.value.hint == "give the address that dask scheduler prints when it starts"


@pytest.mark.slow("waits as long as a scheduler may take to answer")
def test_a_port_where_nothing_listens_is_said_with_the_reason(haul: Haul) -> None:
    # Not a port that was free a moment ago: another test may have taken it.
    went = haul("cp", "one", "two", "--scheduler", "tcp://127.0.0.1:1", code=1)
    assert "Connection refused (hint: is the scheduler running? dask scheduler starts one)" in went.stderr
    assert "Exception ignored" not in went.stderr
    assert "Traceback" not in went.stderr


def test_the_reason_is_found_where_the_last_attempt_had_no_time_for_one() -> None:
    timed_out = OSError("Timed out trying to connect to tcp://127.0.0.1:1 after 10 s")
    timed_out.__cause__ = TimeoutError()
    assert connecting._reason("tcp://127.0.0.1:1", timed_out) == "Connection refused"
    with listening() as there:
        assert connecting._reason(there, timed_out) == "no connection within 10 s"


WRONG_ADDRESSES = [
    ("", "the address is empty", f"is a variable unset? {ADDRESS_HINT}"),
    (" ", "the address is empty", f"is a variable unset? {ADDRESS_HINT}"),
    ("http://127.0.0.1:8786", "no Dask scheduler is reached over http://", ADDRESS_HINT),
    ("tcp://127.0.0.1", "it is not a host and a port", ADDRESS_HINT),
    ("tcp://:8786", "it is not a host and a port", ADDRESS_HINT),
    ("tcp://127.0.0.1:many", "it is not a host and a port", ADDRESS_HINT),
    ("tcp://127.0.0.1:99999", "it is not a host and a port", ADDRESS_HINT),
    ("head", "it is not a host and a port", ADDRESS_HINT),
]


@pytest.mark.parametrize(("address", "cause", "hint"), WRONG_ADDRESSES)
def test_what_is_no_address_is_refused_before_anything_is_connected(
    address: str, cause: str, hint: str
) -> None:
    with pytest.raises(haulage.UsageError) as refused:
        cluster.copy("one", "two", scheduler=address)
    assert (refused.value.cause, refused.value.hint) == (cause, hint)


@pytest.mark.parametrize("address", ["", "http://127.0.0.1:8786"])
def test_the_command_refuses_it_as_well(haul: Haul, address: str) -> None:
    went = haul("cp", "one", "two", "--scheduler", address, code=2)
    assert any(hint.endswith(ADDRESS_HINT) for hint in went.hints), went.stderr
    assert "Traceback" not in went.stderr


def test_an_address_with_tls_and_no_certificate_is_said() -> None:
    with listening() as silent, pytest.raises(haulage.UsageError) as refused:
        cluster.copy("one", "two", scheduler=silent.replace("tcp:", "tls:"))
    assert refused.value.cause == "this machine has no certificate for tls://"
    assert refused.value.hint == "set distributed.comm.tls in Dask's configuration, as for the scheduler"


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"address": 3}', b'{"address": ""}', b"\xff\x00"])
def test_what_is_no_scheduler_file_is_a_usage_error(haul: Haul, content: bytes) -> None:
    (haul.folder / "wrong.json").write_bytes(content)
    went = haul("cp", "one", "two", "--scheduler-file", "wrong.json", code=2)
    hint = "name the file written by dask scheduler --scheduler-file"
    assert f"wrong.json: it is not the file of a Dask scheduler (hint: {hint})" in went.stderr
    assert "AssertionError" not in went.stderr
    assert "Traceback" not in went.stderr


def test_a_scheduler_file_that_is_not_there_is_one_error_for_all_objects(haul: Haul) -> None:
    (haul.folder / "from").mkdir()
    for name in "abc":
        (haul.folder / "from" / name).write_bytes(b"x")
    went = haul("cp", "from", "to", "--scheduler-file", "none.json", "--json", code=4)
    assert went.of("object") == []
    (failure,) = went.of("summary")[0]["failures"]
    assert (failure["kind"], failure["object"]) == ("not_found", "none.json")
    (error,) = went.of("error")
    assert (error["object"], len(went.error_lines)) == ("none.json", 1)


def test_a_scheduler_file_that_cannot_be_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(haulage.LocalIOError) as refused:
        cluster.copy("one", "two", scheduler_file=tmp_path)
    assert (refused.value.object, refused.value.cause) == (str(tmp_path), "Is a directory")
    with pytest.raises(haulage.NotFoundError):
        cluster.copy("one", "two", scheduler_file=tmp_path / "none.json")
    with pytest.raises(haulage.UsageError) as empty:
        cluster.copy("one", "two", scheduler_file="")
    assert empty.value.hint == "is a variable unset?"

    def forbidden(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with pytest.raises(haulage.CredentialError) as denied:
        cluster.copy("one", "two", scheduler_file=tmp_path / "any.json")
    assert denied.value.cause == "Permission denied"


def test_a_scheduler_file_that_is_being_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text('{"address": "tcp://127')
    whole = json.dumps({"address": "tcp://127.0.0.1:8786"})
    threading.Timer(0.3, lambda: file.write_text(whole)).start()
    assert connecting.address_in(file) == "tcp://127.0.0.1:8786"


WRONG_TYPES: list[tuple[dict[str, Any], str]] = [
    ({"client": "tcp://head:8786"}, "pass distributed.Client(...); for an address, pass scheduler="),
    ({"scheduler": 8786}, ADDRESS_HINT),
    ({"scheduler_file": 3}, "pass a str or a Path"),
    ({"scheduler_file": b"scheduler.json"}, "pass a str or a Path"),
    ({"nodes": "2"}, "write a number from 1"),
    ({"nodes": 1.5}, "write a number from 1"),
]


@pytest.mark.parametrize(("where", "hint"), WRONG_TYPES, ids=[str(where) for where, _ in WRONG_TYPES])
def test_a_cluster_that_is_named_by_a_wrong_type_is_refused(where: dict[str, Any], hint: str) -> None:
    for call in (cluster.copy, cluster.sync):
        with pytest.raises(ArgumentTypeError) as refused:
            call("one", "two", **where)
        assert refused.value.hint == hint
        assert type(next(iter(where.values()))).__name__ in refused.value.cause


def test_names_of_a_wrong_type_are_refused_before_nodes_start() -> None:
    wrong: Any
    for wrong in (None, 3, b"x"):
        for call in (cluster.copy, cluster.start):
            with pytest.raises(ArgumentTypeError) as refused:
                call(wrong, "two", nodes=1)
            assert "pass a str, a Path or a list of them" in str(refused.value)
    for wrong in (["one"], b"one", 3):
        with pytest.raises(ArgumentTypeError) as refused:
            cluster.sync(wrong, "two", nodes=1)
        assert refused.value.hint == "pass a str or a Path"
    wrong = ["one", "two"]
    with pytest.raises(ArgumentTypeError) as refused:
        cluster.copy(wrong, nodes=1)
    assert refused.value.hint == "pass dst, or a list of (source, destination)"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with workers.cluster(tmp_path_factory.mktemp("small") / "dask", 1) as own:
        yield own


def test_a_worker_is_said_to_be_no_scheduler(small: Cluster) -> None:
    with Client(small.address, set_as_default=False) as client:
        (address,) = client.scheduler_info(n_workers=-1)["workers"]
    with pytest.raises(haulage.ConnectionLostError) as refused:
        cluster.copy("one", "two", scheduler=address)
    assert refused.value.cause == "something answers there, but it is not a Dask scheduler"


def test_pairs_may_be_lists_and_an_address_may_lack_the_scheme(small: Cluster, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"one")
    pairs = [[str(tmp_path / "one"), str(tmp_path / "two")]]
    bare = small.address.removeprefix("tcp://")
    assert cluster.copy(pairs, scheduler=bare).objects_done == 1
    globs = (f"{name}*" for name in ("one", "three"))
    into = tmp_path.with_name("into")
    assert cluster.copy(tmp_path, into, scheduler_file=small.file, include=globs).objects_done == 1
    assert [path.name for path in into.iterdir()] == ["one"]


def test_a_job_of_nodes_belongs_to_this_process(small: Cluster, tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"one")
    job = cluster.start(tmp_path / "one", tmp_path / "two", scheduler=small.address)
    assert not job._is_of_parent()
    assert job._process is not None
    assert job.wait().objects_done == 1


def test_a_client_may_be_asynchronous_where_nothing_stops_its_loop(small: Cluster, tmp_path: Path) -> None:
    """The call waited for a cluster that it kept from being heard, and said that the scheduler was lost."""
    (tmp_path / "one").write_bytes(b"one")

    async def all_ways() -> list[int]:
        words = {"asynchronous": True, "set_as_default": False}
        async with Client(small.address, **words) as client:
            for refused_call in (cluster.copy, cluster.sync):
                with pytest.raises(haulage.UsageError) as refused:
                    refused_call(tmp_path / "one", tmp_path / "two", client=client)
                hint = (
                    "await haulage.cluster.start(...) or start_sync(...), or call this with asyncio.to_thread"
                )
                assert refused.value.hint == hint
            awaited = await cluster.start(tmp_path / "one", tmp_path / "two", client=client)
            one, three = tmp_path / "one", tmp_path / "three"
            called = await asyncio.to_thread(cluster.copy, one, three, client=client)
        return [awaited.objects_done, called.objects_done]

    assert asyncio.run(all_ways()) == [1, 1]
