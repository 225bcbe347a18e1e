"""`haul cp - az://...` and `haul cp az://... -`."""

from __future__ import annotations

import random

from command import Haul
from endpoints import Container


def test_cp_stdin_to_a_blob_and_a_blob_to_stdout(haul: Haul, container: Container) -> None:
    data = random.Random(7).randbytes(3_000_001)
    haul("cp", "-", container.az("stream"), stdin=data)
    assert container.contents() == {"stream": data}
    assert haul("cp", container.az("stream"), "-").stdout == data


def test_cp_empty_stdin(haul: Haul, container: Container) -> None:
    haul("cp", "-", container.az("stream"))
    assert container.contents() == {"stream": b""}


def test_cat_writes_only_the_bytes(haul: Haul, container: Container) -> None:
    container.client.upload_blob("a", b"one\n")
    container.client.upload_blob("b", b"two\n")
    assert haul("cat", container.az("a"), container.az("b")).stdout == b"one\ntwo\n"
