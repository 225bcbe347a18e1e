"""What a case is: what a service does, the command lines that meet it, and what must come of it."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hostile.service import Bend
from hostile.wire import Wait

if TYPE_CHECKING:
    from hostile.run import Ran

KIB = 1 << 10
#: In blocks of 64 KiB it is three ranges.
LARGE = b"".join(hashlib.sha256(bytes([n // 256, n % 256])).digest() for n in range(6 * KIB))
#: In parts of 5 MiB, the smallest that S3 takes, it is three.
HUGE = random.Random(5).randbytes(11 << 20)
TREE = {"a": b"the first of them", "b": b"and another one", "deep/c": b"one that lies deeper"}
#: Rows of a table by `table/number`, and what an import writes to it.
ROWS = tuple(
    {"PartitionKey": partition, "RowKey": str(row), "n": row, "text": f"row {row} of {partition}"}
    for partition in ("p", "q", "r")
    for row in range(3)
)
TABLE = {f"Rows/{n}": json.dumps(row).encode() for n, row in enumerate(ROWS)}
BLOBS = {f"data/tree/{name}": content for name, content in TREE.items()} | {
    "data/large": LARGE,
    "data/q/victim": b"not what was asked for",
}

#: What once went wrong because of a service, by its number in the report of it: each has a case.
SEEN = {
    4: "a file made of two versions",
    5: "names outside the prefix that was asked for were believed",
    6: "any well-formed document was an empty list",
    7: "bodies were read without bound, and markers that never advance were followed",
    8: "secrets that a service repeats were printed",
    12: "any status 2xx was a success, and a checksum that never came a proof",
    15: "a blob came down under the name of a leftover",
    17: "a checksum that cannot be read passed for a proof",
    20: "names that turn text round were printed as they are",
    21: "heads and bodies that hardly move were waited for without end",
    25: "an account was counted as empty, and could be removed",
    26: "a difference was read again and again",
}

#: What must hold besides for one case: yields what is wrong.
Check = Callable[["Ran"], Iterable[str]]


def nothing_more(_: Ran) -> Iterable[str]:
    """Ask for no more than what every case must show."""
    return ()


@dataclass(frozen=True)
class Line:
    """A command line that ends in another way than the others of its case."""

    text: str
    code: int | tuple[int, ...] = 0
    kind: str = ""


@dataclass(frozen=True)
class Case:
    """One way to be hostile."""

    name: str
    does: str  #: in words: what the service does
    lines: tuple[str | Line, ...]
    bends: Bend | tuple[Bend, ...] = ()
    code: int | tuple[int, ...] = 1
    kind: str = ""  #: of the failures; several, where more than one is right, with spaces between
    must: str = ""  #: in words: what must happen besides
    seen: int = 0  #: what once went wrong so, by its number in `SEEN`
    check: Check = nothing_more
    # How the service is:
    scheme: str = "az"  #: of the names that it understands
    blobs: Mapping[str, bytes] = field(default_factory=lambda: BLOBS)
    page_size: int = 5000
    tls: str = ""  #: how it does TLS: a name of `hostile.tls`
    sip: Wait | None = None  #: it reads bodies so slowly
    # How the command is run:
    credentials: tuple[str, ...] = ("key",)
    json: bool = True
    options: str = ""  #: more of them, for every line
    slow: bool = False  #: waits more than it works, so it runs beside the others
    every_family: bool = False  #: each family of lines has to meet it
    costly: bool = False  #: takes seconds of a processor, and another case shows nearly the same for less
    large: bool = False  #: its service alone works for seconds, and longer where something runs beside it
    # What must come of it:
    deletes: bool = False  #: whether it may delete what the line names although it fails
    proof: str = ""  #: of what was copied
    tries: int = 0  #: the most that one request is sent; 0 for as often as its kind allows

    @property
    def bending(self) -> tuple[Bend, ...]:
        """All its bends."""
        return self.bends if isinstance(self.bends, tuple) else (self.bends,)

    @property
    def all_lines(self) -> tuple[Line, ...]:
        """All its lines, each with how it must end."""
        return tuple(
            line if isinstance(line, Line) else Line(line, self.code, self.kind) for line in self.lines
        )

    @property
    def runs(self) -> list[tuple[str, Line]]:
        """All its lines with each of its credentials."""
        return [(credential, line) for credential in self.credentials for line in self.all_lines]

    @property
    def within(self) -> float:
        """Seconds in which each line must have ended."""
        return 120 if self.slow or self.large else 10

    @property
    def tries_allowed(self) -> int:
        """How often the same request may be sent; 0 for no bound."""
        lasting = {"protocol", "stalled"}
        return self.tries or (3 if self.kind and set(self.kind.split()) <= lasting else 0)


def codes(wanted: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return the exit codes that are right."""
    return wanted if isinstance(wanted, tuple) else (wanted,)
