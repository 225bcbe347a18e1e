"""The events that the engine reports while it runs: one frozen dataclass for every kind.

The JSON lines of ``haul --json`` have the same fields, and so have, for attempts and objects, the columns of
``--record``. Sizes are in bytes, rates in bits per second, and times in nanoseconds since the start of the
job, on one monotonic clock; :class:`JobStarted` gives its start in calendar time. Properties give the same
times as datetimes (UTC) and timedeltas, to the microsecond.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Literal, Self, TypeAlias

Outcome: TypeAlias = Literal[
    "copied",
    "equal",
    "skipped",
    "extra",
    "failed",
    "differs",
    "missing",
    "deleted",
    "backed_up",
    "would_copy",
    "would_delete",
    "would_back_up",
]
Method: TypeAlias = Literal["whole", "blocks", "none"]
Proof: TypeAlias = Literal["crc64", "md5", "sent", "length", "service", "stored", "etag", "none"]


class _Record:
    """A record that the engine returns as a JSON object."""

    __slots__ = ()
    _nested: ClassVar[Mapping[str, type[_Record]]] = {}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the record for a parsed JSON object.

        Fields that this version does not know are ignored, so events of a newer engine can be read. A missing
        field raises ``KeyError``.
        """
        return cls(**{name: _frozen(values[name], cls._nested.get(name)) for name in _names(cls)})


def _frozen(value: Any, kind: type[_Record] | None) -> Any:
    """Return ``value`` with tuples for lists and records of ``kind`` for objects."""
    if isinstance(value, list):
        return tuple(_frozen(item, kind) for item in value)
    if kind is not None and isinstance(value, dict):
        return kind.from_dict(value)
    return value


def _names(cls: type[_Record]) -> tuple[str, ...]:
    names = _NAMES.get(cls)
    if names is None:
        names = _NAMES[cls] = tuple(field.name for field in fields(cls))  # type: ignore[arg-type]
    return names


