"""All rows as one answer: read while they are sent, no further than is wanted, cut off where reading fails.

A thread reads and encodes a piece at a time; two may wait to be sent. Whoever reads slowly is waited for, up
to a bound; whoever leaves ends the reading with the piece that is being read.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import zlib
from collections.abc import Callable, Generator
from typing import TypeVar

import anyio
import anyio.to_thread
from starlette.types import Receive, Send

from haulage.errors import HaulageError, ServiceError, StalledError

#: Pieces that wait to be sent.
AHEAD = 2
#: What is handed to the connection at a time.
SENT_BYTES = 1 << 16
_T = TypeVar("_T")


async def in_thread(call: Callable[[], _T], timeout: float, what: str, limiter: anyio.CapacityLimiter) -> _T:
    """Return what ``call`` returns; it runs in a thread.

    Raises:
        StalledError: It takes longer than ``timeout`` seconds. The thread goes on until the call ends.
    """
    try:
        with anyio.fail_after(timeout):
            return await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=limiter)
    except TimeoutError:
        hint = "ask for less, with $filter or $top, or start the proxy with a longer --timeout"
        raise StalledError("read", what, f"the store has not answered within {timeout:g} s", hint) from None


class Reading:
    """Pieces that a thread reads, which another may end at any time."""

    def __init__(self, pieces: Generator[bytes]) -> None:
        self._pieces = pieces
        self._lock = threading.Lock()
        self._over = False

    def next(self) -> bytes | None:
        """Return the next piece, ``None`` after the last one."""
        with self._lock:
            if self._over:
                return None
            piece = next(self._pieces, None)
        # Whoever has left meanwhile could not close what was being read.
        self._settle()
        return piece

    def close(self) -> None:
        """Read no more; at once, or as soon as the piece that is being read is there."""
        self._over = True
        self._settle()

    def _settle(self) -> None:
        if self._over and self._lock.acquire(blocking=False):
            try:
                self._pieces.close()
            finally:
                self._lock.release()


async def send_all(
    reading: Reading,
    first: bytes,
    send: Send,
    receive: Receive,
    *,
    name: str,
    timeout: float,
    limiter: anyio.CapacityLimiter,
) -> HaulageError | None:
    """Send the rest of an answer whose head was sent; return what went wrong, ``None`` if all was sent.

    Where something goes wrong the answer is not ended: the server then cuts the connection, and every client
    of HTTP/1.1 knows that something is missing.

    Args:
        reading: What is sent after ``first``.
        first: The first piece.
        send: Of ASGI.
        receive: Of ASGI.
        name: What is read, for errors.
        timeout: Seconds that the next piece, and the client for a piece, may take.
        limiter: Bounds the threads.
    """
    waiting: asyncio.Queue[bytes | HaulageError | None] = asyncio.Queue(AHEAD)

    async def read() -> None:
        try:
            while True:
                piece = await in_thread(reading.next, timeout, name, limiter)
                await waiting.put(piece)
                if piece is None:
                    return
        except HaulageError as error:
            await waiting.put(error)
        except Exception as error:
            # Whatever it is, the answer must not look whole, nor wait for ever.
            cause = f"the proxy itself failed: {type(error).__name__}: {error}"
            await waiting.put(ServiceError("read", name, cause, "please report it"))

    async def write() -> HaulageError | None:
        piece: bytes | HaulageError | None = first
        while True:
            match piece:
                case None:
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
                    return None
                case HaulageError():
                    return piece
                case _:
                    # Small enough that a slow client takes one well within the timeout.
                    for place in range(0, len(piece), SENT_BYTES):
                        part = piece[place : place + SENT_BYTES]
                        async with asyncio.timeout(timeout):
                            await send({"type": "http.response.body", "body": part, "more_body": True})
                    piece = await waiting.get()

    async def leave() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    tasks = [asyncio.ensure_future(one) for one in (write(), leave(), read())]
    try:
        await asyncio.wait(tasks[:2], return_when=asyncio.FIRST_COMPLETED)
        writing = tasks[0]
        if writing.done():
            try:
                result: HaulageError | None = writing.result()
            except TimeoutError:
                return _left(name, f"the client has read nothing for {timeout:g} s")
            return result
        return _left(name, "the client has left")
    finally:
        for task in tasks:
            task.cancel()
        reading.close()


def compressed(pieces: Generator[bytes]) -> Generator[bytes]:
    """Yield the pieces as gzip; each can be read as soon as it is there."""
    deflate = zlib.compressobj(level=4, wbits=31)
    with contextlib.closing(pieces):
        for piece in pieces:
            made = deflate.compress(piece) + deflate.flush(zlib.Z_SYNC_FLUSH)
            yield made
    yield deflate.flush()


def _left(name: str, cause: str) -> StalledError:
    return StalledError("send", name, cause)
