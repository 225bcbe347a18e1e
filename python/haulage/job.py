"""Jobs: copies, syncs, moves and comparisons that you can watch and cancel while they run."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, Unpack

from haulage import _engine
from haulage.bar import shown
from haulage.display import progress_bar, progress_line, summary_line, summary_table
from haulage.errors import BY_CODE, ArgumentTypeError, CancelledError, HaulageError, from_engine
from haulage.events import Event, ObjectEnded, Progress, Summary, parse
from haulage.options import Name, Options, takes
from haulage.places import without_signature
from haulage.units import counted


class Job:
    """A copy, sync, move or comparison that you can watch and cancel while it runs.

    Create one with :meth:`copy`, :meth:`sync`, :meth:`move` or :meth:`verify`. Threads can share it: one
    reads events or waits, and any can ask for progress or cancel. Dropping it cancels it. In a coroutine,
    ``await job`` does what :meth:`wait` does; if the coroutine is cancelled, so is the job.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a").write_bytes(b"hello")
    >>> job = Job.copy(folder / "a", folder / "b")
    >>> [type(event).__name__ for event in job.events()][-1]
    'Summary'
    >>> job.wait().objects_done
    1
    """

    def __init__(self, engine: _engine.Job, operation: str = "copy") -> None:
        self._engine = engine
        self._operation = operation
        self._summary: Summary | None = None
        self._cancelled = False

    @classmethod
    @takes(Options)
    def copy(
        cls,
        src: Name | Iterable[Name] | Iterable[tuple[Name, Name]],
        dst: Name | None = None,
        **options: Unpack[Options],
    ) -> Job:
        """Return a copy that has not been started; arguments as for :func:`haulage.copy`."""
        if dst is None:
            if isinstance(src, (str, PathLike)):
                raise from_engine(
                    "usage",
                    "copy",
                    without_signature(str(src)),
                    "no destination",
                    "pass dst, or a list of (source, destination)",
                )
            return cls(_engine.Job.copy_pairs(_pairs(src), **options))
        return cls(_engine.Job.copy(sources(src), dst, **options))

    @classmethod
    @takes(Options)
    def sync(
        cls,
        src: Name,
        dst: Name,
        *,
        delete: bool = False,
        max_delete: int | str | None = None,
        allow_empty: bool = False,
        **options: Unpack[Options],
    ) -> Job:
        """Return a sync that has not been started; arguments as for :func:`haulage.sync`."""
        most = None if max_delete is None else str(max_delete)
        return cls(
            _engine.Job.sync(src, dst, delete=delete, max_delete=most, allow_empty=allow_empty, **options),
            "sync",
        )

    @classmethod
    @takes(Options)
    def move(cls, src: Name | Iterable[Name], dst: Name, **options: Unpack[Options]) -> Job:
        """Return a move that has not been started; arguments as for :func:`haulage.move`."""
        return cls(_engine.Job.move_(sources(src), dst, **options), "move")

    @classmethod
    @takes(Options)
    def verify(
        cls, src: Name, dst: Name, *, stored: bool = False, deep: bool = False, **options: Unpack[Options]
    ) -> Job:
        """Return a comparison that has not been started; arguments as for :func:`haulage.verify`."""
        return cls(_engine.Job.verify(src, dst, stored=stored, deep=deep, **options), "verify")

    def start(self, *, listen: bool = False) -> Job:
        """Start the job and return it; does nothing if it is already running.

        Args:
            listen: Keep events for :meth:`events`. You must then read them: outcomes are never dropped, so a
                full queue blocks the job. Default no.

        Raises:
            HaulageError: The job cannot start: a bad option or URL, no credentials, a record file that
                cannot be written.
        """
        self._engine.start(listen=listen)
        if self._cancelled:
            # Before it ran, or while it started: the engine had nothing to cancel yet.
            self._engine.cancel()
        return self

    def events(self, batch: int = 1024) -> Iterator[Event]:
        """Yield every event, up to the :class:`~haulage.events.Summary`, which is the last.

        Starts the job if necessary; a running job must have been started with ``listen``. Read to the end:
        outcomes are never dropped, so a full queue blocks the job. ``batch`` limits how many events are
        fetched from the engine in one call.

        Raises:
            UsageError: The job was started without ``listen``.
        """
        for values in self.batches(batch):
            yield from map(parse, values)

    def batches(self, max: int = 1024) -> Iterator[builtins.list[dict[str, Any]]]:
        """Like :meth:`events`, in lists of at most ``max`` dicts: for many events, or to pass them on."""
        self.start(listen=True)
        while values := self._engine.next_events(max):
            yield values

    def to_arrow(self) -> Any:
        """Run the job to its end and return the outcome of each object as a pyarrow table.

        The columns are the fields of :class:`~haulage.events.ObjectEnded`. Failed objects do not raise an
        exception; their rows give the reason.

        Raises:
            UsageError: The job was started without ``listen``.
            UnsupportedError: pyarrow is not installed.
        """
        from haulage.arrow import table_of

        ended = (one for batch in self.batches() for one in batch if one["event"] == "object")
        return table_of(ObjectEnded, ended)

    def progress(self) -> Progress | None:
        """Return a progress sample; ``None`` before the start and after :meth:`wait`."""
        values = self._engine.progress()
        return None if values is None else Progress.from_dict(values)

    def cancel(self) -> None:
        """Stop the job immediately; requests in flight are dropped. One that starts later stops at once.

        Parts of large objects that have arrived are kept, in partial files or by the service. Make the same
        call again to resume.
        """
        self._cancelled = True
        self._engine.cancel()

    def set_cap(self, rate: str | None) -> None:
        """Limit the rate on the wire from now on, both directions together, if the job is running.

        Args:
            rate: Such as ``"100mbit"``; ``None`` for no limit.

        Raises:
            UsageError: A rate without a unit.
        """
        self._engine.set_cap(rate)

    def wait(
        self,
        *,
        check: bool = True,
        on_progress: Callable[[Progress], object] | None = None,
        progress: bool | None = None,
    ) -> Summary:
        """Wait for the job to end, and start it if necessary.

        Ctrl-C cancels the job and raises ``KeyboardInterrupt``.

        Args:
            check: Raise if objects failed. With ``False``, check the summary yourself.
            on_progress: Called with a sample about five times a second, in this thread. An exception in
                it cancels the job.
            progress: Show a progress bar, below a notebook cell or on standard error. Default ``None``: in
                notebooks and at Python's prompt, but not in scripts.

        Raises:
            HaulageError: The whole job failed; with ``check`` also if objects failed, with the summary
                attached as ``.summary``.
        """
        bar = shown(progress, self._operation)
        listeners = [*([on_progress] if on_progress else ()), *([bar.update] if bar else ())]

        def sample(values: dict[str, Any]) -> None:
            now = Progress.from_dict(values)
            for listener in listeners:
                listener(now)

        summary = None
        try:
            self.start()
            summary = Summary.from_dict(self._engine.wait(sample if listeners else None))
        finally:
            if bar is not None:
                bar.end(summary)
        self._summary = summary
        if check and summary.exit_code != 0:
            raise _failure(summary)
        return summary

    def __await__(self) -> Generator[Any, None, Summary]:
        return self._awaited().__await__()

    async def _awaited(self) -> Summary:
        # Imported here: few need them, and they take longer than the rest of the package.
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        # A thread of its own: those of the loop may all be waiting for other jobs.
        with ThreadPoolExecutor(1, "haulage-await") as thread:
            running = asyncio.get_running_loop().run_in_executor(thread, self.wait)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                self.cancel()
                await asyncio.gather(running, return_exceptions=True)
                raise

    def __repr__(self) -> str:
        return f"<Job: {self._operation}, {self._state()}>"

    def _state(self) -> str:
        if self._summary is not None:
            return f"ended: {summary_line(self._summary)}"
        now = self.progress()
        return "not running" if now is None else progress_line(now)

    def _repr_html_(self) -> str:
        if self._summary is not None:
            return summary_table(self._summary)
        now = self.progress()
        return f"<div>{repr(self)[1:-1]}</div>" if now is None else progress_bar(self._operation, now)


def _sequence(items: Iterable[Any]) -> Sequence[Any]:
    if isinstance(items, (builtins.list, tuple)):
        return items
    if isinstance(items, (bytes, bytearray, memoryview)) or not hasattr(items, "__iter__"):
        cause = f"the source is of type {type(items).__name__}, and a name or several are expected"
        hint = "pass a str, a Path or a list of them; to write bytes, call haulage.put(url, data)"
        raise ArgumentTypeError("open", "source", cause, hint)
    return builtins.list(items)


def _pairs(src: Any) -> Sequence[tuple[Name, Name]]:
    """Return pairs as the engine takes them; those of a table are in two of its columns."""
    if not hasattr(src, "columns"):
        return _sequence(src)
    columns = (src["source"], src["destination"])
    texts = (getattr(column, "to_pylist", None) or column.tolist for column in columns)
    return [*zip(*(text() for text in texts), strict=True)]


def sources(src: Any) -> Sequence[Name]:
    """Return one name or several as the engine takes them."""
    return [src] if isinstance(src, (str, PathLike)) else _sequence(src)


def _failure(summary: Summary) -> HaulageError:
    """Return the failure that says most: one that stands for the exit code, else the first."""
    telling = [f for f in summary.failures if BY_CODE[f.kind].exit_code == summary.exit_code]
    error: HaulageError
    if summary.failures:
        chosen = (telling or summary.failures)[0]
        error = from_engine(chosen.kind, chosen.operation, chosen.object, chosen.cause, chosen.hint)
        if summary.objects_failed > 1:
            error.add_note(f"{summary.objects_failed:,} of {counted(summary.objects_total, 'object')} failed")
    else:
        hint = "make the same call again to resume"
        error = CancelledError(summary.operation, "job", "cancelled", hint)
    error.summary = summary
    return error