_NAMES: dict[type[_Record], tuple[str, ...]] = {}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _span(ns: int) -> timedelta:
    return timedelta(microseconds=ns // 1000)


def _time(unix_ns: int) -> datetime:
    return _EPOCH + _span(unix_ns)


@dataclass(frozen=True, slots=True)
class Failure(_Record):
    """Why an object, or the whole job, failed."""

    kind: str  #: a code of :mod:`haulage.errors`
    operation: str  #: what was being done
    object: str  #: what it was done to
    cause: str  #: why it failed
    hint: str | None  #: what to do about it


@dataclass(frozen=True, slots=True)
class JobStarted(_Record):
    """The job has started."""

    job: str  #: a random name for this run
    node: str  #: the machine it runs on
    operation: str  #: ``copy``, ``verify``, ``sync`` or ``move``
    sources: tuple[str, ...]  #: without secrets
    destination: str  #: without secrets
    options: tuple[str, ...]  #: that were set, as ``haul cp`` has them; without secrets
    started_unix_ns: int  #: start of the clock, since 1970 (UTC)
    version: str  #: version of the engine

    @property
    def started(self) -> datetime:
        """When the clock started."""
        return _time(self.started_unix_ns)


@dataclass(frozen=True, slots=True)
class Attempt(_Record):
    """One attempt of one request ended, successfully or not.

    The eight phases are ``None`` if they were not reached or do not apply to the request.
    """

    object_id: int | None  #: number of the object in this job; ``None`` for listing
    object: str  #: its name, without secrets
    api: str  #: the service's name for the operation, such as ``PutBlock``
    offset_bytes: int  #: first byte of the range or block within the object
    size_bytes: int  #: payload of this attempt
    attempt: int  #: 1 for the first try
    lane: int  #: the in-flight slot, from 0
    connection: int  #: numbered from 1; 0 if there was none
    connection_reused: bool  #: whether the connection had been used before
    fate: str  #: ``ok``, or a code of :mod:`haulage.errors`
    status: int | None  #: HTTP status, if there was a response
    cause: str | None  #: the service's own name for the failure, or a description
    request_id: str | None  #: the service's id for the request
    backoff_ns: int | None  #: wait before the next attempt; ``None`` if there is none
    queued_ns: int | None  #: when it was queued
    slot_ns: int | None  #: when it was granted a slot of the budget
    ready_ns: int | None  #: when the body was in memory and its checksum known
    connected_ns: int | None  #: when it had a connection
    sent_ns: int | None  #: when the last byte of the request was given to the kernel
    first_byte_ns: int | None  #: when the response began
    last_byte_ns: int | None  #: when the response was complete
    committed_ns: int | None  #: when its effect was complete
    ended_ns: int  #: when the attempt ended
    remote: str | None  #: address and port at the other end of the connection: the service's, or a proxy's
    proxied: bool  #: whether ``remote`` is a proxy
    dns_ns: int | None  #: duration of the DNS lookup, only for a request that waited for it
    proxy_ns: int | None  #: time a proxy took to open a tunnel, only for a request that waited for it
    tls_ns: int | None  #: duration of the TLS handshake, only for a request that waited for it
    retry_after_ns: int | None  #: the wait that the service asked for
    tcp_rtt_ns: int | None  #: round trip of the connection when the attempt ended, as the kernel measures it
    tcp_retransmits: int | None  #: segments that the connection had retransmitted by then
    tcp_busy_ns: int | None  #: time that the connection had had data in flight by then
    tcp_rwnd_limited_ns: int | None  #: of that, time limited by the receiver's window
    tcp_sndbuf_limited_ns: int | None  #: of that, time limited by our send buffer


@dataclass(frozen=True, slots=True)
class ObjectEnded(_Record):
    """An object is finished, whatever its outcome."""

    object_id: int  #: number of the object in this job
    source: str  #: without secrets
    destination: str  #: without secrets
    name: str  #: its name below the destination; empty if it has none
    size_bytes: int  #: its size at the source
    outcome: Outcome  #: the result
    method: Method  #: how it was sent
    by_service: (
        bool  #: whether the service copied it, at least in part, without sending it through this machine
    )
    proof: Proof  #: what proves that the destination holds the same bytes
    crc64: str | None  #: CRC-64/NVME of the whole object, hexadecimal
    md5: str | None  #: MD5 of the whole object, if one is stored with it
    etag: str | None  #: at the destination
    attempts: int  #: requests sent for it
    started_ns: int  #: when it was planned
    ended_ns: int  #: when it ended
    reason: str | None  #: why it was skipped, copied or deleted
    failure: Failure | None  #: why it failed

    _nested: ClassVar[Mapping[str, type[_Record]]] = {"failure": Failure}


@dataclass(frozen=True, slots=True)
class SlowObject(_Record):
    """An object that is taking long."""

    object: str  #: its name
    age_ns: int  #: how long it has been in flight
    bytes_done: int  #: how much of it has arrived
    size_bytes: int  #: its size


@dataclass(frozen=True, slots=True)
class Progress(_Record):
    """A sample of the job's progress."""

    elapsed_ns: int  #: time since the job started
    listed: bool  #: whether all names are known, so the totals are final
    objects_total: int  #: objects found so far
    objects_done: int  #: objects that are finished
    objects_failed: int  #: of these, failed
    objects_skipped: int  #: of these, skipped
    bytes_total: int  #: size of the objects found so far, without the skipped ones
    bytes_done: int  #: payload that has arrived
    rate_bits_per_second: int  #: rate on the wire over the last seconds
    eta_ns: int | None  #: time left at this rate; ``None`` while unknown
    in_flight: int  #: requests in flight
    retries: int  #: attempts that failed and were sent again
    flushing: bool  #: everything has arrived, and the job is waiting for the disk
    slowest: tuple[SlowObject, ...]  #: the objects longest in flight, at most three

    _nested: ClassVar[Mapping[str, type[_Record]]] = {"slowest": SlowObject}

    @property
    def elapsed(self) -> timedelta:
        """Time since the job started."""
        return _span(self.elapsed_ns)

    @property
    def eta(self) -> timedelta | None:
        """Time left at this rate; ``None`` while unknown."""
        return None if self.eta_ns is None else _span(self.eta_ns)

    def __repr__(self) -> str:
        from haulage.display import progress_line

        return f"<Progress: {progress_line(self)}>"


@dataclass(frozen=True, slots=True)
class Warned(_Record):
    """Something worth knowing that is not an error."""

    object: str  #: the object it is about
    message: str  #: what happened and what it means


@dataclass(frozen=True, slots=True)
class Proofs(_Record):
    """The number of objects proven by each kind of proof."""

    crc64: int  #: every byte compared by CRC64
    md5: int  #: every byte compared by MD5
    sent: int  #: sent with a checksum, but the destination stated none
    length: int  #: no checksum to compare with, only the length
    service: int  #: copied by the service, which states a checksum of its copy
    stored: int  #: compared with the checksum stored with the object
    etag: int  #: still the object that was written, according to its ETag


@dataclass(frozen=True, slots=True)
class Summary(_Record):
    """The end of the job."""

    operation: str  #: ``copy``, ``verify``, ``sync`` or ``move``
    objects_total: int  #: objects found
    objects_done: int  #: copied, or compared and equal
    objects_skipped: int  #: not copied
    objects_there: int  #: of these, at the destination already; the others are no regular files
    objects_failed: int  #: not copied, or not compared because one side could not be read
    objects_differ: int  #: compared and found different (verify)
    objects_missing: int  #: only at the source (verify)
    objects_extra: int  #: only at the destination (verify; sync without permission to delete them)
    objects_deleted: int  #: deleted: only at the destination (sync), or copied (move)
    objects_backed_up: int  #: copied to the backup folder before they were replaced or deleted
    dry_run: bool  #: whether nothing was done and the numbers say what would have been done
    objects_unproven: int  #: copied, but only the length was compared
    proofs: Proofs  #: how many of the copied or compared objects were proven, by kind of proof
    bytes_done: int  #: verified payload of the copied or compared objects
    bytes_resumed: int  #: of these, already staged by an interrupted run and not sent again
    objects_by_service: int  #: copied objects that the service copied itself, at least in part
    bytes_by_service: int  #: payload of these
    bytes_wire: int  #: bytes on the wire in both directions, including all attempts and headers
    requests: int  #: requests sent
    retries: int  #: attempts that failed and were sent again
    integrity_retries: int  #: of these, retries because of a checksum
    splits: int  #: blocks that stalled and were sent again in halves
    duplicates: (
        int  #: requests sent a second time while a slow one was still running, near the end of the job
    )
    bytes_duplicated: int  #: payload of these: the cost of finishing sooner
    elapsed_ns: int  #: wall time
    goodput_bits_per_second: int  #: verified payload over wall time
    chosen: str  #: what the controller chose and why
    events_dropped: int  #: samples dropped under load; outcomes are never dropped
    failures: tuple[Failure, ...]  #: the first 1000; the events contain all of them
    warnings: tuple[str, ...]  #: things worth knowing that are not failures, at most 100
    exit_code: int  #: the exit code of the command; 0 if everything succeeded

    _nested: ClassVar[Mapping[str, type[_Record]]] = {"failures": Failure, "proofs": Proofs}

    @property
    def elapsed(self) -> timedelta:
        """Wall time."""
        return _span(self.elapsed_ns)

    def to_arrow(self) -> Any:
        """Return the failures as a pyarrow table, with the columns of :class:`Failure`."""
        from haulage.arrow import table_of

        return table_of(Failure, self.failures)

    def __repr__(self) -> str:
        from haulage.display import summary_line

        return f"<Summary: {summary_line(self)}>"

    def _repr_html_(self) -> str:
        from haulage.display import summary_table

        return summary_table(self)


@dataclass(frozen=True, slots=True)
class PlanReport(_Record):
    """What a copy would do."""

    objects: int  #: objects found
    objects_skipped: int  #: objects that already exist at the destination and would be skipped
    bytes: int  #: payload that would be copied
    requests: int  #: requests needed, not counting retries
    whole: int  #: objects sent in one request
    blocks: int  #: objects sent in blocks or ranges
    by_service: int  #: of these, objects that the service copies itself
    bytes_by_service: int  #: payload of these, which does not pass through this machine
    block_size: tuple[int, int] | None  #: smallest and largest block planned, in bytes
    concurrency: int  #: requests in flight
    round_trip_ns: int | None  #: measured with the listing; ``None`` for local stores
    problems: tuple[Failure, ...]  #: names that cannot be copied, with reasons
    estimates: tuple[tuple[int, int], ...]  #: (bits per second, nanoseconds needed at that rate)

    _nested: ClassVar[Mapping[str, type[_Record]]] = {"problems": Failure}

    def __repr__(self) -> str:
        from haulage.display import plan_line

        return f"<PlanReport: {plan_line(self)}>"

    def _repr_html_(self) -> str:
        from haulage.display import plan_table

        return plan_table(self)


@dataclass(frozen=True, slots=True)
class ObjectMeta(_Record):
    """The metadata of an object."""

    key: str  #: name within the container, with ``/`` between folders; ends in ``/`` for a folded prefix
    size_bytes: int  #: its size
    etag: str  #: its ETag, which changes whenever the content does
    modified_ns: int  #: last change at this store, since 1970 (UTC)
    source_modified_ns: int | None  #: last change of the file it was copied from, since 1970 (UTC)
    crc64: str | None  #: CRC-64/NVME of the whole object as stored with it, hexadecimal
    md5: str | None  #: MD5 of the whole object as stored with it
    content_type: str | None  #: media type
    url: str  #: its URL, which other calls accept, without a signature

    @property
    def modified(self) -> datetime:
        """Last change at this store; 1970 for a folded prefix."""
        return _time(self.modified_ns)

    @property
    def source_modified(self) -> datetime | None:
        """Last change of the file it was copied from."""
        return None if self.source_modified_ns is None else _time(self.source_modified_ns)


@dataclass(frozen=True, slots=True)
class Written(_Record):
    """An object that :func:`haulage.put` or a file from :func:`haulage.open` has written."""

    object: str  #: its name, without secrets
    size_bytes: int  #: its size
    etag: str  #: its ETag
    crc64: str  #: CRC-64/NVME of the whole object, hexadecimal
    md5: str | None  #: MD5 of the whole object, if one is stored with it
    proof: Proof  #: what proves that the store holds these bytes


Event: TypeAlias = JobStarted | Attempt | ObjectEnded | Progress | Warned | Summary

#: The class of each kind of event, by the value of its ``event`` field.
BY_NAME: dict[str, type[Event]] = {
    "job_started": JobStarted,
    "attempt": Attempt,
    "object": ObjectEnded,
    "progress": Progress,
    "warning": Warned,
    "summary": Summary,
}


def parse(values: Mapping[str, Any]) -> Event:
    """Return the event for one parsed line of ``haul --json``.

    >>> parse({"event": "warning", "object": "a.nc", "message": "grew while it was read"})
    Warned(object='a.nc', message='grew while it was read')
    """
    return BY_NAME[values["event"]].from_dict(values)
