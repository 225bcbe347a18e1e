"""For your own workers: record what they log, and the error that ends them, in an event log.

Nothing here waits for the network or raises because of it: lines are written to a spool on the disk, and the
engine sends them from there in the background. ``HAULAGE_WATCH=off`` turns all of it off.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from haulage import _engine
from haulage.errors import ArgumentTypeError, HaulageError, UsageError
from haulage.transfer import StoreOptions
from haulage.words.secrets import without_secrets

if TYPE_CHECKING:
    from haulage.transfer import Name

#: Set to ``off`` (or ``0``, ``no``, ``false``), nothing is recorded.
SWITCH = "HAULAGE_WATCH"
#: How long a worker waits at its end until its lines are in the log. Lines that are not sent by then stay in
#: the spool.
END_S = 5.0
#: The interval of heartbeats: after 4 s without one, a worker is shown as silent.
ALIVE_S = 1.0
#: Letters that are kept of a message, and of a traceback, whose end says most.
_MESSAGE = 32_000
_TRACEBACK = 64_000

_log = logging.getLogger(__name__)


class _Nobody:
    """Takes everything and keeps nothing: where it is switched off."""

    job = node = stream = ""
    dropped = 0

    def say(self, event: str, fields: str, /) -> None:
        """Keep nothing."""

    def beat(self, seconds: float, /) -> None:
        """Give no sign of life."""

    def flush(self, seconds: float, /) -> bool:  # noqa: ARG002  # as the engine's
        """Say that it is done."""
        return True

    def close(self, seconds: float, /) -> bool:  # noqa: ARG002  # as the engine's
        """Say that it is done."""
        return True


_Sink: TypeAlias = "_engine.EventLog | _Nobody"


def is_on() -> bool:
    """Return whether workers record, which :data:`SWITCH` in the environment can turn off."""
    return os.environ.get(SWITCH, "").strip().lower() not in ("off", "0", "no", "false")


def _opened(url: Name, names: dict[str, str | None], options: StoreOptions) -> _Sink:
    """Return a writer to the log at ``url``.

    Raises:
        UsageError: The URL is not that of a log, or an option is invalid. Other errors are only logged, and
            nothing is recorded: no worker stops because nobody can watch it.
    """
    if not is_on():
        return _Nobody()
    given = {name: value for name, value in names.items() if value is not None}
    try:
        return _engine.EventLog(url, **given, **options)
    except UsageError:
        raise
    except HaulageError as error:
        _log.warning("this worker is not recorded: %s", error)
        return _Nobody()


class Handler(logging.Handler):
    """A ``logging`` handler that sends records to an event log, which ``haul watch`` reads.

    >>> import logging, haulage.watch
    >>> handler = haulage.watch.Handler("az://logs/jobs")  # doctest: +SKIP
    >>> logging.getLogger().addHandler(handler)            # doctest: +SKIP

    It never raises and never waits for the network; lines that do not fit on the disk are counted in
    :attr:`dropped`. In a child process made by ``os.fork``, it opens its own stream. Secrets that the engine
    knows, and text that looks like a signature, key or password, are redacted.

    Args:
        url: The log: a folder, ``az://container/prefix`` or ``s3://bucket/prefix``.
        level: The lowest level that is sent. Default ``INFO``.
        job: 16 hexadecimal digits, to group several streams; default: its own job.
        node: The name of this machine; default: the host name.
        spool: A folder for lines that have not been sent yet; default: a folder of this user.
        options: How to reach the store, see :class:`~haulage.transfer.StoreOptions`.

    Raises:
        UsageError: The URL is not that of a log, or an option is invalid.
    """

    def __init__(
        self,
        url: Name,
        *,
        level: int | str = logging.INFO,
        job: str | None = None,
        node: str | None = None,
        spool: str | None = None,
        **options: Unpack[StoreOptions],
    ) -> None:
        # Before a log is opened, which a bad level would leave open with nobody to close it.
        level = _level(level)
        self._url, self._options = url, options
        self._names = {"job": job, "node": node, "spool": spool}
        self._pid = os.getpid()
        self._sink = _opened(url, self._names, options)
        # Logging flushes all that it knows at the end, and stops at one that has no log.
        super().__init__(level)
        #: That of the process this one was forked from: to let go of it would wake threads that are not here.
        self._parents: _Sink | None = None
        self._saying = threading.local()

    @property
    def job(self) -> str:
        """The job that its lines belong to; empty if recording is turned off."""
        return self._sink.job

    @property
    def dropped(self) -> int:
        """The number of lines that did not fit on the disk."""
        return self._sink.dropped

    def emit(self, record: logging.LogRecord) -> None:
        """Send a log record."""
        # What is logged while a line is said, such as by a callback for credentials, would go round in
        # circles.
        if getattr(self._saying, "now", False):
            return
        self._saying.now = True
        try:
            self.say("log", fields_of(record))
        except Exception:
            self.handleError(record)
        finally:
            self._saying.now = False

    def say(self, event: str, fields: dict[str, Any]) -> None:
        """Send another kind of event; its fields must be serializable as JSON."""
        if os.getpid() != self._pid:
            # The engine's threads are not in a forked child, and its stream is the parent's.
            self._pid, self._parents = os.getpid(), self._sink
            self._sink = _opened(self._url, {**self._names, "job": self._sink.job or None}, self._options)
        self._sink.say(event, json.dumps(fields))

    def beat(self) -> None:
        """Send a heartbeat every :data:`ALIVE_S` until it is closed, even while the GIL is held."""
        self._sink.beat(ALIVE_S)

    def flush(self) -> None:
        """Wait until all lines are in the log, at most :data:`END_S`."""
        if os.getpid() == self._pid:
            self._sink.flush(END_S)

    def close(self) -> None:
        """Send the remaining lines, for at most :data:`END_S`; the rest stays in the spool."""
        if os.getpid() == self._pid:
            self._sink.close(END_S)
        super().close()


def _level(level: int | str) -> int:
    """Return a level of ``logging`` as a number.

    Raises:
        UsageError: It is none.
    """
    hint = 'write a number, or a name such as "INFO" or "WARNING"'
    try:
        return logging.Logger("", level).level
    except ValueError:
        raise UsageError("watch", f"level {level!r}", "no such level", hint) from None
    except TypeError:
        raise ArgumentTypeError(
            "watch", "level", f"this is of the type {type(level).__name__}", hint
        ) from None


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of a log record."""
    trace = None
    if record.exc_info and record.exc_info[0] is not None:
        trace = _trace(record.exc_info[1], record.exc_info[2])
    elif record.exc_text:
        trace = _text(record.exc_text)[-_TRACEBACK:]
    elif record.stack_info:
        trace = _text(record.stack_info)[-_TRACEBACK:]
    return {
        "level": _text(record.levelname),
        "logger": _text(record.name),
        "message": _text(record.getMessage())[:_MESSAGE],
        "file": _text(record.pathname),
        "line": record.lineno,
        "traceback": trace,
    }


