"""Read and write single objects: put, get, and open as a file.

Calls reuse connections: those of the session that is passed, or without one those of earlier calls with the
same credentials in the environment. For many or large files, :func:`haulage.copy` is faster.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, Unpack, overload

from haulage import _engine
from haulage.errors import ArgumentTypeError, ExistsError, NotFoundError, UsageError
from haulage.events import ObjectMeta, Written
from haulage.options import Name, StoreOptions, takes
from haulage.places import url_of, without_signature
from haulage.reader import VersionReader
from haulage.transfer import stat
from haulage.writer import WholeWriter

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    #: Bytes in memory: ``bytes``, ``bytearray``, ``memoryview``, a NumPy array, anything contiguous.
    Data: TypeAlias = ReadableBuffer

#: Small writes are buffered up to this size before they enter the engine, in bytes: each call takes a few
#: microseconds.
_GATHERED = 1 << 18


class PutOptions(StoreOptions, total=False):
    """Options for writing an object, in addition to :class:`~haulage.transfer.StoreOptions`.

    checksum: ``"crc64"``, ``"md5"`` or ``"none"`` on the wire. Default ``"crc64"``: nearly free.
    content_md5: Store the MD5 as Content-MD5, which other tools look for. Default ``False``.
    overwrite: ``"never"`` fails if the object exists. Default ``"always"``.
    flush: Wait until a local file is on the disk. Default ``True``.
    """

    checksum: Literal["crc64", "md5", "none"] | None
    content_md5: bool | None
    overwrite: Literal["always", "never"] | None
    flush: bool | None


class ReadOptions(StoreOptions, total=False):
    """Options for reading an object in ranges, in addition to :class:`~haulage.transfer.StoreOptions`.

    block_size: Size of the ranges. Default 1 MiB: enough to keep a connection busy on most links, and not
        much to read for a single value. At most 4 MiB, the largest range for which Azure states a checksum.
    concurrency: Ranges fetched ahead at once for a sequential reader. Default: as many as half of
        ``max_memory`` holds, at most 64; reading starts with one.
    max_memory: Limit on the bytes that are kept and fetched ahead. Default 96 MiB.
    """

    block_size: str | None
    concurrency: int | None
    max_memory: str | None


class OpenOptions(PutOptions, ReadOptions, total=False):
    """Options for writing an object in blocks: those of :class:`PutOptions` and :class:`ReadOptions`.

    block_size: Size of the blocks; an object smaller than one block is sent in one request. Default 1 MiB.
    concurrency: Blocks in flight at once. Default: as many as ``max_memory`` holds, at most 64.
    """


@takes(PutOptions)
def put(url: Name, data: Data, **options: Unpack[PutOptions]) -> Written:
    """Write ``data`` to the object ``url``, in one request with a checksum.

    Transient failures are retried. Data larger than one request can carry (5,000 MiB on Azure) is refused.
    For more than about 10 MiB, :func:`open` is faster, because it uses several connections.

    >>> put("mem://guide/hello.txt", b"hello").size_bytes
    5

    Raises:
        ArgumentTypeError: ``data`` is text, a path or anything else that is not bytes.
        ExistsError: The object exists, and ``overwrite`` is ``"never"``.
        HaulageError: The object could not be written; nothing has changed at the destination.
    """
    return Written.from_dict(_engine.put(url, _bytes(url, data), **options))


@takes(StoreOptions)
def get(url: Name, **options: Unpack[StoreOptions]) -> bytes:
    """Return the bytes of the object ``url``, in one request, compared with the checksum stored with it.

    If another tool stored the object without a checksum, it is read in ranges, and the service computes a
    checksum for each.

    >>> _ = put("mem://guide/hello.txt", b"hello")
    >>> get("mem://guide/hello.txt")
    b'hello'

    Raises:
        NotFoundError: There is no such object.
        IntegrityError: The bytes do not match the checksum, even after retries.
    """
    return _engine.get(url, **options)


@takes(StoreOptions)
def cat(urls: Name | Iterable[Name], **options: Unpack[StoreOptions]) -> bytes:
    """Return the bytes of one object, or of several concatenated, as ``haul cat`` prints them.

    >>> _ = put("mem://guide/1", b"one "), put("mem://guide/2", b"two")
    >>> cat(["mem://guide/1", "mem://guide/2"])
    b'one two'

    Raises:
        HaulageError: As for :func:`get`, for the first object that cannot be read.
    """
    names = [urls] if isinstance(urls, (str, os.PathLike)) else urls
    return b"".join(get(name, **options) for name in names)


@overload
def open(url: Name, mode: Literal["rb"] = "rb", **options: Unpack[ReadOptions]) -> ObjectReader: ...
@overload
def open(url: Name, mode: Literal["wb", "xb"], **options: Unpack[OpenOptions]) -> ObjectWriter: ...
@takes(OpenOptions)
def open(url: Name, mode: str = "rb", **options: Unpack[OpenOptions]) -> ObjectReader | ObjectWriter:
    """Open the object ``url`` as a file: ``"rb"`` to read, ``"wb"`` to write, ``"xb"`` to create.

    >>> with open("mem://guide/numbers", "wb") as file:
    ...     _ = file.write(b"one two three")
    >>> with open("mem://guide/numbers") as file:
    ...     _ = file.seek(4)
    ...     file.read(3)
    b'two'

    Raises:
        NotFoundError: With ``"rb"``, there is no such object.
        ExistsError: With ``"xb"``, the object exists.
    """
    match mode:
        case "rb":
            return ObjectReader(url, **options)  # type: ignore[misc]
        case "wb":
            return ObjectWriter(url, **options)
        case "xb":
            _must_be_new(url, options)
            options["overwrite"] = "never"
            return ObjectWriter(url, **options)
        case _:
            hint = 'use "rb", "wb" or "xb"; for text, wrap it in io.TextIOWrapper'
            raise UsageError("open", mode, "no such mode", hint)


class ObjectReader(VersionReader):
    """One version of an object, opened for reading by :func:`open`.

    Ranges are fetched on demand, or ahead of a sequential reader, and kept within ``max_memory``. Every range
    is pinned to the ETag that the object had when it was opened: if the object is replaced meanwhile, reading
    a range that is not yet in memory raises :class:`~haulage.errors.SourceChangedError`. Threads can share it
    like any file. A forked child reads over its own connections.
    """

    meta: ObjectMeta  #: metadata of the version that is read

    def __init__(self, url: Name, **options: Unpack[ReadOptions]) -> None:
        super().__init__()
        self._url, self._options = url, options
        self._engine = _engine.Reader(url, **options)
        values = self._engine.meta()
        self.meta = ObjectMeta.from_dict({**values, "url": url_of(url, values["key"])})

    @property
    def name(self) -> str:
        """The name that was opened, without a signature."""
        return _name(self._url)

    def _length(self) -> int:
        return self.meta.size_bytes

    def _fetch(self, begin: int, size: int) -> bytes:
        return self._reader().read_at(begin, size)

    def close(self) -> None:
        """Release the memory and drop requests in flight. Safe to call more than once."""
        if not self.closed:
            self._closed_engine()
        super().close()

    def _closed_engine(self) -> None:
        # Gone with its last reference; a reader that never opened has none.
        self.__dict__.pop("_engine", None)

    def _reader(self) -> _engine.Reader:
        if self._engine.is_foreign():
            self._engine = _engine.Reader(self._url, self.meta.etag, **self._options)
        return self._engine


class ObjectWriter(WholeWriter):
    """An object opened by :func:`open` for writing sequentially.

    Blocks are staged in the background as they fill; :meth:`close` sends the rest and commits. An object
    smaller than one block is one request. If the ``with`` block raises an exception, or the file is not
    closed, nothing is committed and the previous object stays. (A wrapper such as ``io.TextIOWrapper`` closes
    the file even after an exception; use this object in an outer ``with`` too.)
    """

    mode = "wb"  #: also if it was opened with ``"xb"``
    written: Written | None = None  #: the object that was written; ``None`` until the file is closed

    def __init__(self, url: Name, **options: Unpack[OpenOptions]) -> None:
        self._url = url
        self._gathered = bytearray()
        self._count = 0
        self._lock = threading.Lock()
        self._engine: _engine.Writer | None = None
        self._engine = _engine.Writer(url, **options)

    @property
    def name(self) -> str:
        """The name that is written, without a signature."""
        return _name(self._url)

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        self._check()
        return self._count

    def write(self, data: Data, /) -> int:
        """Write ``data`` and return its number of bytes; waits while too much data is in flight.

        Raises:
            HaulageError: An earlier block failed. The file is then closed, and nothing was written.
        """
        self._check()
        with self._lock:
            view = _view(self._url, data).cast("B")
            if len(self._gathered) + len(view) < _GATHERED:
                self._gathered += view
            else:
                self._drain()
                self._send(_bytes(self._url, data))
            self._count += len(view)
            return len(view)

    def writelines(self, lines: Iterable[Data], /) -> None:
        """Write each of ``lines``, in order."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Pass buffered data to the engine. The object does not appear before :meth:`close`."""
        if not self.closed and self._engine is not None:
            with self._lock:
                self._drain()

    def close(self) -> None:
        """Send the remaining data and commit the object. Safe to call more than once.

        Raises:
            HaulageError: The object could not be committed; nothing has changed at the destination.
        """
        engine = self._engine
        if self.closed or engine is None:
            super().close()
            return
        try:
            self.flush()
            self.written = Written.from_dict(engine.commit())
        finally:
            self.discard()

    def discard(self) -> None:
        """Close without committing: the destination stays unchanged. Safe to call more than once."""
        engine, self._engine = self._engine, None
        self._gathered.clear()
        try:
            if engine is not None:
                engine.discard()
        finally:
            super().close()

    def __enter__(self) -> Self:
        self._check()
        return self

    def __del__(self) -> None:
        if getattr(self, "_engine", None) is not None:
            warnings.warn(
                f"{self.name} was not closed, so it was not written", ResourceWarning, 2, source=self
            )
            self.discard()

    def _drain(self) -> None:
        if self._gathered:
            gathered = bytes(self._gathered)
            self._gathered.clear()
            self._send(gathered)

    def _send(self, data: bytes) -> None:
        self._check()
        assert self._engine is not None
        try:
            self._engine.write(data)
        except BaseException:
            self.discard()
            raise

    def _check(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")


def _bytes(url: Name, data: Data) -> bytes:
    return data if isinstance(data, bytes) else bytes(_view(url, data))


def _view(url: Name, data: Data) -> memoryview:
    """Return the bytes of data, or say what is expected."""
    try:
        return memoryview(data)
    except (TypeError, BufferError) as error:
        cause = f"the data is of type {type(data).__name__}, and bytes are expected"
        hint = "pass bytes, a bytearray, a memoryview or an array"
        if isinstance(data, str):
            hint = "for text, pass text.encode(); to send a file, call haulage.copy(path, url)"
        elif isinstance(data, os.PathLike):
            hint = "to send a file, call haulage.copy(path, url)"
        elif hasattr(data, "read"):
            hint = (
                'pass file.read() of a file opened with mode "rb"; '
                "to send a file, call haulage.copy(path, url)"
            )
        raise ArgumentTypeError("write", _name(url), cause, hint) from error


def _name(url: Name) -> str:
    return without_signature(os.fspath(url))


def _must_be_new(url: Name, options: OpenOptions) -> None:
    """Fail now rather than after everything is written; the commit checks it again."""
    reach: StoreOptions = {
        key: value
        for key, value in options.items()
        if key in StoreOptions.__annotations__  # type: ignore[assignment]
    }
    try:
        stat(url, **reach)
    except NotFoundError:
        return
    hint = 'open it with mode "wb" to replace it'
    raise ExistsError("open", _name(url), "it already exists", hint)
