"""Asks a record the lab's own questions: the same SQL files, run over views in place of a run's files.

To those queries the job is cell 0; where its rate changed midway, each phase is a further cell, whose
attempts are cut at its borders, so that the ledger of each is as exact as that of the whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from haulage.errors import IntegrityError
from haulage.lab.analysis import ledger as books
from haulage.lab.analysis.query import Query, queries, queries_in
from haulage.lab.store import CELL_COLUMNS
from haulage.lab.why.command import Job
from haulage.lab.why.record import Record

#: Requests that carry payload up and down, by the service's names.
UP = ("PutBlob", "PutBlock", "UploadPart", "PutObject")
DOWN = ("GetBlob", "GetObject")
#: Those that ask for a page of a list.
LISTS = ("ListBlobs", "ListObjectsV2", "ListContainers", "ListBuckets")
_EMPTY = ("Begin", "GetBlobProperties", "PutBlockList", "HeadObject", "CompleteMultipartUpload")
_STAMPS = ("ready_ns", "connected_ns", "sent_ns", "first_byte_ns", "last_byte_ns", "committed_ns", "ended_ns")


#: Of a table: by column, and ``None`` where there is nothing.
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Window:
    """A stretch of the job.

    Attributes:
        began_ns: Since the job began.
        ended_ns: The same.
    """

    began_ns: int
    ended_ns: int

    @property
    def wall_ns(self) -> int:
        """Its length."""
        return self.ended_ns - self.began_ns


@dataclass(frozen=True)
class Facts:
    """What counting alone tells.

    Attributes:
        wall_ns: From the start of the job to its end; to the last attempt where the record holds no end.
        direction: Where most bytes went: ``"up"``, ``"down"``, or ``"none"``.
        both_ways: Whether bytes went both ways.
        from_service: Whether what went up was read from a service, and from no disk.
        attempts: Rows.
        requests: Of these, the ones that went over the wire.
        payload: Of these, with payload and ended well.
        bytes: Payload that arrived, by request.
        objects: That an attempt names.
        lanes: Highest number in flight.
        connections: Used; ``None`` where the record has no such column.
        opened: Attempts over a connection made for them.
        first_slot_ns: When the first request could begin.
        last_end_ns: When the last attempt ended.
        not_ok: Attempts that did not end well, those cancelled because another was quicker not counted.
        refused: Of these, refused by the service.
        hosts: Remote addresses, at most four; those of proxies are said to be.
        nodes: That moved objects, where a cluster did it; 0 where this machine did.
        lists: Requests for pages of lists.
        asked_ns: Of the time before the first request of an object, from the first page of a list, or look
            at what there is, to the last.
    """

    wall_ns: int
    direction: str
    both_ways: bool
    from_service: bool
    attempts: int
    requests: int
    payload: int
    bytes: int
    objects: int
    lanes: int
    connections: int | None
    opened: int
    first_slot_ns: int
    last_end_ns: int
    not_ok: int
    refused: int
    hosts: tuple[str, ...]
    nodes: int = 0
    lists: int = 0
    asked_ns: int = 0


def count(record: Record) -> Facts:
    """Count what is in a record."""
    up, down = (", ".join(f"'{api}'" for api in names) for names in (UP, DOWN))
    row = record.one(f"""
        select count(*), count(*) filter (connected_ns is not null),
            count(*) filter (fate = 'ok' and size_bytes > 0 and api in ({up}, {down})),
            coalesce(sum(size_bytes) filter (fate = 'ok' and api in ({up})), 0)::bigint,
            coalesce(sum(size_bytes) filter (fate = 'ok' and api in ({down})), 0)::bigint,
            count(distinct coalesce(object_id::varchar, object)), coalesce(max(lane), -1) + 1,
            count(distinct connection) filter (connection > 0),
            count(*) filter (connection > 0 and connection_reused = false),
            coalesce(min(slot_ns), 0), coalesce(max(ended_ns), 0),
            count(*) filter (fate not in ('ok', 'cancelled')), count(*) filter (fate = 'busy'),
            count(*) filter (api in ({up}) and regexp_matches(object, '^(az|s3|https?)://'))
                >= greatest(1, count(*) filter (api in ({up})) / 2)
        from record""")
    (
        attempts,
        requests,
        payload,
        sent,
        received,
        objects,
        lanes,
        connections,
        opened,
        first,
        last,
        failed,
        refused,
        from_service,
    ) = row
    hosts = record.database.execute(
        "select distinct remote || case when proxied then ' (a proxy)' else '' end"
        " from record where remote is not null order by 1 limit 4"
    ).fetchall()
    elapsed = (record.summary or {}).get("elapsed_ns") or 0
    asked_ns = f"greatest(0, coalesce(max(least(ended_ns, {int(first)})) - min(slot_ns), 0))"
    return Facts(
        wall_ns=max(int(last), int(elapsed)),
        direction="none" if sent + received == 0 else "up" if sent >= received else "down",
        both_ways=min(sent, received) > 0,
        from_service=bool(from_service) and sent >= received,
        attempts=attempts,
        requests=requests,
        payload=payload,
        bytes=int(max(sent, received)),
        objects=objects,
        lanes=int(lanes),
        connections=connections if "connection" in record.columns else None,
        opened=opened,
        first_slot_ns=int(first),
        last_end_ns=int(last),
        not_ok=failed,
        refused=refused,
        hosts=tuple(str(host) for (host,) in hosts),
        nodes=_nodes(record),
        lists=int(record.one(f"select count(*) from asked where api in {LISTS}")[0]),
        asked_ns=int(record.one(f"select {asked_ns} from asked")[0]),
    )


def _nodes(record: Record) -> int:
    """Return how many nodes of a cluster moved objects; 0 if one machine listed and moved all of them."""
    moved, asked = (
        {
            str(name)
            for (name,) in record.database.execute(f"select distinct node from {view}").fetchall()
            if name
        }
        for view in ("record", "asked")
    )
    # One machine writes its own name on every row. The coordinator of a cluster lists; its nodes have others.
    return len(moved) if len(moved) > 1 or (moved and asked and not moved & asked) else 0


class Asked:
    """The answers to queries about one record, each asked once."""

    def __init__(self, record: Record, facts: Facts, windows: tuple[Window, ...] = ()) -> None:
        self._database = record.database
        self._name = record.name
        self._rows: dict[str, Rows] = {}
        for name in _all():
            self._database.execute(f'drop table if exists "{name}"')
        whole = Window(0, max(facts.wall_ns, 1))
        self._windows = [whole, *windows]
        self.job = record.job
        self._set_up(self._windows, facts)

    def __call__(self, name: str) -> Rows:
        """Return the rows of a query.

        Raises:
            IntegrityError: The ledger does not close: attempts overlap within a lane.
        """
        if name not in self._rows:
            query = _all()[name]
            for before in query.after:
                self(before)
            # A request that was cut at the border of a phase has no answer of its own.
            self._attempts(only_whole=name == "answers")
            self._database.execute(f'create or replace table "{name}" as {query.sql}')
            found = self._database.execute(f'from "{name}"')
            columns = [column[0] for column in found.description or ()]
            self._rows[name] = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
            if name == "ledger":
                self._check(self._rows[name])
        return self._rows[name]

    def _check(self, ledger: Rows) -> None:
        try:
            books.check(ledger)
        except IntegrityError as error:
            hint = "name the record of one job, as haul wrote it"
            raise IntegrityError(
                "read record", self._name, f"attempts overlap: {error.cause}", hint
            ) from None

    def _attempts(self, *, only_whole: bool) -> None:
        """Make the view of attempts: in phases cut at the borders, or without those that would be cut."""
        # Null stays null: least and greatest would leave it out.
        stamps = ", ".join(
            f"case when {name} is not null then least(greatest({name}, b), e) - b end as {name}"
            for name in _STAMPS
        )
        within = "slot_ns >= b and ended_ns <= e" if only_whole else "slot_ns < e and ended_ns > b"
        spans = ", ".join(f"({n}, {w.began_ns}, {w.ended_ns})" for n, w in enumerate(self._windows))
        # What a request moved within a window is as much of it as of its time with a connection.
        self._database.execute(f"""
            create or replace view "attempts.parquet" as
            with windows (cell, b, e) as (values {spans}),
            pieces as (
                select *, coalesce(connected_ns, slot_ns) as f,
                    greatest(coalesce(last_byte_ns, ended_ns), f + 1) as l
                from record join windows on cell = 0 or {within}
            )
            select * exclude (b, e, f, l, size_bytes, slot_ns, queued_ns, {", ".join(_STAMPS)}),
                case when queued_ns is not null then least(queued_ns, e) - b end as queued_ns,
                case when cell = 0 then size_bytes
                    else (size_bytes * greatest(least(l, e) - greatest(f, b), 0) / (l - f))::bigint
                    end as size_bytes,
                least(greatest(slot_ns, b), e) - b as slot_ns, {stamps}
            from pieces""")

    def _factors(self) -> dict[str, Any]:
        """Return what the job was told that the ledger asks for."""
        job = self.job or Job()
        cap = job.told.cap_bits_per_second
        return {"checksum": job.value("--checksum") or "crc64"} | (
            {"cap_bits_per_second": cap} if cap else {}
        )

    def _moved(self, window: Window, facts: Facts) -> float:
        """Return the bytes of both directions, had requests been in flight for all of a window.

        A cap bounds those; before the first request, nodes may start.
        """
        began, ended = max(window.began_ns, facts.first_slot_ns), min(window.ended_ns, facts.last_end_ns)
        row = self._database.execute(
            "select sum(size_bytes::double * greatest(0, least(ended_ns, $e) - greatest(slot_ns, $b))"
            " / greatest(ended_ns - slot_ns, 1)) from record where fate = 'ok' and api in $apis",
            {"b": began, "e": ended, "apis": [*UP, *DOWN]},
        ).fetchone()
        return (row[0] if row and row[0] else 0.0) * window.wall_ns / max(ended - began, 1)

    def _set_up(self, windows: list[Window], facts: Facts) -> None:
        """Make the table that stands where the cells of a run stand."""
        direction = "down" if facts.direction == "down" else "up"
        kinds = ", ".join(f'"{name}" {kind}' for name, kind in CELL_COLUMNS.items())
        self._database.execute(f'create or replace table "cells.parquet" ({kinds})')
        for number, window in enumerate(windows):
            (empty,) = self._database.execute(
                f"select count(*) from record where api in {_EMPTY} and fate = 'ok' and connection_reused"
                f" and connected_ns >= {window.began_ns} and ended_ns <= {window.ended_ns}"
            ).fetchall()[0]
            # A phase that has seen the path's own answer is judged by it; the others by the job's best.
            own = number > 0 and (direction == "down" or empty >= 3)
            factors = json.dumps(self._factors() | ({"node": f"{number}"} if own else {}))
            self._database.execute(
                'insert into "cells.parquet" by name select ? as cell, ? as replicate, ? as treatment,'
                " 'job' as method, ? as direction, ? as factors, false as warmup, ?::ubigint as wall_ns,"
                " ?::ubigint as bytes, ?::ubigint as wire_bytes, 'ok' as outcome, true as recorded,"
                " 0 as monotonic_offset_ns, ?::integer as files",
                [
                    number,
                    number,
                    "job" if number == 0 else f"phase {number}",
                    direction,
                    factors,
                    window.wall_ns,
                    facts.bytes,
                    round(self._moved(window, facts)),
                    min(facts.objects, 2**31 - 1),
                ],
            )


@cache
def _all() -> dict[str, Query]:
    return queries() | queries_in(resources.files("haulage.lab.why") / "queries")


def query_of(name: str) -> Query:
    """Return the query behind a table."""
    return _all()[name]