@contextmanager
def worker(
    url: Name,
    *,
    program: str | None = None,
    level: int | str = logging.INFO,
    logger: logging.Logger | None = None,
    job: str | None = None,
    node: str | None = None,
    spool: str | None = None,
    **options: Unpack[StoreOptions],
) -> Iterator[Handler]:
    """Record a ``with`` block: its start and end, what it logs, and uncaught exceptions with their traceback.

    Use it as ``with haulage.watch.worker("az://logs/jobs", program="regrid"):``.

    Exceptions are recorded and then propagate, including those that end a thread. A process that is killed
    writes nothing more and is shown as silent after 4 s.

    Args:
        url: The log: a folder, ``az://container/prefix`` or ``s3://bucket/prefix``.
        program: The name to show. Default: the name of the script.
        level: The lowest level of log records that is sent. Default ``INFO``.
        logger: The logger whose records are sent. Default: the root logger, so all of them.
        job: 16 hexadecimal digits, to group several streams; default: its own job.
        node: The name of this machine; default: the host name.
        spool: A folder for lines that have not been sent yet; default: a folder of this user.
        options: How to reach the store, see :class:`~haulage.transfer.StoreOptions`.

    Raises:
        UsageError: The URL is not that of a log, or an option is invalid.
    """
    handler = Handler(url, level=level, job=job, node=node, spool=spool, **options)
    if not is_on():
        yield handler
        return
    listened = logger or logging.getLogger()
    before = threading.excepthook
    ok = False

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not SystemExit:
            _uncaught(handler, args.exc_value or args.exc_type())
        before(args)

    _say(handler, "worker_started", {"program": _text(program or _program()), "pid": os.getpid()})
    listened.addHandler(handler)
    threading.excepthook = in_thread
    try:
        with suppress(Exception):
            handler.beat()
        yield handler
        ok = True
    except SystemExit as exit_:
        ok = exit_.code in (None, 0)
        raise
    except BaseException as error:
        _uncaught(handler, error)
        raise
    finally:
        if threading.excepthook is in_thread:
            threading.excepthook = before
        listened.removeHandler(handler)
        _say(handler, "worker_ended", {"ok": ok})
        # Also where the interpreter is on its way out.
        with suppress(Exception):
            handler.close()


def _say(handler: Handler, event: str, fields: dict[str, Any]) -> None:
    try:
        handler.say(event, fields)
    except Exception as error:
        _log.warning("not recorded: %s", error)


def _uncaught(handler: Handler, error: BaseException) -> None:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    try:
        message = str(error)
    except Exception:
        message = "(the exception cannot be printed)"
    fields = {
        "kind": _text(name),
        "message": _text(message)[:_MESSAGE],
        "traceback": _trace(error, error.__traceback__),
    }
    _say(handler, "uncaught", fields)


def _trace(error: BaseException | None, trace: TracebackType | None) -> str | None:
    if error is None:
        return None
    try:
        lines = traceback.format_exception(type(error), error, trace)
    except Exception:
        lines = traceback.format_tb(trace)
    return _text("".join(lines))[-_TRACEBACK:]


def _text(text: str) -> str:
    """Return text without secrets, and without halves of pairs, which are no JSON that others read.

    The engine takes out the secrets that it knows. Here goes what looks like one that it has never seen.
    """
    whole = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    return without_secrets(whole)


def _program() -> str:
    return os.path.basename(sys.argv[0] or "") or "python"  # noqa: PTH119  # it may be "-c"
