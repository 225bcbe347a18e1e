"""Fixtures of the tests of the file systems."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import haulage
from endpoints import ACCOUNT, KEY, Endpoint, S3Endpoint
from filesystem.places import Counted, Place, azure_place, s3_place


@pytest.fixture(params=["azurite", "versitygw", "emulator"])
def place(request: pytest.FixtureRequest) -> Place:
    """A container of each service in turn."""
    found = request.getfixturevalue(request.param)
    return s3_place(found) if isinstance(found, S3Endpoint) else azure_place(found)


@pytest.fixture
def counted_places(request: pytest.FixtureRequest) -> Iterator[Counted]:
    """Containers of an emulator that nobody else asks; its link is the parameter of the fixture."""
    with haulage.Emulator(link=getattr(request, "param", "none")) as emulator:
        endpoint = Endpoint("in process", emulator.endpoint, emulator.connection_string)
        az = azure_place(endpoint)
        service = S3Endpoint("in process", emulator.s3["endpoint_url"], (ACCOUNT, KEY))
        yield Counted(emulator, az, s3_place(service))
