"""Jobs: copies, syncs, moves and comparisons that you can watch and cancel while they run."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Unpack

from haulage import _engine
from haulage.bar import shown
from haulage.display import progress_bar, progress_line, summary_line, summary_table
from haulage.errors import BY_CODE, ArgumentTypeError, CancelledError, HaulageError, UsageError, from_engine
from haulage.events import Event, ObjectEnded, Progress, Summary, parse
from haulage.options import Name, Options, Pair, takes
from haulage.places import without_signature
from haulage.words.numbers import counted

#: The options that take one text or several.
_SEVERAL = {"include", "exclude", "files_from", "preserve"}

_NAMES = "pass a str, a Path or a list of them; to write bytes, call haulage.put(url, data)"
_PAIRS = "pass dst, or a list of (source, destination)"


class Job:
    """A copy, sync, move or comparison that you can watch and cancel while it runs.

    Create one with :meth:`copy`, :meth:`sync`, :meth:`move` or :meth:`verify`. Threads can share it: one
    reads events or waits, and any can ask for progress or cancel. Dropping it cancels it. In a coroutine,
    ``await job`` does what :meth:`wait` does; if the coroutine is cancelled, so is the job. A job belongs to
    the process that started it: in a forked child, its methods raise :class:`~haulage.errors.UsageError`.

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
        #: The process that started it: the engine's threads are not in a forked child.
        self._process: int | None = None

    @classmethod
    @takes(Options)
    def copy(
        cls,
        src: Name | Iterable[Name] | Iterable[Pair],
        dst: Name | None = None,
        **options: Unpack[Options],
    ) -> Job:
        """Return a copy that has not been started; arguments as for :func:`haulage.copy`."""
        settled = for_engine(options)
        if dst is None:
            return cls(_engine.Job.copy_pairs(pairs(src), **settled))
        return cls(_engine.Job.copy(sources(src), name(dst, "destination"), **settled))

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
        src, dst = name(src, "source"), name(dst, "destination")
        deleting: dict[str, Any] = {"delete": delete, "max_delete": most, "allow_empty": allow_empty}
        engine = _engine.Job.sync(src, dst, **deleting, **for_engine(options))
        return cls(engine, "sync")

    @classmethod
    @takes(Options)
    def move(cls, src: Name | Iterable[Name], dst: Name, **options: Unpack[Options]) -> Job:
        """Return a move that has not been started; arguments as for :func:`haulage.move`."""
        dst = name(dst, "destination")
        return cls(_engine.Job.move_(sources(src), dst, **for_engine(options)), "move")

    @classmethod
    @takes(Options)
    def verify(
        cls, src: Name, dst: Name, *, stored: bool = False, deep: bool = False, **options: Unpack[Options]
    ) -> Job:
        """Return a comparison that has not been started; arguments as for :func:`haulage.verify`."""
        src, dst = name(src, "source"), name(dst, "destination")
        engine = _engine.Job.verify(src, dst, stored=stored, deep=deep, **for_engine(options))
        return cls(engine, "verify")

    def start(self, *, listen: bool = False) -> Job:
        """Start the job and return it; does nothing if it is already running.

        Args:
            listen: Keep events for :meth:`events`. You must then read them: outcomes are never dropped, so a
                full queue blocks the job. Default no.

        Raises:
            UsageError: Another process has started it, of which this one was forked.
            HaulageError: The job cannot start: a bad option or URL, no credentials, a record file that
                cannot be written.
        """
        self._refuse_in_child()
        self._process = os.getpid()
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
            self._refuse_in_child()

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
        self._refuse_in_child()
        values = self._engine.progress()
        return None if values is None else Progress.from_dict(values)

    def cancel(self) -> None:
        """Stop the job immediately; requests in flight are dropped. One that starts later stops at once.

        Parts of large objects that have arrived are kept, in partial files or by the service. Make the same
        call again to resume.
        """
        self._refuse_in_child()
        self._cancelled = True
        self._engine.cancel()

    def set_cap(self, rate: str | None) -> None:
        """Limit the rate on the wire from now on, both directions together, if the job is running.

        Args:
            rate: Such as ``"100mbit"``; ``None`` for no limit.

        Raises:
            UsageError: A rate without a unit.
        """
        self._refuse_in_child()
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

    def _is_of_parent(self) -> bool:
        """Whether it runs in the process that this was forked from. What has ended can be read anywhere."""
        return self._summary is None and self._process not in (None, os.getpid())

    def _refuse_in_child(self) -> None:
        """Refuse what would wait for threads that are not here, and for ever."""
        if self._is_of_parent():
            cause = "this job belongs to the process that started it"
            hint = "wait for it there; in a child process, start another job"
            raise UsageError(self._operation, "job", cause, hint)

    def __repr__(self) -> str:
        return f"<Job: {self._operation}, {self._state()}>"

    def _state(self) -> str:
        if self._summary is not None:
            return f"ended: {summary_line(self._summary)}"
        if self._is_of_parent():
            return "of another process"
        now = self.progress()
        return "not running" if now is None else progress_line(now)

    def _repr_html_(self) -> str:
        if self._summary is not None:
            return summary_table(self._summary)
        now = None if self._is_of_parent() else self.progress()
        return f"<div>{repr(self)[1:-1]}</div>" if now is None else progress_bar(self._operation, now)


