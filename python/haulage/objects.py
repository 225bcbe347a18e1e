"""The bytes of one object: put, get, and open as a file.

Calls share connections: each takes one that an earlier call has left, in the session that it names, or else
if the environment has the same credentials. For many or large files :func:`haulage.copy` is quicker.
"""

from __future__ import annotations

import io
import os
import threading
import warnings
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, Unpack, overload

from haulage import _engine
from haulage.errors import ExistsError, NotFoundError, UsageError
from haulage.events import ObjectMeta, Written
from haulage.options import Name, StoreOptions, takes
from haulage.places import urls_of
from haulage.reader import VersionReader
from haulage.transfer import stat

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    #: Bytes in memory: ``bytes``, ``bytearray``, ``memoryview``, a NumPy array, anything contiguous.
    Data: TypeAlias = ReadableBuffer

#: What small writes are gathered to before they enter the engine, in bytes: a call takes some microseconds.
_GATHERED = 1 << 18


class PutOptions(StoreOptions, total=False):
    """How to write an object; besides these all of :class:`~haulage.transfer.StoreOptions`.

    checksum: ``"crc64"``, ``"md5"`` or ``"none"`` on the wire. Default ``"crc64"``: nearly free.
    content_md5: Store the MD5 as Content-MD5, which other tools look for. Default ``False``.
    overwrite: ``"never"`` fails where something is there. Default ``"always"``.
    flush: Wait until a local file is on the disk. Default ``True``.
    """

    checksum: Literal["crc64", "md5", "none"] | None
    content_md5: bool | None
    overwrite: Literal["always", "never"] | None
    flush: bool | None


class ReadOptions(StoreOptions, total=False):
    """How to read an object in ranges; besides these all of :class:`~haulage.transfer.StoreOptions`.

    block_size: Size of the ranges. Default 1 MiB: what one connection brings in a while on most links, and
        not much to read for one value. At most 4 MiB, up to which Azure states a checksum of a range.
    concurrency: Ranges fetched at once ahead of a reader that goes straight through. Default: as many as
        half of ``max_memory`` holds, at most 64; it begins with one.
    max_memory: Bound on what is kept and fetched ahead. Default 96 MiB.
    """

    block_size: str | None
    concurrency: int | None
    max_memory: str | None


class OpenOptions(PutOptions, ReadOptions, total=False):
    """How to write an object in blocks: all of :class:`PutOptions` and of :class:`ReadOptions`.

    block_size: Size of the blocks; what is smaller than one goes in one request. Default 1 MiB.
    concurrency: Blocks on their way at once. Default: as many as ``max_memory`` holds, at most 64.
    """


@takes(PutOptions)
def put(url: Name, data: Data, **options: Unpack[PutOptions]) -> Written:
    """Write ``data`` to the object ``url``: one request, which carries a checksum.

    A request that fails in passing is sent again. What is larger than one request may carry (5,000 MiB at
    Azure) is refused; from some ten MiB on, several connections at once are quicker: :func:`open`.

    >>> put("mem://guide/hello.txt", b"hello").size_bytes
    5

    Raises:
        ExistsError: Something is there, and ``overwrite`` is ``"never"``.
        HaulageError: What else kept it from being written; then nothing new is there.
    """
    return Written.from_dict(_engine.put(url, _bytes(data), **options))


@takes(StoreOptions)
def get(url: Name, **options: Unpack[StoreOptions]) -> bytes:
    """Return the bytes of the object ``url``: one request, compared with the checksum stored with it.

    An object that another tool has stored without a checksum is read in ranges, for each of which the service
    computes one.

    >>> _ = put("mem://guide/hello.txt", b"hello")
    >>> get("mem://guide/hello.txt")
    b'hello'

    Raises:
        NotFoundError: There is none of this name.
        IntegrityError: The bytes are not those of the checksum, however often they are read.
    """
    return _engine.get(url, **options)


@takes(StoreOptions)
def cat(urls: Name | Iterable[Name], **options: Unpack[StoreOptions]) -> bytes:
    """Return the bytes of one object, or of several one after the other, as ``haul cat`` prints them.

    >>> _ = put("mem://guide/1", b"one "), put("mem://guide/2", b"two")
    >>> cat(["mem://guide/1", "mem://guide/2"])
    b'one two'

    Raises:
        HaulageError: As :func:`get`, for the first that cannot be read.
    """
    names = [urls] if isinstance(urls, (str, os.PathLike)) else urls
    return b"".join(get(name, **options) for name in names)


