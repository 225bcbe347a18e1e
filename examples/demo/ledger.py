"""Where the time of a recorded job went: the lost-time ledger, from the raw rows by SQL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

HERE = Path(__file__).parent

#: The parts of lanes x wall, in the order in which a request passes through them, and their meaning.
PARTS = {
    "start": "listing",
    "disk": "reading the disk",
    "connect": "connecting",
    "send": "sending",
    "wait": "waiting for answers",
    "receive": "receiving",
    "finish": "writing the disk",
    "failed": "attempts that failed",
    "idle": "idle",
    "tail": "idle at the end",
}


@dataclass(frozen=True)
class Ledger:
    """Lanes x wall time of one job, split without remainder.

    ``parts`` maps each name of :data:`PARTS` to nanoseconds summed over all lanes; they add up to
    ``lanes * wall_ns`` exactly. ``wall_ns`` is the job's own time, from its start to its last answer.
    """

    lanes: int
    wall_ns: int
    answer_ns: int  #: the quickest answer seen: what waiting alone costs
    payload_bytes: int
    attempts: int
    connections: int
    last_object: str  #: the object that ended last
    last_slot_ns: int  #: when the last request was begun
    parts: dict[str, int]

    def share(self, *names: str) -> float:
        """Return the share of lanes x wall that these parts took, 0 to 1."""
        return sum(self.parts[name] for name in names) / (self.lanes * self.wall_ns)

    @property
    def moving(self) -> str:
        """The part in which payload travels: ``send`` or ``receive``."""
        return max(("send", "receive"), key=lambda name: self.parts[name])

    @property
    def lane_bits_per_second(self) -> float:
        """Payload rate of one lane while its bytes travel."""
        return self.payload_bytes * 8e9 / max(1, self.parts[self.moving])


@dataclass(frozen=True)
class Step:
    """The mean payload rate over one stretch of a job."""

    begin_s: float
    end_s: float
    mbit_per_s: float


def read_ledger(record: Path) -> Ledger:
    """Return the ledger of the job whose attempts are in ``record``.

    Raises:
        AssertionError: The parts do not add up, so the record or the query is wrong.
    """
    query = (HERE / "ledger.sql").read_text()
    answer = duckdb.execute(query, {"record": str(record)})
    names = [column[0] for column in answer.description or []]
    row = answer.fetchone()
    assert row is not None, "an aggregate always has a row"
    assert row[0] is not None, f"{record} holds no requests"
    values = dict(zip(names, row, strict=True))
    parts = {name: int(values.pop(name)) for name in PARTS}
    ledger = Ledger(parts=parts, **values)
    assert sum(parts.values()) == ledger.lanes * ledger.wall_ns, "the ledger does not add up"
    assert min(parts.values()) >= 0, f"negative time in {parts}"
    return ledger


def read_throughput(record: Path, bins: int = 40) -> list[Step]:
    """Return the payload rate over time in ``bins`` equal steps of the job's wall time."""
    query = (HERE / "throughput.sql").read_text()
    rows = duckdb.execute(query, {"record": str(record), "bins": bins}).fetchall()
    return [Step(*map(float, row)) for row in rows]
