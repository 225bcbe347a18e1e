"""Rights on a target, proven by what the service does; and its checksums and rate."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

from haulage.doctor.finding import Finding, Level, by_error
from haulage.doctor.network import Ask, no_crc64
from haulage.errors import BY_CODE, HaulageError, StalledError, TransientError
from haulage.places import without_signature
from haulage.words.numbers import counted, format_rate

#: What the tiny object holds.
CONTENT = "written by haul doctor, which removes it at once\n"


def _error(shown: dict[str, Any]) -> HaulageError:
    words = dict(shown)
    return BY_CODE[words.pop("code")](**words)


def tiny_name() -> str:
    """Return a name that nobody else uses: 64 random bits stand in it."""
    return f".haul-doctor-{secrets.token_hex(8)}"


def examine_reading(ask: Ask, url: str, key: str, options: dict[str, Any], writes: bool) -> Iterator[Finding]:
    """Yield whether the target can be listed and read; ``writes``: it need not be listed."""
    answer = ask("look", url=url, key=key, options=options)
    found = answer.value or (answer.partial[-1] if answer.partial else None)
    if found is None and answer.hung and answer.error is not None:
        text = f"listing {without_signature(url)}: {answer.error.cause}"
        yield Finding("rights.list", "fault", text, "try again with --timeout 30s", "stalled")
        return
    if found is None:
        yield (
            by_error("rights.list", answer.error)
            if answer.error
            else Finding("rights.list", "note", "nothing")
        )
        return
    yield from _listed(found, writes)
    if "stat_error" in found and "list_error" in found:
        yield by_error("rights.read", _error(found["stat_error"]))
    if "read_error" in found:
        yield by_error("rights.read", _error(found["read_error"]))
    elif answer.failing and answer.error is not None:
        yield by_error("rights.read", answer.error)
    elif isinstance(answer.error, StalledError) and found.get("listed"):
        text = "reading took too long; allow more time with --timeout"
        yield Finding("rights.read", "warning", text, "try again with --timeout 30s")
    elif found["object"] is not None and "read_s" in found:
        yield Finding("rights.read", "ok", "read part of an object", values={"bytes": found["read_bytes"]})
        yield from rate("path.read-rate", "reading over one connection", found["read_bytes"], found["read_s"])
    elif found["object"] is None and found["listed"] is not None and "stat_error" not in found:
        yield Finding("rights.read", "note", "reading was not tested: there is nothing to read")


def _listed(found: dict[str, Any], writes: bool) -> Iterator[Finding]:
    if "list_error" not in found:
        if found["listed"] is not None:
            more = "at least " if found["listed"] >= 1000 else ""
            text = f"listed: {more}{counted(found['listed'], 'object')}"
            yield Finding("rights.list", "ok", text, values={"objects": found["listed"]})
        return
    error = _error(found["list_error"])
    if found.get("missing") and writes:
        text = "no object has this name or prefix yet"
        yield Finding("rights.list", "note", text, values={"objects": 0})
        return
    # One object can be copied by who may not list, and a folder can be written.
    milder: Level = "warning" if error.code == "permission" and (found["object"] or writes) else "fault"
    yield by_error("rights.list", error, milder)


def rate(check: str, what: str, size: int, seconds: float) -> Iterator[Finding]:
    """Yield a rate, where enough moved to tell one."""
    if size >= 64 << 10 and seconds > 0:
        values = {"bits_per_second": 8 * size / seconds, "bytes": size}
        text = f"{what}: {format_rate(8 * size / seconds)}"
        yield Finding(check, "ok", text, values=values)


def examine_writing(ask: Ask, url: str, key: str, options: dict[str, Any]) -> Iterator[Finding]:
    """Yield whether a tiny object could be written, read and removed again."""
    name = tiny_name()
    answer = ask("write", url=url, key=key, name=name, data=CONTENT, options=options)
    told = answer.value or (answer.partial[-1] if answer.partial else None)
    if told is None:
        yield (
            by_error("rights.write", answer.error)
            if answer.error
            else Finding("rights.write", "note", "nothing")
        )
        if answer.late:
            yield _left(name)
        return
    yield from _written(told)
    if told.get("object") is None:
        return
    if "read_error" in told:
        yield by_error("rights.read", _error(told["read_error"]))
    elif told.get("read_back") is False:
        text = "the data read back differ from the data written"
        hint = "do not use this service until its owner has found the cause"
        yield Finding("rights.read", "fault", text, hint, "integrity")
    elif told.get("read_back"):
        yield Finding("rights.read", "ok", "read back what was written")
    if answer.error is not None:
        yield _under_way(told, answer.error)
    if "remove_error" in told:
        yield by_error("rights.delete", _error(told["remove_error"]))
    elif answer.error is None:
        yield Finding("rights.delete", "ok", "removed it again")
    if told["left"]:
        yield _left(told["object"])
    if "rate_s" in told:
        yield from rate("path.write-rate", "writing over one connection", told["rate_bytes"], told["rate_s"])


def _under_way(told: dict[str, Any], error: HaulageError) -> Finding:
    """Return what ended the examination, as a finding of the step that it was at."""
    if "read_back" not in told and "read_error" not in told:
        return by_error("rights.read", error)
    if "rate_s" not in told and "rate_error" not in told:
        return by_error("path.write-rate", error, "fault" if error.code == "integrity" else "warning")
    return by_error("rights.delete", error)


def _left(name: str) -> Finding:
    hint = "remove it with haul rm, with credentials that can delete"
    return Finding(
        "rights.left", "warning", f"this object may still exist: {name}", hint, values={"object": name}
    )


def _written(told: dict[str, Any]) -> Iterator[Finding]:
    crc64, md5 = told.get("crc64_error"), told.get("md5_error")
    if told.get("object") is None:
        yield by_error("rights.write", _error(told.get("crc64_error") or told["md5_error"]))
        return
    yield Finding("rights.write", "ok", "wrote a small object", values={"object": told["object"]})
    stored = told.get("stored") or {}
    if crc64 is not None:
        # It took the same bytes with an MD5; what passes by itself says nothing of checksums.
        error = _error(crc64)
        transient = isinstance(error, TransientError) and error.code != "service"
        yield by_error("rights.write", error, "warning") if transient else no_crc64()
        return
    proof = {name: told[name]["proof"] for name in ("crc64", "md5") if name in told}
    taken = [name.upper() for name in ("crc64", "md5") if name in told]
    keeps = [name.upper() for name in ("crc64", "md5") if stored.get(name)]
    text = f"takes {' and '.join(taken)}" + (f", keeps {' and '.join(keeps)}" if keeps else "")
    values = {"crc64": True, "md5": md5 is None, "proof": proof}
    yield Finding("checksums.taken", "ok", text, values=values)
