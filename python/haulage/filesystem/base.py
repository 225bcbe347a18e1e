"""The fsspec file systems: options, sessions and opening files."""

from __future__ import annotations

import asyncio
import builtins
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

from fsspec.asyn import get_loop
from fsspec.compression import compr
from fsspec.core import get_compression
from fsspec.spec import _Cached

from haulage import _engine
from haulage.errors import UsageError
from haulage.events import ObjectMeta
from haulage.filesystem import entries
from haulage.filesystem.caches import Kept
from haulage.filesystem.files import ReadFile, WriteFile, refuse_mode
from haulage.filesystem.moves import Moves
from haulage.filesystem.pace import LEAST, MOST, UNKNOWN, Pace
from haulage.filesystem.references import ELSEWHERE, credentials, leads_elsewhere, reference, referent
from haulage.filesystem.window import Cache, Window
from haulage.filesystem.wrapped import PackedFile, TextFile
from haulage.objects import open as open_object
from haulage.options import REACH
from haulage.session import Credential, Session

P = ParamSpec("P")
T = TypeVar("T")

#: A credential, or the name of a function that returns one: ``"package.module:function"``.
Given: TypeAlias = Credential | Callable[[], Credential] | str

#: Requests that wait at once, as many as the engine sends by itself.
THREADS = 64
#: Bytes kept of all open files: eight requests of the largest size on their way, and as much again at hand.
CACHE = 64 << 20
#: Seconds for which a listing is believed: one walk through a tree sees one state, and what others write
#: shows soon.
LISTED = 10.0
#: Objects of which something is kept after they were closed.
KEPT = 64
#: What a mode says of bytes and text.
_KINDS = str.maketrans("", "", "bt")


