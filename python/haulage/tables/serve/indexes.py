"""Pages of a table whose rows an index table has led to."""

from __future__ import annotations

import json
import time
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from haulage.errors import ServiceError
from haulage.tables import lookup
from haulage.tables.serve import atom, encoding
from haulage.tables.serve.entities import from_json, iso
from haulage.tables.source import Metadata, Page, media_type
from haulage.transfer import StoreOptions

#: Each costs a request of its own.
PAGE_ROWS = 256
#: Rows that are fetched at once.
_FEW = 16
#: So long a column that had no index is not asked about again.
MISSING_SECONDS = 60.0
#: Begins the place of a next page; those of the service itself begin otherwise.
_MARK = "haul-index!"


class Indexes:
    """The index tables of a table, as far as there are some.

    Args:
        name: What the table is served as.
        url: The table's address.
        options: How to reach the store.
    """

    def __init__(self, name: str, url: str, options: StoreOptions) -> None:
        self._name = name
        self._url = url
        self._options = options
        self._missing: dict[str, float] = {}

    def page(
        self,
        *,
        filter: str | None,
        select: list[str] | None,
        top: int | None,
        continuation: str | None,
        metadata: Metadata,
    ) -> Page | None:
        """Return a page of the rows that an index leads to; ``None`` where the table itself is to be asked.

        Raises:
            ServiceError: The page before was of an index that is not there any more.
        """
        place = _place(continuation)
        if filter is None or (continuation is not None and place is None):
            return None
        began = time.monotonic()
        led = lookup.lead(self._url, filter, self._options, skip=self._skipped, missing=self._note)
        if led is None:
            if place is None:
                return None
            cause = "the previous page was found by an index that no longer exists"
            raise ServiceError("continue", self._name, cause, "start again from the first page")
        left = [key for key in led.keys if place is None or key >= place]
        size = min(top or PAGE_ROWS, PAGE_ROWS)
        level = "full" if metadata == "atom" else metadata
        rows: list[dict[str, Any]] = []
        done = read = 0
        while not rows and done < len(left):
            # Entries of rows that do not match the rest of the filter, or have changed since, lead to none.
            some = left[done : done + min(PAGE_ROWS, max(size, _FEW))]
            rows, took = lookup.rows(self._url, some, filter, select or (), self._options, level=level)
            done, read = done + len(some), read + took
        following = left[done] if done < len(left) else None
        if len(rows) > size:
            following = (rows[size]["PartitionKey"], rows[size]["RowKey"])
            rows = rows[:size]
        extra = {"PartitionKey", "RowKey"}.difference(select or ("PartitionKey", "RowKey"))
        for row in rows if extra else ():
            for name in extra:
                del row[name]
        seconds = time.monotonic() - began
        head = b'{"value":' if metadata == "none" else encoding.head(self._name).removesuffix(b"[")
        body = head + json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode() + b"}"
        if metadata == "atom":
            now = iso(time.time_ns() // 10**9 * 10**9)
            body = atom.feed(from_json(body, self._name), self._name, now)
        token = None
        if following is not None:
            keys = {"NextPartitionKey": _MARK + following[0], "NextRowKey": following[1]}
            token = urlencode(keys, quote_via=quote)
        requests = led.requests + done
        index = led.index.rpartition("/")[2]
        return Page(body, media_type(metadata), token, seconds, requests, read, index)

    def _skipped(self, column: str) -> bool:
        return time.monotonic() < self._missing.get(column, 0.0)

    def _note(self, column: str) -> None:
        self._missing[column] = time.monotonic() + MISSING_SECONDS


def _place(continuation: str | None) -> lookup.Key | None:
    """Return the keys at which a page of ours goes on; ``None`` for a first page and those of the service."""
    found = parse_qs(continuation or "", keep_blank_values=True)
    partition = found.get("NextPartitionKey", [""])[0]
    if not partition.startswith(_MARK):
        return None
    return partition.removeprefix(_MARK), found.get("NextRowKey", [""])[0]
