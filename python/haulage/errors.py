"""The exceptions that Haulage raises.

Each kind of failure in the engine has one class here, with the same stable :attr:`~HaulageError.code`
and the exit code of the command. Catch by class or branch on ``code``, never on the message.

====================  ==================  =========
class                 code                exit code
====================  ==================  =========
UsageError            usage               2
UnsupportedError      unsupported         2
CredentialError       permission          3
NotFoundError         not_found           4
IntegrityError        integrity           5
SourceChangedError    source_changed      6
CancelledError        cancelled           130
ExistsError           exists              1
StorageFullError      no_space            1
LocalIOError          io                  1
NodeLostError         node_lost           1
ProtocolError         protocol            1
BusyError             busy                1
ConnectionLostError   connection          1
StalledError          stalled             1
ServiceError          service             1
====================  ==================  =========

The last four are kinds of :class:`TransientError`: the same call may succeed later, and then resumes from
where it stopped.

All except ``UsageError``, ``UnsupportedError`` and ``CancelledError`` are also ``OSError``, or the matching
subclass of it, so code written for files catches them: ``NotFoundError`` is a ``FileNotFoundError``,
``ExistsError`` a ``FileExistsError``, ``CredentialError`` a ``PermissionError``, ``ConnectionLostError`` a
``ConnectionError``, ``StalledError`` a ``TimeoutError``. A ``UsageError`` is a ``ValueError``, and an
``ArgumentTypeError``, for an argument of a wrong type, is a ``UsageError`` and a ``TypeError``.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any, ClassVar

from haulage.words.printable import printable

if TYPE_CHECKING:
    from haulage.events import Summary


class HaulageError(Exception):
    """A failure: what was done, on what, why it failed and what to do about it.

    Attributes:
        code: The kind, stable across releases.
        exit_code: The exit code that the command would return.
        operation: What was being done, such as ``"read"``.
        object: What it was done to; never holds a secret.
        cause: Why it failed.
        hint: What to do about it, or ``None``.
        summary: What the job did before it failed; ``None`` if it never started.
    """

    code: ClassVar[str]
    exit_code: ClassVar[int] = 1
    _errno: ClassVar[int] = errno.EIO

    def __init__(self, operation: str, object: str, cause: str, hint: str | None = None) -> None:
        this: Any = self
        if isinstance(this, OSError):
            super().__init__(self._errno, cause)
            this.filename = object
        # What copies and pickles of it are made with.
        self.args = (operation, object, cause, hint)
        self.operation = operation
        self.object = object
        self.cause = cause
        self.hint = hint
        self.summary: Summary | None = None

    def __str__(self) -> str:
        hint = f" (hint: {self.hint})" if self.hint else ""
        return printable(f"{self.operation} {self.object}: {self.cause}{hint}")


class UsageError(HaulageError, ValueError):
    """The call is invalid: a bad option or a bad URL."""

    code = "usage"
    exit_code = 2


class ArgumentTypeError(UsageError, TypeError):
    """An argument is of a type that the call does not take."""


class UnsupportedError(HaulageError):
    """The store cannot do what was asked."""

    code = "unsupported"
    exit_code = 2


class CredentialError(HaulageError, PermissionError):
    """The service or the file system refused access."""

    code = "permission"
    _errno = errno.EACCES
    exit_code = 3


class NotFoundError(HaulageError, FileNotFoundError):
    """No such file, blob or container."""

    code = "not_found"
    _errno = errno.ENOENT
    exit_code = 4


class IntegrityError(HaulageError, OSError):
    """Bytes differ from their checksum."""

    code = "integrity"
    exit_code = 5


class SourceChangedError(HaulageError, OSError):
    """The source changed while it was read."""

    code = "source_changed"
    _errno = errno.ESTALE
    exit_code = 6


class CancelledError(HaulageError):
    """The job was cancelled; the same call again resumes it."""

    code = "cancelled"
    exit_code = 130


class ExistsError(HaulageError, FileExistsError):
    """The target already exists and must not be replaced."""

    code = "exists"
    _errno = errno.EEXIST


class StorageFullError(HaulageError, OSError):
    """No space left at the destination."""

    code = "no_space"
    _errno = errno.ENOSPC


class LocalIOError(HaulageError, OSError):
    """The local file system failed."""

    code = "io"


class NodeLostError(HaulageError, OSError):
    """The machines assigned to the work were lost, one after another."""

    code = "node_lost"


class ProtocolError(HaulageError, OSError):
    """The response does not follow the service's protocol, so nothing in it was used."""

    code = "protocol"
    _errno = errno.EPROTO


class TransientError(HaulageError, OSError):
    """A failure that may be temporary; all retries were used up."""


class BusyError(TransientError):
    """The service is overloaded or temporarily unavailable."""

    code = "busy"


class ConnectionLostError(TransientError, ConnectionError):
    """The connection broke or could not be made."""

    code = "connection"


class StalledError(TransientError, TimeoutError):
    """No byte of progress within the stall timeout."""

    code = "stalled"


class ServiceError(TransientError):
    """The service sent an unexpected response."""

    code = "service"


def missing_package(operation: str, object: str, package: str | None, extra: str) -> UnsupportedError:
    """Return what says that a package is missing that an extra of this one brings."""
    hint = f"pip install 'haulage[{extra}]'"
    return UnsupportedError(operation, object, f"the package {package} is missing", hint)


#: The class of every code.
BY_CODE: dict[str, type[HaulageError]] = {
    kind.code: kind
    for kind in (
        UsageError,
        UnsupportedError,
        CredentialError,
        NotFoundError,
        IntegrityError,
        SourceChangedError,
        CancelledError,
        ExistsError,
        StorageFullError,
        LocalIOError,
        NodeLostError,
        BusyError,
        ConnectionLostError,
        StalledError,
        ServiceError,
        ProtocolError,
    )
}


def from_engine(code: str, operation: str, object: str, cause: str, hint: str | None) -> HaulageError:
    """Return the exception for a failure of the engine. The bindings call this."""
    return BY_CODE[code](operation, object, cause, hint)
