"""An explanation as plain values, for ``haul why --json``."""

from __future__ import annotations

from typing import Any

from haulage.causes.vocabulary import EARLIER
from haulage.lab.why.asking import Rows
from haulage.lab.why.experiment import experiment, unknown
from haulage.lab.why.explaining import Explanation, Part
from haulage.lab.why.plain import shown
from haulage.lab.why.record import Failure
from haulage.lab.why.words import paragraph, title


def as_dict(found: Explanation) -> dict[str, Any]:
    """Return what was found, as values that JSON has; names without secrets, units in the keys."""
    settle = experiment(found)
    facts = found.facts
    return {
        "record": shown(found.name, 4096),
        "title": title(found.whole, found.phases),
        "text": paragraph(found),
        **_part(found.whole),
        "options": None if found.job is None else list(found.job.options),
        "direction": facts.direction,
        "objects": facts.objects,
        "attempts": facts.attempts,
        "failed": facts.not_ok,
        "failure": None if found.failure is None else _failure(found.failure),
        "refused": facts.refused,
        "connections": facts.connections,
        "phases": [_part(part) for part in found.phases],
        "experiment": None if settle is None else {"command": settle.command, "outcome": settle.outcome},
        "signs": [{"bearing": one.bearing, "about": one.about, "text": one.text} for one in found.signs],
        "openings": {
            "opened": found.openings.opened,
            "took_ns": found.openings.took_ns,
            "names_ns": found.openings.names_ns,
            "proxy_ns": found.openings.proxy_ns,
            "tls_ns": found.openings.tls_ns,
            "share_of_lanes": round(found.openings.share, 4),
        },
        "remotes": [
            {
                "remote": shown(one.address, 60),
                "direction": "down" if one.is_down else "up",
                "requests": one.requests,
                "usual_bits_per_second": round(one.usual),
            }
            for one in found.remotes
        ],
        "lost": _rows(found.lost),
        "slowest_objects": _rows(found.objects),
        "slowest_requests": _rows(found.slowest),
        "unknown": unknown(found),
        "rows_left_out": found.left_out,
        "lines_left_out": found.unread,
    }


def _part(part: Part) -> dict[str, Any]:
    evidence = part.evidence
    return {
        "cause": _code(part.cause.cause),
        "status": part.cause.status,
        "rivals": [_code(name) for name in part.cause.rivals],
        "shares_in_flight": {_code(name): round(share, 4) for name, share in part.cause.parts.items()},
        "began_ns": part.window.began_ns,
        "ended_ns": part.window.ended_ns,
        "wall_ns": part.window.wall_ns,
        "lanes": evidence.lanes,
        "mean_in_flight": round(evidence.in_flight, 3),
        "requests": evidence.requests,
        "bytes": evidence.bytes,
        "rate_bits_per_second": round(evidence.rate_bits_per_second),
        "quickest_answer_ns": evidence.answer_ns,
        "usual_request_ns": evidence.took_ns,
        "ledger_ns": part.ledger,
    }


def _code(cause: str) -> str:
    return EARLIER.get(cause, cause)


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "kind": failure.kind,
        "operation": failure.operation,
        "object": shown(failure.object, 4096),
        "cause": shown(failure.cause, 4096),
        "hint": None if failure.hint is None else shown(failure.hint, 4096),
        "exit_code": failure.exit_code,
    }


def _rows(rows: Rows) -> Rows:
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return shown(value, 4096)
    if value is None:
        return None
    number = float(value)
    return int(number) if number.is_integer() else number
