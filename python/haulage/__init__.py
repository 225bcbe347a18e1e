"""Move collections of files to and from object stores, and prove that every byte arrived.

>>> import haulage, pathlib, tempfile
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "a.txt").write_text("hello")
>>> summary = haulage.copy(folder / "a.txt", folder / "b.txt")
>>> summary.objects_done, summary.bytes_done
(1, 5)
>>> haulage.verify(folder / "a.txt", folder / "b.txt").exit_code
0

Names are imported on first use, which keeps ``import haulage`` fast.
"""

from __future__ import annotations

from haulage.lazy import importing

# As `typing.TYPE_CHECKING`, whose import costs more than the rest of the command's start.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable

    __version__: str
    from haulage import (
        cluster as cluster,
        filesystem as filesystem,
        lab as lab,
        tables as tables,
        watch as watch,
    )
    from haulage.decisions import verbose as verbose
    from haulage.emulator import Emulator as Emulator
    from haulage.errors import (
        BusyError as BusyError,
        CancelledError as CancelledError,
        ConnectionLostError as ConnectionLostError,
        CredentialError as CredentialError,
        ExistsError as ExistsError,
        HaulageError as HaulageError,
        IntegrityError as IntegrityError,
        LocalIOError as LocalIOError,
        NodeLostError as NodeLostError,
        NotFoundError as NotFoundError,
        ProtocolError as ProtocolError,
        ServiceError as ServiceError,
        SourceChangedError as SourceChangedError,
        StalledError as StalledError,
        StorageFullError as StorageFullError,
        TransientError as TransientError,
        UnsupportedError as UnsupportedError,
        UsageError as UsageError,
    )
    from haulage.events import (
        Failure as Failure,
        ObjectMeta as ObjectMeta,
        PlanReport as PlanReport,
        Progress as Progress,
        Summary as Summary,
        Written as Written,
    )
    from haulage.job import Job as Job
    from haulage.listing import list as list, presign as presign, stat as stat
    from haulage.objects import cat as cat, get as get, open as open, put as put
    from haulage.ranges import get_range as get_range, get_ranges as get_ranges
    from haulage.removal import (
        Removed as Removed,
        exists as exists,
        make_container as make_container,
        remove as remove,
        remove_container as remove_container,
    )
    from haulage.session import (
        AzureCredential as AzureCredential,
        S3Credential as S3Credential,
        Session as Session,
    )
    from haulage.transfer import (
        copy as copy,
        move as move,
        plan as plan,
        read_pairs as read_pairs,
        sync as sync,
        verify as verify,
    )

_HOMES = {
    "haulage.transfer": "copy move plan read_pairs sync verify",
    "haulage.job": "Job",
    "haulage.listing": "list presign stat",
    "haulage.events": "Failure ObjectMeta PlanReport Progress Summary Written",
    "haulage.objects": "cat get open put",
    "haulage.ranges": "get_range get_ranges",
    "haulage.removal": "Removed exists make_container remove remove_container",
    "haulage.decisions": "verbose",
    "haulage.session": "AzureCredential S3Credential Session",
    "haulage.emulator": "Emulator",
    "haulage.errors": (
        "BusyError CancelledError ConnectionLostError CredentialError ExistsError HaulageError"
        " IntegrityError LocalIOError NodeLostError NotFoundError ProtocolError ServiceError"
        " SourceChangedError StalledError StorageFullError TransientError UnsupportedError UsageError"
    ),
}

#: What has a name of its own, as in ``haulage.cluster.copy``.
_PARTS = "cluster errors events filesystem lab tables watch"

__all__ = sorted([*" ".join(_HOMES.values()).split(), "__version__"])

_named = importing(__name__, _HOMES, _PARTS)


def __getattr__(name: str) -> object:
    if name != "__version__":
        return _named(name)
    from haulage._engine import VERSION

    return VERSION


def __dir__() -> Iterable[str]:
    return [*__all__, *_PARTS.split()]
