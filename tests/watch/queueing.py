"""Azurite's queues, as its own makers run them."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from azure.storage.queue import QueueClient

import endpoints
from command import clean_environment
from endpoints import ACCOUNT, KEY, NODE_MODULES

AZURITE = NODE_MODULES / "azurite/dist/src/queue/main.js"

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Queues:
    """A queue service on this machine."""

    url: str  #: http://127.0.0.1:PORT/devstoreaccount1

    @property
    def connection_string(self) -> str:
        return f"AccountName={ACCOUNT};AccountKey={KEY};QueueEndpoint={self.url};"

    @property
    def env(self) -> dict[str, str]:
        return {"AZURE_STORAGE_CONNECTION_STRING": self.connection_string}

    def beside(self, blobs: endpoints.Endpoint) -> dict[str, str]:
        """Return the environment with both services."""
        return {"AZURE_STORAGE_CONNECTION_STRING": f"{blobs.connection_string}QueueEndpoint={self.url};"}

    def new_name(self) -> str:
        """Return the name of a queue that is not there yet."""
        return f"test-{next(_numbers)}"

    def client(self, name: str) -> QueueClient:
        """Azure's own client, of a queue that may not be there."""
        return QueueClient.from_connection_string(self.connection_string, name)

    def queue(self, name: str = "") -> QueueClient:
        """Return a new, empty queue."""
        client = self.client(name or self.new_name())
        client.create_queue()
        return client


@contextmanager
def azurite(folder: Path, port: int = 0) -> Iterator[Queues]:
    """Run Azurite's queue service with its messages in memory."""
    port = port or endpoints.free_port()
    command = ["node", str(AZURITE), "--inMemoryPersistence", "--silent", "--disableTelemetry", "--loose"]
    command += ["--skipApiVersionCheck", "--queueHost", "127.0.0.1", "--queuePort", str(port)]
    with subprocess.Popen(
        command,
        cwd=folder,
        env=clean_environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            endpoints.wait_for(port, process)
            yield Queues(f"http://127.0.0.1:{port}/{ACCOUNT}")
        finally:
            process.kill()
