"""The same plan from several places: what is carried, what is refused, whose fault a fall is said to be."""

from __future__ import annotations

import json
import socket
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from haulage.errors import ServiceError, UsageError
from haulage.lab import planfile
from haulage.lab.analysis import analyse
from haulage.lab.places import seen_from, split
from haulage.lab.plan import Plan
from haulage.lab.relay import _copy
from haulage.lab.target import Endpoints, parse_target, start_emulator, start_relay
from haulage.lab.topics.collapse import rows as collapse
from lab import made_runs
from lab.tiny_plan import run_only
from sentences import Sentence

PLAN: dict[str, Any] = {
    "name": "failing-link",
    "target": "emulated:rtt=5ms,total=40mbit,at=300ms:total=5mbit",
    "fresh_link": True,
    "replicates": 1,
    "warm_up": 0,
    "idle": "1ms",
    "again": "",
    "ceiling": {"measure": False},
    "arms": [{"method": "blocks", "block_size": "64KiB", "concurrency": 4, "sequence": True}],
    "files": [{"size": "90KB", "count": 26}, {"size": "1KB", "link": "rtt=1ms"}],
    "places": [
        {"name": "here", "client": "one", "path": "first"},
        {"name": "beside", "client": "one", "path": "second", "link": "rtt=5ms,total=40mbit"},
        {"name": "another", "client": "two", "path": "first"},
    ],
}
HERE = parse_target("emulated:rtt=1ms")


def plan_of(**changes: Any) -> Plan:
    return planfile.parse(PLAN | changes)


def seen_run(folder: Path) -> Path:
    """A run from three places, two of which share a path whose rate falls to a tenth after ten requests."""
    cells, attempts = [], {}
    places = (("here", "one", "first"), ("beside", "one", "second"), ("another", "two", "first"))
    for number, (name, client, path) in enumerate(places):
        factors = {"arm": "blocks", "files": "a", "node": name, "client_side": client, "path": path}
        at, rows = 0.0, []
        for place in range(40):
            took = (100 if path == "second" or place < 10 else 1000) * (1 + 0.03 * ((place * 7) % 5))
            rows.append(made_runs.attempt(object_id=place, slot_ms=at, connected_ms=at, ended_ms=at + took))
            at += took
        treatment = f"blocks @{name}"
        wall = int(at * 1e6)
        cells.append(made_runs.cell(number, treatment=treatment, factors=json.dumps(factors), wall_ns=wall))
        attempts[number] = rows
    transfers = {number: [made_runs.transfer(0, cell=number)] for number in attempts}
    return made_runs.write(folder, cells, attempts, transfers, plan="failing-link")


def test_the_path_is_found_at_fault_from_three_places(tmp_path: Path) -> None:
    found = analyse(seen_run(tmp_path / "run"))
    places = found.results["places"].frame.set_index("place")
    assert places["replicates_that_fell"].to_dict() == {"here": 1, "beside": 0, "another": 1}
    assert set(places["fault"]) == {"path"}, places.to_dict("records")
    card = next(card for card in found.findings if card.title == "Whose fault")
    assert "The path is at fault: all that fell share the path 'first'" in card.sentence
    sides = found.results["before_after"].frame
    assert set(sides["side"]) == {"before", "after"}
    assert {"before_after_density", "lost_files"} <= set(found.results)


def place(
    name: str, client: str, path: str, fell: int, of: int = 1, few: bool = False, slid: int = 0
) -> dict[str, Any]:
    return {
        "place": name,
        "client_side": client,
        "path": path,
        "replicates": of,
        "replicates_that_fell": fell,
        "replicates_that_slid": slid,
        "is_too_few": few,
    }


