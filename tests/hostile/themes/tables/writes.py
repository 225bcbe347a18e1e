"""Transactions that are answered as no service answers them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from hostile.bends import body, cut, endless, first, on, status
from hostile.case import Case
from hostile.rows import changed, refusal
from hostile.run import DOWN, Ran
from hostile.service import Bend
from hostile.themes.lists import HTML
from hostile.themes.tables.common import IMPORT, case
from hostile.wire import RESET, Answer, Request


def _named(*numbers: int) -> Callable[[Ran], Iterable[str]]:
    """Yield what is wrong with the file of refused rows."""

    def check(ran: Ran) -> Iterable[str]:
        letters = ran.folder / DOWN / "rows.jsonl.New.refused.jsonl"
        told = [json.loads(line) for line in letters.read_text().splitlines()] if letters.exists() else []
        if sorted(letter["row"] for letter in told) != list(numbers):
            yield f"the refused rows are {told}, not {numbers}"
        if any(not letter["reason"] or "\x1b" in letter["reason"] for letter in told):
            yield f"a reason is missing, or moves the cursor: {told}"

    return check


def _refuses(row: str, message: str) -> Bend:
    """Refuse every transaction that has a row, and name it."""

    def bent(request: Request, answer: Answer) -> Answer:
        rows = [line for line in request.body.decode().splitlines() if line.startswith("PUT ")]
        at = next((at for at, line in enumerate(rows) if f"PartitionKey='q',RowKey='{row}'" in line), None)
        if at is None:
            return answer
        told = {"odata.error": {"code": "InvalidInput", "message": {"value": f"{at}:{message}"}}}
        return changed(f"400 Bad Request\r\n\r\n{json.dumps(told)}")

    return on("write", bent)


#: Three times for each of three partitions.
_TRIES = 9


_GIVEN: dict[str, Any] = {"lines": (IMPORT,), "must": "", "tries": _TRIES}


def _write(name: str, does: str, *bends: Bend, **more: Any) -> Case:
    return case(name, does, *bends, **(_GIVEN | more))


WRITES = (
    _write(
        "write-html", "A transaction that is answered by a web page", on("write", body(HTML, "text/html"))
    ),
    _write("write-status-200", "A transaction that is answered with 200", on("write", status(200))),
    _write(
        "write-few",
        "A transaction with fewer answers than rows",
        on("write", lambda *_: changed("204 No Content")),
    ),
    _write(
        "write-many",
        "A transaction with more answers than rows",
        on("write", lambda *_: changed(*["204 No Content"] * 50)),
    ),
    _write("write-nothing", "A transaction without any answer", on("write", lambda *_: changed())),
    _write(
        "write-odd",
        "A transaction whose statuses are no numbers",
        on("write", lambda *_: changed(*["ok"] * 3)),
    ),
    _write(
        "write-beyond",
        "A refused transaction that names a row it does not have",
        on(
            "write",
            lambda *_: changed(
                '400 Bad\r\n\r\n{"odata.error":{"code":"InvalidInput","message":{"value":"99:No."}}}'
            ),
        ),
        code=1,
        tries=15,
        kind="",
        must="every row is tried by itself and named",
        check=_named(*range(9)),
    ),
    _write(
        "write-refused",
        "A refused row, named with control characters in the reason",
        _refuses("1", "\x1b[2J No\u202e."),
        code=1,
        kind="",
        must="it is named in the file of refused rows; the others are written",
        check=_named(4),
    ),
    _write(
        "write-lost",
        "Rows are written, and the first two answers are lost",
        on("write", first(2, cut(RESET))),
        code=0,
        kind="",
        must="they are written again, and are there once",
        slow=True,
    ),
    _write(
        "write-cut",
        "Every answer is lost",
        on("write", cut(RESET)),
        kind="connection",
        tries=30,
        must="it is said that it failed",
        slow=True,
    ),
    _write(
        "write-endless",
        "An answer that never ends",
        on("write", endless(b"--batchresponse_1\r\n", b"HTTP/1.1 204 No Content\r\n")),
        must="no more than 4 MiB of it are read",
    ),
    _write(
        "create-html",
        "A table that is made by a web page",
        on("make-table", body(HTML, "text/html"), status(200)),
    ),
    _write(
        "create-exists",
        "A table that is there already",
        on("make-table", lambda *_: refusal(409, "TableAlreadyExists")),
        lines=(IMPORT.replace("New", "Rows"),),
        code=0,
        kind="",
    ),
)