@overload
def open(url: Name, mode: Literal["rb"] = "rb", **options: Unpack[ReadOptions]) -> ObjectReader: ...
@overload
def open(url: Name, mode: Literal["wb", "xb"], **options: Unpack[OpenOptions]) -> ObjectWriter: ...
@takes(OpenOptions)
def open(url: Name, mode: str = "rb", **options: Unpack[OpenOptions]) -> ObjectReader | ObjectWriter:
    """Open the object ``url`` as a file: ``"rb"`` to read, ``"wb"`` to write, ``"xb"`` to write a new one.

    >>> with open("mem://guide/numbers", "wb") as file:
    ...     _ = file.write(b"one two three")
    >>> with open("mem://guide/numbers") as file:
    ...     _ = file.seek(4)
    ...     file.read(3)
    b'two'

    Raises:
        NotFoundError: There is none to read.
        ExistsError: With ``"xb"``, something is there.
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
            hint = 'write "rb", "wb" or "xb"; for text, put io.TextIOWrapper around it'
            raise UsageError("open", mode, "no such mode", hint)


class ObjectReader(VersionReader):
    """One version of an object, as a file: made by :func:`open`.

    Ranges are fetched as they are read, ahead of a reader that goes straight through, and kept within
    ``max_memory``. Every range is pinned to the ETag of when it was opened: if the object is replaced
    meanwhile, a read of what is not at hand raises :class:`~haulage.errors.SourceChangedError`. Threads may
    share it as they may share any file. A forked child reads over connections of its own.
    """

    meta: ObjectMeta  #: what is known of the version that is read

    def __init__(self, url: Name, **options: Unpack[ReadOptions]) -> None:
        super().__init__()
        self._url, self._options = url, options
        self._engine = _engine.Reader(url, **options)
        values = self._engine.meta()
        self.meta = ObjectMeta.from_dict({**values, "url": urls_of(url)(values["key"])})

    @property
    def name(self) -> str:
        """What was opened, without a signature."""
        return _name(self._url)

    def _length(self) -> int:
        return self.meta.size_bytes

    def _fetch(self, begin: int, size: int) -> bytes:
        return self._reader().read_at(begin, size)

    def close(self) -> None:
        """Let go of what is kept and of what is on its way. May be called again."""
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


class ObjectWriter(io.BufferedIOBase):
    """An object that is written from its beginning to its end, as a file: made by :func:`open`.

    Blocks are staged in the background as they fill; :meth:`close` sends the rest and commits. What is
    smaller than one block is one request. Where an exception leaves the ``with`` block, or the file is not
    closed, nothing is committed: what was there before stays. (Another object around it, such as an
    ``io.TextIOWrapper``, closes it whatever happened; put this one into the ``with`` too, outside.)
    """

    mode = "wb"  #: also where the object had to be new
    written: Written | None = None  #: what was written, once it is closed

    def __init__(self, url: Name, **options: Unpack[OpenOptions]) -> None:
        self._url = url
        self._gathered = bytearray()
        self._count = 0
        self._lock = threading.Lock()
        self._engine: _engine.Writer | None = None
        self._engine = _engine.Writer(url, **options)

    @property
    def name(self) -> str:
        """What is written, without a signature."""
        return _name(self._url)

    def writable(self) -> bool:
        """Return ``True``."""
        return True

    def tell(self) -> int:
        """Return how many bytes were written."""
        self._check()
        return self._count

    def write(self, data: Data, /) -> int:
        """Take ``data``, waiting while as much is in flight as may be; return the number of bytes.

        Raises:
            HaulageError: What became of an earlier block. The file is closed then, and nothing was written.
        """
        self._check()
        with self._lock:
            view = memoryview(data).cast("B")
            if len(self._gathered) + len(view) < _GATHERED:
                self._gathered += view
            else:
                self._drain()
                self._send(_bytes(data))
            self._count += len(view)
            return len(view)

    def writelines(self, lines: Iterable[Data], /) -> None:
        """Write one after another."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Hand over what was gathered. Nothing has its name before :meth:`close`."""
        if not self.closed and self._engine is not None:
            with self._lock:
                self._drain()

    def close(self) -> None:
        """Send what is left and give the object its name. May be called again.

        Raises:
            HaulageError: What kept it from that; then nothing new is there.
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
        """Close without writing: nothing new is under the name. May be called again."""
        engine, self._engine = self._engine, None
        self._gathered.clear()
        try:
            if engine is not None:
                engine.discard()
        finally:
            super().close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __enter__(self) -> Self:
        self._check()
        return self

    def __del__(self) -> None:
        if getattr(self, "_engine", None) is not None:
            warnings.warn(
                f"{self.name} was not closed, so it is not written", ResourceWarning, 2, source=self
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


def _bytes(data: Data) -> bytes:
    return data if isinstance(data, bytes) else bytes(memoryview(data))


def _name(url: Name) -> str:
    text = os.fspath(url)
    return text.split("?")[0] if "://" in text else text


def _must_be_new(url: Name, options: OpenOptions) -> None:
    """Fail now rather than when all is written; the commit makes sure of it again."""
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
    raise ExistsError("open", _name(url), "it is there already", hint)