@pytest.mark.parametrize(
    ("seen", "fault", "word"),
    [
        ([place("a", "1", "x", 1), place("b", "2", "y", 1)], "service", "neither client nor path"),
        ([place("a", "1", "x", 1), place("b", "1", "y", 1)], "undetermined", "another client"),
        ([place("a", "1", "x", 1), place("b", "2", "x", 1)], "undetermined", "another path"),
        ([place("a", "1", "x", 1), place("b", "1", "y", 0)], "path", "'x'"),
        ([place("a", "1", "x", 1), place("b", "2", "x", 0)], "client", "'1'"),
        ([place("a", "1", "x", 1), place("b", "2", "y", 0)], "client or path", "clears the service"),
        ([place("a", "1", "x", 0), place("b", "2", "y", 0)], "none", "no place"),
        ([place("a", "1", "x", 1, of=2), place("b", "2", "y", 0, of=2)], "undetermined", "more replicates"),
        ([place("a", "1", "x", 0, slid=1), place("b", "1", "y", 1)], "undetermined", "slid as far as a fall"),
        ([place("a", "1", "x", 0, few=True), place("b", "2", "y", 0)], "undetermined", "too few parts"),
        (
            [place("a", "1", "x", 1), place("b", "2", "y", 1), place("c", "1", "y", 0)],
            "undetermined",
            "nothing is shared",
        ),
    ],
)
def test_no_fault_is_named_that_the_places_cannot_tell(
    seen: list[dict[str, Any]], fault: str, word: str
) -> None:
    said, why = collapse.whose(seen)
    assert said == fault
    assert word in why


def test_commas_within_a_link_split_no_places() -> None:
    assert split("here,far=rtt=20ms,total=8mbit,vpn=netns:vpn") == [
        "here",
        "far=rtt=20ms,total=8mbit",
        "vpn=netns:vpn",
    ]


def test_places_take_the_part_of_nodes_and_files_with_a_link_stay_out() -> None:
    plan = seen_from(plan_of(), "here,far=rtt=20ms,total=8mbit", HERE)
    assert [(node.name, node.link) for node in plan.nodes] == [
        ("here", None),
        ("far", "rtt=20ms,total=8mbit"),
    ]
    assert [files.link for files in plan.files] == [None]
    assert planfile.parse(tomllib.loads(plan.to_toml())) == plan


@pytest.mark.parametrize(
    ("words", "target", "changes"),
    [
        ("nowhere", "emulated:wan", {}),
        ("here,here", "emulated:wan", {}),
        ("here", "emulated:wan", {"nodes": [{"name": "small"}]}),
        ("a=rtt=5ms", "https://a.blob.core.windows.net/c?sig=x", {}),
        ("a=netns:vpn", "https://a.blob.core.windows.net/c?sig=x", {}),
        ("a=http://10.0.0.5:8080", "https://a.blob.core.windows.net/c?sig=x", {}),
    ],
)
def test_a_place_that_cannot_be_is_refused(
    words: str, target: str, changes: dict[str, Any], sentence: Sentence
) -> None:
    with pytest.raises(UsageError) as caught:
        seen_from(plan_of(**changes), words, parse_target(target))
    sentence(caught.value)


def test_a_namespace_that_is_not_there_is_said(sentence: Sentence) -> None:
    endpoint = start_emulator(store="null")
    try:
        with pytest.raises(ServiceError) as caught:
            start_relay(endpoint, "netns:nowhere-at-all")
    finally:
        endpoint.close()
    sentence(caught.value)


@pytest.fixture
def proxy() -> Iterator[tuple[str, list[str]]]:
    """An HTTP proxy that answers CONNECT, and what it was asked for."""
    asked: list[str] = []

    def serve(near: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += near.recv(1)
        where = head.split()[1].decode()
        asked.append(where)
        host, port = where.split(":")
        with near, socket.create_connection((host, int(port))) as far:
            near.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=_copy, args=(far, near), daemon=True)
            back.start()
            _copy(near, far)
            back.join()

    def accept() -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(near,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        yield f"proxy:127.0.0.1:{listener.getsockname()[1]}", asked
        listener.shutdown(socket.SHUT_RDWR)
        acceptor.join()


def test_a_proxy_carries_what_a_place_sends(tmp_path: Path, proxy: tuple[str, list[str]]) -> None:
    way, asked = proxy
    plan = plan_of(target="emulated:rtt=1ms", files=[{"size": "100KB", "count": 2}])
    run = run_only(plan, directory=tmp_path / "run", places=f"here,out={way}")
    assert list(run.cells["outcome"]) == ["ok", "ok"]
    assert asked


def test_another_way_in_replaces_scheme_and_host_alone() -> None:
    url = "https://a.blob.core.windows.net/c?sig=x"
    with Endpoints(parse_target(url), "run") as endpoints, pytest.raises(UsageError):
        endpoints.get(store="", via="http://10.0.0.5:8080")
    with Endpoints(parse_target(url, insecure_http=True), "run") as endpoints:
        endpoint = endpoints.get(store="", via="http://10.0.0.5:8080")
        assert endpoint.url("blob") == "http://10.0.0.5:8080/c/run/blob?sig=x"
