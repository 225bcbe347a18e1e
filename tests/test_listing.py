"""`haul ls`, `stat`, `du`, `rm`, `mb`, `rb`, `plan`."""

from __future__ import annotations

from pathlib import Path

import trees
from command import Haul
from endpoints import Container, Endpoint


def test_ls_one_level_and_all(haul: Haul, container: Container, tree: Path) -> None:
    haul("cp", tree, container.az())
    names = trees.contents(tree)
    found = [line["key"] for line in haul("ls", "-r", "--json", container.az()).events if "key" in line]
    assert found == sorted(names, key=str.encode)

    top = haul("ls", "--json", container.az()).events
    assert "deep/" in [line.get("prefix") for line in top]
    assert "deep/er/and/deeper/still.txt" not in [line.get("key") for line in top]


def test_du_adds_up(haul: Haul, container: Container, tree: Path) -> None:
    haul("cp", tree, container.az())
    (line,) = haul("du", "--json", container.az()).events
    sizes = [len(data) for data in trees.contents(tree).values()]
    assert (line["objects"], line["bytes"]) == (len(sizes), sum(sizes))


def test_mb_rm_rb(haul: Haul, endpoint: Endpoint) -> None:
    haul("mb", "az://made-by-haul")
    client = endpoint.service.get_container_client("made-by-haul")
    client.upload_blob("keep", b"a")
    client.upload_blob("gone/1", b"a")
    client.upload_blob("gone/2", b"a")
    haul("rm", "--recursive", "az://made-by-haul/gone/")
    assert [blob.name for blob in client.list_blobs()] == ["keep"]
    haul("rb", "az://made-by-haul")
    assert not client.exists()


def test_plan_moves_nothing(haul: Haul, container: Container, tree: Path) -> None:
    (report,) = haul("plan", tree, container.az(), "--json").events
    names = trees.contents(tree)
    assert (report["objects"], report["bytes"]) == (len(names), sum(map(len, names.values())))
    assert container.contents() == {}