def name(given: Any, role: str) -> Name:
    """Return the name of a source or a destination where there is only one.

    Raises:
        ArgumentTypeError: It is something else.
    """
    if _is_name(given):
        return given  # type: ignore[no-any-return]
    cause = f"the {role} is of type {type(given).__name__}, and one name is expected"
    raise ArgumentTypeError("open", role, cause, "pass a str or a Path")


def sources(given: Any) -> Sequence[Name]:
    """Return the name of a source, or the names of several, as the engine takes them.

    Raises:
        ArgumentTypeError: It is something else, or there is something else among them.
    """
    if _is_name(given):
        return [given]
    several = _sequence(given)
    for one in several:
        if not _is_name(one):
            cause = f"one of the sources is of type {type(one).__name__}, and names are expected"
            raise ArgumentTypeError("open", "source", cause, _NAMES)
    return several


def pairs(given: Any) -> Sequence[tuple[Name, Name]]:
    """Return pairs as the engine takes them; those of a table are in two of its columns.

    >>> pairs([["a", "b"]])
    [('a', 'b')]

    Raises:
        UsageError: There is something else among them.
    """
    if _is_name(given):
        shown = without_signature(str(given))
        raise UsageError("copy", shown, "no destination", _PAIRS)
    if not hasattr(given, "columns"):
        return [_pair(pair) for pair in _sequence(given)]
    columns = (given["source"], given["destination"])
    texts = (getattr(column, "to_pylist", None) or column.tolist for column in columns)
    return [*zip(*(text() for text in texts), strict=True)]


def _pair(given: Any) -> tuple[Name, Name]:
    """Return a source and a destination. Tuples are lists where they come from JSON."""
    if not isinstance(given, (tuple, list)):
        cause = f"one of the pairs is of type {type(given).__name__}, and tuples are expected"
        raise ArgumentTypeError("copy", "pairs", cause, _PAIRS)
    if len(given) != 2:
        cause = f"one of the pairs has {counted(len(given), 'part')}, not a source and a destination"
        raise UsageError("copy", "pairs", cause, _PAIRS)
    source, destination = given
    if not (_is_name(source) and _is_name(destination)):
        kind = type(destination if _is_name(source) else source).__name__
        cause = f"one of the pairs holds something of type {kind}, and names are expected"
        raise ArgumentTypeError("copy", "pairs", cause, _PAIRS)
    return source, destination


def _is_name(given: Any) -> bool:
    return isinstance(given, (str, PathLike))


def _sequence(given: Any) -> Sequence[Any]:
    if isinstance(given, (list, tuple)):
        return given
    if isinstance(given, (bytes, bytearray, memoryview, Mapping)) or not isinstance(given, Iterable):
        cause = f"the source is of type {type(given).__name__}, and a name or several are expected"
        hint = _NAMES if not isinstance(given, Mapping) else "for pairs, pass list(pairs.items())"
        raise ArgumentTypeError("open", "source", cause, hint)
    return list(given)


def for_engine(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as the engine takes them, which knows lists only.

    >>> for_engine({"include": (f"*.{kind}" for kind in ("nc", "txt")), "files_from": "names.txt"})
    {'include': ['*.nc', '*.txt'], 'files_from': 'names.txt'}

    Raises:
        UsageError: An option that takes several texts is given something else.
    """
    return {
        name: value
        if name not in _SEVERAL or value is None or isinstance(value, (str, PathLike))
        else _texts(name, value)
        for name, value in options.items()
    }


def _texts(option: str, given: Any) -> list[Any]:
    hint = "pass a str or a list of them"
    several = isinstance(given, Iterable) and not isinstance(given, (bytes, bytearray, memoryview))
    texts = [*given] if several else [given]
    for text in texts:
        # Names may be paths; where they may not, the engine says so.
        if not isinstance(text, (str, PathLike)):
            cause = f"text is expected, and there is something of type {type(text).__name__}"
            raise ArgumentTypeError("open", option, cause, hint)
    if not texts and isinstance(given, Iterator):
        # No globs at all select everything, which was not meant.
        cause = "the iterator yields nothing; it may have been read already"
        raise UsageError("open", option, cause, hint)
    return texts


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
