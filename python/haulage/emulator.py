"""A local Azure Blob, Azure Tables and S3 endpoint inside this process, for tests and experiments."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from haulage import _engine


class Emulator:
    """A local Azure Blob, Azure Tables and S3 endpoint on a free port, over a simulated link.

    >>> with Emulator(link="none") as emulator:
    ...     emulator.endpoint.startswith("http://127.0.0.1:")
    True

    Args:
        store: ``"memory"`` (default: leaves nothing behind), ``"null"`` (discards bodies) or a folder.
        link: Round trip and rates, such as ``"rtt=60ms,conn=20mbit,total=1gbit"``, or ``"wan"``,
            ``"lan"``, ``"none"`` (default).
        faults: The faults to inject and how often, such as ``"busy=5%,cut=5%,flip=1%,seed=7"``; default
            none.
        hierarchical: Show blobs with the metadata ``hdi_isfolder=true`` as directories, as an account with a
            hierarchical namespace does, and remove them only when they are empty. Default ``False``. It does
            not create the directories of a new blob.

    Raises:
        UsageError: Invalid syntax in ``store``, ``link`` or ``faults``.
    """

    def __init__(
        self,
        *,
        store: str | None = None,
        link: str | None = None,
        faults: str | None = None,
        hierarchical: bool = False,
    ) -> None:
        self._engine = _engine.Emulator(store=store, link=link, faults=faults, hierarchical=hierarchical)
        self._pid = os.getpid()

    @property
    def endpoint(self) -> str:
        """``http://127.0.0.1:PORT/ACCOUNT``, for ``endpoint=`` and ``AZURE_STORAGE_ENDPOINT``."""
        return self._engine.endpoint

    @property
    def connection_string(self) -> str:
        """A connection string for Azure's own clients; contains the emulator's well-known key."""
        return self._engine.connection_string

    @property
    def s3(self) -> dict[str, str]:
        """The arguments with which boto3 reaches the same containers as buckets.

        ``boto3.client("s3", **emulator.s3)`` connects: ``endpoint_url``, ``aws_access_key_id``,
        ``aws_secret_access_key`` (the well-known key, as text) and ``region_name``.
        """
        access = self._engine.s3
        return {
            "endpoint_url": access["endpoint_url"],
            "aws_access_key_id": access["access_key_id"],
            "aws_secret_access_key": access["secret_access_key"],
            "region_name": access["region"],
        }

    def sas(self, permissions: str = "rwdlacut", expires: datetime | None = None) -> str:
        """Return a shared access signature for the account, without ``?``.

        Args:
            permissions: Letters as in Azure: read, write, delete, list, add, create, update, tags.
            expires: When it expires, with a time zone; default in an hour, long enough for a test.
        """
        return self._engine.sas(permissions, expires or datetime.now(UTC) + timedelta(hours=1))

    def stats(self) -> dict[str, Any]:
        """Return counters since the start.

        ``requests`` by operation, such as ``{"PutBlob": 1, "PutObject": 2}``, including refused ones;
        ``bytes_in`` and ``bytes_out`` of bodies; ``faults`` by kind; ``connections`` accepted. For tables:
        ``rows_read`` by queries, whether they matched the filter or not, ``rows_returned`` and
        ``rows_written``.
        """
        return self._engine.stats()

    def close(self) -> None:
        """Stop the endpoint and discard what is in memory. Safe to call more than once.

        In a forked child it does nothing: the endpoint is that of the parent.
        """
        if self._pid == os.getpid():
            self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
