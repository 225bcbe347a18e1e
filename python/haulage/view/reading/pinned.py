"""One version of one object, read by ranges."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from haulage.errors import ProtocolError
from haulage.ranges import get_ranges
from haulage.transfer import StoreOptions
from haulage.view.reading import cost
from haulage.view.reading.patience import Reach
from haulage.view.reading.ranges import BLOCK_BYTES, Span, coalesced, requests_for

_T = TypeVar("_T")

#: Read at once when a file is opened: most files have all that describes them in it.
FIRST_BYTES = 256 << 10
#: Read of each file that is joined with others, of which there may be a thousand.
LEAN_BYTES = 64 << 10
#: A file up to this size is read whole instead: that takes as long as a few round trips over most links.
WHOLE_BYTES = 2 << 20
#: What describes a file and lies elsewhere is read in pieces of this size, and larger ones where they follow.
PIECE_BYTES = 32 << 10
_MOST_PIECE_BYTES = 1 << 20
#: Bound on what is kept of what describes one file.
_KEPT_BYTES = 6 << 20


class Pinned:
    """Reads ranges of one version of an object. Threads may share it.

    Args:
        name: How people call it, for errors.
        url: Where it is.
        options: How to reach it.
        size: Its size in bytes.
        etag: The version; an object that has another by now is not read.
        lean: Read :data:`LEAN_BYTES` first, also of a small file.
        server: Where it is, to notice if that has gone away; ``None`` to leave it to the engine.
    """

    def __init__(
        self,
        name: str,
        url: str,
        options: StoreOptions,
        size: int,
        etag: str,
        *,
        lean: bool = False,
        server: Reach | None = None,
    ) -> None:
        self.name, self.url, self.size, self.etag = name, url, size, etag
        self._options, self._lean, self._server = options, lean, server
        self._lock = threading.Lock()
        self._known: list[tuple[int, bytes]] = []  # pieces that describe the file, in order
        self._piece = PIECE_BYTES
        #: What was read ahead, and no answer has said yet what it cost.
        self.owed: cost.Cost | None = None

    def read(self, spans: Sequence[Span]) -> list[bytes]:
        """Return the bytes of each span; all that is not known is read at once.

        Raises:
            ProtocolError: The file is cut short: a span reaches beyond its end.
            SourceChangedError: The object was replaced.
        """
        for span in spans:
            if span.start < 0 or span.size < 0 or span.end > self.size:
                cause = f"it is cut short: bytes {span.start} to {span.end} are needed, it has {self.size}"
                raise ProtocolError("read", self.name, cause, "copy it again from an intact original")
        found = [self._have(span) for span in spans]
        missing = [span for span, there in zip(spans, found, strict=True) if there is None]
        if missing:
            wanted = coalesced(missing)
            bodies = self._fetched(wanted)
            for place, span in enumerate(spans):
                if found[place] is None:
                    found[place] = _part(wanted, bodies, span)
        return [there for there in found if there is not None]

    def first(self) -> bytes:
        """Return the beginning of the object, read once: :data:`FIRST_BYTES`, or all of a small one."""
        with self._lock:
            owed, self.owed = self.owed, None
            if owed is not None:
                cost.count(owed.requests, owed.bytes)
            if self._known and self._known[0][0] == 0:
                return self._known[0][1]
            most = LEAN_BYTES if self._lean else self.size if self.size <= WHOLE_BYTES else FIRST_BYTES
            body = self._fetched([Span(0, min(most, self.size))])[0]
            self._known.insert(0, (0, body))
            return body

    def describing(self, start: int, size: int) -> bytes:
        """Return bytes that describe the file: read with what is around them, and kept."""
        size = max(min(size, self.size - start), 0)
        if not size:
            return b""
        span = Span(start, size)
        found = self._have(span)
        if found is not None:
            return found
        with self._lock:
            ahead = Span(start, min(max(size, self._piece), self.size - start))
            self._piece = min(self._piece * 2, _MOST_PIECE_BYTES)
            body = self._fetched([ahead])[0]
            self._known.append((start, body))
            while len(self._known) > 2 and sum(len(piece) for _, piece in self._known) > _KEPT_BYTES:
                # The first one holds the beginning, which is asked for again and again.
                del self._known[1]
        return body[:size]

    def asked(self, call: Callable[[str, StoreOptions], _T]) -> _T:
        """Return what a call returns that reads the object in another way, by its URL and options."""
        if self._server is None:
            return call(self.url, self._options)
        return self._server.patiently(self.name, lambda: call(self.url, self._options))

    def release(self) -> None:
        """Keep nothing of what was read; it is read again when needed."""
        with self._lock:
            self._known.clear()

    def named(self, name: str, size: int, etag: str) -> Pinned:
        """Return what stands for several files as one; nothing is read from it."""
        return Pinned(
            name, f"{self.url.rpartition('/')[0]}/{name.rpartition('/')[2]}", self._options, size, etag
        )

    def _have(self, span: Span) -> bytes | None:
        for start, body in list(self._known):
            if start <= span.start and span.end <= start + len(body):
                return body[span.start - start : span.end - start]
        return b"" if not span.size else None

    def _fetched(self, spans: Sequence[Span]) -> list[bytes]:
        def read() -> list[bytes]:
            return get_ranges(
                self.url,
                [(span.start, span.size) for span in spans],
                version=self.etag,
                block_size=f"{BLOCK_BYTES // 1024}KiB",
                concurrency=32,
                **self._options,
            )

        bodies = self._server.patiently(self.name, read) if self._server else read()
        cost.count(requests_for(spans), sum(len(body) for body in bodies))
        return bodies


def _part(spans: Sequence[Span], bodies: Sequence[bytes], wanted: Span) -> bytes:
    for span, body in zip(spans, bodies, strict=True):
        if span.start <= wanted.start and wanted.end <= span.end:
            return body[wanted.start - span.start : wanted.end - span.start]
    raise AssertionError("every span is in one of those that cover them")