class _ByReference(_Cached):  # type: ignore[misc]
    """Has sessions and credentials go by name from the beginning, so that fsspec keeps no secret."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        if kwargs.get("session") is not None:
            kwargs["session"] = reference(kwargs["session"])
        given = kwargs.get("credential")
        if given is not None:
            several = isinstance(given, (list, tuple, set, frozenset))
            kwargs["credential"] = [reference(one) for one in (given if several else [given])]
        # What is not given is not there, for fsspec tells instances apart by it.
        return super().__call__(*args, **{name: value for name, value in kwargs.items() if value is not None})


class HaulageFileSystem(Moves, metaclass=_ByReference):
    """The common base of :class:`AzureFileSystem` and :class:`S3FileSystem`. Paths are ``container/path``.

    Args:
        credential: An :class:`haulage.AzureCredential` or :class:`haulage.S3Credential`, several of them, or
            the name of a function that returns one, ``"package.module:function"``. Default: from the
            environment.
        session: A :class:`haulage.Session` to share with other calls; default: its own.
        cache_bytes: Limit on the bytes cached for all files, including those read ahead. Default 64 MiB. At
            most half of it is used to read ahead for one file. Bytes stay cached when a file is closed, and
            are reused if it is opened again and the object is unchanged, for which the service is asked.
        use_listings_cache: Cache listings. Paths written or removed through this file system are dropped from
            the cache immediately. Default ``True``.
        listings_expiry_time: How long listings are cached, in seconds. Default 10: long enough for a walk
            through a tree to see one state, and short enough to notice changes by others soon. A file found
            in one opens without a request if nothing of it is cached; its first read checks the version.
        asynchronous: For use from coroutines, through the methods that begin with ``_``:
            ``await fs._cat_file(path)``. Default ``False``.
        options: How to reach the store, as for every call: ``endpoint``, ``region``, ``addressing``,
            ``unsigned``, ``requester_pays``, ``insecure_http``, ``proxy``, ``bind``, ``ca``,
            ``stall_timeout``, ``cap``. See :class:`haulage.transfer.StoreOptions`.

    What is cached is dropped as soon as the environment names other accounts or credentials.

    Threads can share it, and a forked child can use it: the child opens its own connections. Pickles never
    contain a secret. A file system that holds a credential or a session of this process cannot be pickled;
    one whose credentials come from the environment, or from a function given by name, looks them up again
    where it is unpickled.
    """

    cachable = True

    def __init__(
        self,
        *args: Any,
        credential: Given | Iterable[Given] | None = None,
        session: Session | str | None = None,
        cache_bytes: int = CACHE,
        asynchronous: bool = False,
        loop: asyncio.AbstractEventLoop | None = None,
        batch_size: int | None = None,
        listings_expiry_time: float | None = LISTED,
        **options: Any,
    ) -> None:
        listing = {name: options.pop(name) for name in ("use_listings_cache", "max_paths") if name in options}
        super().__init__(
            *args,
            asynchronous=asynchronous,
            loop=loop,
            batch_size=batch_size,
            listings_expiry_time=listings_expiry_time,
            **listing,
        )
        for name in options:
            if name not in REACH:
                hint = f"use one of {', '.join(REACH)}; pass secrets as credential="
                raise UsageError("open a file system", name, "no such option", hint)
        if session is not None and credential is not None:
            hint = "create the session with the credential: haulage.Session(credential)"
            raise UsageError("open a file system", "session", "both credential and session are given", hint)
        # The metaclass has put names in the place of both.
        named = cast("builtins.list[str]", credential or [])
        self._references = [*named, *([cast("str", session)] if session else ())]
        self._reach: dict[str, Any] = dict(options)
        if session or named:
            # Others share the connections of all calls that name no session.
            self._reach["session"] = (
                referent(cast("str", session)) if session else Session(credentials(named))
            )
        self.cache = Cache(cache_bytes)
        self.pace = Pace()
        self._threads: tuple[int, ThreadPoolExecutor] | None = None
        self._lock = threading.Lock()

    # What belongs to one process.

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop that runs coroutines for synchronous calls; a forked child has its own."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._loop = None if self.asynchronous else get_loop()
        return self._loop

    def _executor(self) -> Executor:
        """Return the threads in which the engine is waited for."""
        held = self._threads
        if held is None or held[0] != os.getpid():
            if held is not None:
                # A lock that another thread of the parent's held is never let go of here.
                self._lock = threading.Lock()
            with self._lock:
                held = self._threads
                if held is None or held[0] != os.getpid():
                    held = self._threads = (os.getpid(), ThreadPoolExecutor(THREADS, "haulage-fsspec"))
        return held[1]

    async def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        running = asyncio.get_running_loop()
        return await running.run_in_executor(self._executor(), partial(function, *args, **kwargs))

    def __reduce__(self) -> Any:
        if not all(leads_elsewhere(name) for name in self._references):
            raise TypeError(
                "this file system holds a credential or a session of this process and cannot be pickled,"
                f" because the bytes would contain the secret; {ELSEWHERE}"
            )
        return super().__reduce__()

    # Names.

    def url(self, path: str, **_: Any) -> str:
        """Return the URL that the engine uses for a path.

        >>> AzureFileSystem().url("climate/tas.nc")
        'az://climate/tas.nc'
        """
        return f"{self.scheme}://{self._strip_protocol(path)}"

    @staticmethod
    def _split(path: str) -> tuple[str, str]:
        container, _, key = path.partition("/")
        return container, key

    # Files.

    def open(
        self, path: str, mode: str = "rb", *args: Any, compression: str | None = None, **kwargs: Any
    ) -> Any:
        """Open an object as a binary or text file; see :class:`ReadFile` and :class:`WriteFile`.

        With ``compression``, closing the compressed file also closes and commits the object.
        """
        if "w" in mode or "x" in mode:
            self._need_object("write", path)
        if "r" in mode or ("b" in mode and compression is None):
            return super().open(path, mode, *args, compression=compression, **kwargs)
        text = {name: kwargs.pop(name) for name in ("encoding", "errors", "newline") if name in kwargs}
        file = super().open(path, f"{mode.translate(_KINDS)}b", *args, **kwargs)
        kind = None if compression is None else get_compression(path, compression)
        if kind is not None:
            file = PackedFile(compr[kind](file, mode=mode[0]), file)
        return file if "b" in mode else TextFile(file, **text)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        **_: Any,
    ) -> ReadFile | WriteFile:
        if mode == "rb":
            return self._open_to_read(self._strip_protocol(path))
        if mode not in ("wb", "xb"):
            raise refuse_mode(mode)
        self._need_object("write", path)
        path = self._strip_protocol(path)
        size = {} if block_size is None else {"block_size": f"{block_size}B"}
        writer = open_object(f"{self.scheme}://{path}", mode, **size, **self._reach)  # type: ignore[call-overload]
        return WriteFile(self, path, writer, autocommit=autocommit)

    def _open_to_read(self, path: str) -> ReadFile:
        kept = self._kept
        listed = [entry for entry in self._known(path) if entry["type"] == "file"]
        if listed and listed[0]["size"] > UNKNOWN and not self._was_read(path, listed[0], kept):
            # Its size and version are known, so the first request is for what is wanted first, and for no
            # other version.
            return ReadFile(self, path, self._window(path, listed[0], kept), listed[0])
        container, _ = self._split(path)
        # Of what was read before, only the version is asked for.
        again = path in kept.windows
        length = LEAST if again else min(self.pace.beginning, max(self.cache.most // 4, LEAST))
        url = f"{self.scheme}://{path}"
        began = time.perf_counter()
        values, content = _engine.get_first(url, length, **self._reach)
        self.pace.first(len(content), time.perf_counter() - began)
        entry = entries.of_object(container, ObjectMeta.from_dict({**values, "url": url}))
        window = self._window(path, entry, kept)
        window.keep(0, content)
        return ReadFile(self, path, window, entry)

    def _was_read(self, path: str, listed: Mapping[str, Any], kept: Kept) -> bool:
        """Return whether anything is kept of an object, or it was read as another version than is listed."""
        with self.cache.lock:
            version, window = kept.windows.get(path, (None, None))
            return window is not None and (version != listed["etag"] or bool(window.pieces))

    def _window(self, path: str, entry: Mapping[str, Any], kept: Kept | None = None) -> Window:
        """Return the window on the version of an object that an entry states: the same one for the same."""
        kept = self._kept if kept is None else kept
        url, version = f"{self.scheme}://{path}", entry["etag"] or None
        with self.cache.lock:
            found = kept.windows.get(path)
            if found is not None and version is not None and found[0] == version:
                kept.windows.move_to_end(path)
                return found[1]
        options = {**self._reach, "block_size": f"{self.largest}B"}
        pace = self.pace

        def fetch(begin: int, length: int) -> bytes:
            began = time.perf_counter()
            found = _engine.get_ranges(url, [(begin, length)], version, **options)[0]
            pace.whole(len(found), time.perf_counter() - began)
            return found

        fetched = self._of_account(fetch, url, f"{self.scheme}://{self._split(path)[0]}", kept)
        window = Window(entry["size"], fetched, self.cache, self._executor, self.pace, self.largest)
        if version is not None:
            with self.cache.lock:
                kept.windows[path] = (version, window)
                kept.windows.move_to_end(path)
                while len(kept.windows) > KEPT:
                    kept.windows.popitem(last=False)
        return window

    async def open_async(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
        """Open an object as a file for ``async with``; ``await`` its ``read``, ``write`` and ``close``."""
        from haulage.filesystem.streams import AsyncFile

        if "b" not in mode or kwargs.get("compression"):
            raise refuse_mode(mode)
        return AsyncFile(await self._call(self._open, path, mode), self._call)


class AzureFileSystem(HaulageFileSystem):
    """``haulaz://container/path``: Azure Blob Storage. Arguments as for :class:`HaulageFileSystem`.

    >>> AzureFileSystem._strip_protocol("haulaz://climate/cmip6/tas.nc")
    'climate/cmip6/tas.nc'
    """

    # The second one is what earlier programs wrote; xarray takes no + in a URL.
    protocol = ("haulaz", "haul+az")
    scheme = "az"
    largest = 4 << 20  # up to which Azure states a checksum of a range


class S3FileSystem(HaulageFileSystem):
    """``hauls3://bucket/key``: S3, at AWS or elsewhere. Arguments as for :class:`HaulageFileSystem`."""

    protocol = ("hauls3", "haul+s3")
    scheme = "s3"
    largest = MOST  # S3 states no checksum of a range, and charges for each request
