"""Where rows come from: the seam between what serves rows and what holds them."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

#: How much of the types a page of JSON tells; ``"atom"`` asks for XML instead.
Metadata = Literal["none", "minimal", "full", "atom"]


#: What the table service answers for each.
_MEDIA_TYPES: dict[Metadata, str] = {
    "none": "application/json;odata=nometadata",
    "minimal": "application/json;odata=minimalmetadata",
    "full": "application/json;odata=fullmetadata",
    "atom": "application/atom+xml",
}


def media_type(metadata: Metadata) -> str:
    """Return what to ask a table service for, to get a page in this form."""
    return _MEDIA_TYPES[metadata]


@dataclass(frozen=True)
class Page:
    """One answer of a store."""

    body: bytes
    content_type: str
    #: What to send for the next page, a query string (``NextPartitionKey=...``); ``None`` after the last one.
    continuation: str | None
    seconds: float  #: from the requests to the last bytes of their answers
    requests: int  #: sent for it
    bytes_read: int  #: of their answers
    index: str | None = None  #: the index table by which the rows were found


@dataclass
class Meter:
    """What reading has cost so far."""

    requests: int = 0  #: sent to the store
    bytes_read: int = 0  #: of bodies from the store
    seconds: float = 0.0  #: spent waiting for the store
    index: str | None = None  #: the index table by which the rows were found

    def count(self, page: Page) -> None:
        """Add what a page has cost."""
        self.seconds += page.seconds
        self.requests += page.requests
        self.bytes_read += page.bytes_read
        self.index = page.index or self.index


class Source(Protocol):
    """A table that can be read: of a table service, or a file.

    Calls block and may come from several threads at once. All raise :class:`~haulage.errors.HaulageError`.
    """

    @property
    def name(self) -> str:
        """What it is served as."""
        ...

    @property
    def pages_are_native(self) -> bool:
        """Whether the store itself answers in pages, so that these are passed on rather than made."""
        ...

    def schema(self) -> pa.Schema | None:
        """Return names and types of the columns; ``None`` where rows need not agree on them."""
        ...

    def version(self) -> str | None:
        """Return what changes whenever the rows do; ``None`` where only reading all of them could tell."""
        ...

    def page(
        self,
        *,
        filter: str | None,
        select: str | None,
        top: int | None,
        continuation: str | None,
        metadata: Metadata,
    ) -> Page:
        """Return one page: as many rows as the store likes, ``top`` at most, which may be none.

        Args:
            filter: An OData expression, such as ``elevation gt 300``.
            select: Names of columns separated by commas; ``None`` for all.
            top: The most rows there may be.
            continuation: That of the page before; ``None`` for the first one.
            metadata: The form.
        """
        ...

    def batch(self, page: Page) -> pa.RecordBatch:
        """Return the rows of a page in JSON with minimal metadata, typed; each of them has its keys."""
        ...

    def batches(
        self, *, filter: str | None, select: str | None, meter: Meter | None = None
    ) -> Generator[pa.RecordBatch]:
        """Yield all rows, in batches of one schema; closing the iterator ends the reading.

        ``meter`` counts the requests and their bytes, as far as they are known.
        """
        ...
