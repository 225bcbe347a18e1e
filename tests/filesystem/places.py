"""Containers of real services, as file systems reach them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import fsspec

import haulage
from endpoints import Endpoint, S3Endpoint
from haulage.filesystem import HaulageFileSystem


@dataclass(frozen=True)
class Place:
    """A new, empty container, and how to reach it."""

    protocol: str
    container: str
    options: dict[str, Any] = field(repr=False)

    @property
    def fs(self) -> HaulageFileSystem:
        """A file system with nothing in its caches."""
        fs: HaulageFileSystem = fsspec.filesystem(self.protocol, skip_instance_cache=True, **self.options)
        return fs

    def url(self, path: str) -> str:
        return f"{self.protocol}://{self.container}/{path}"

    def path(self, path: str) -> str:
        return f"{self.container}/{path}"


def azure_place(endpoint: Endpoint) -> Place:
    credential = haulage.AzureCredential(connection_string=endpoint.connection_string)
    return Place("haulaz", endpoint.container().name, {"credential": credential})


def s3_place(service: S3Endpoint) -> Place:
    id, secret = service.keys
    credential = haulage.S3Credential(key_id=id, secret=secret, endpoint=service.url, region="us-east-1")
    place = Place("hauls3", service.new_name(), {"credential": credential})
    place.fs.mkdir(place.container)
    return place


@dataclass(frozen=True)
class Counted:
    """An emulator in this process, reached by both of its interfaces."""

    emulator: haulage.Emulator
    az: Place
    s3: Place

    def requests(self) -> int:
        """Return how many requests it has seen."""
        return sum(self.emulator.stats()["requests"].values())
