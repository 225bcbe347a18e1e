"""What must hold after every run, whatever the service did: each function yields what is wrong."""

from __future__ import annotations

import json
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow
from pyarrow import parquet

from hostile.case import codes
from hostile.credentials import secrets_of
from hostile.objects import named_in
from hostile.run import OUT, Ran, contents

MEMORY_MIB = 256
TRACES = ("Traceback", "panicked at", "RUST_BACKTRACE", "stack overflow", "memory allocation of")
CHECKED = "every byte checked"
#: Categories of Unicode: control, format (it turns text round or has no width), half a character, line and
#: paragraph.
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def faults(ran: Ran) -> list[str]:
    """Return all that is wrong with a run."""
    if unreadable := list(_lines_of_json(ran)):
        return unreadable
    found = [fault for judge in JUDGES for fault in judge(ran)]
    return [*found, *ran.case.check(ran)]


def _lines_of_json(ran: Ran) -> Iterator[str]:
    for line in ran.stdout.splitlines() if ran.talks_json else ():
        try:
            json.loads(line)
        except ValueError:
            yield f"this is no line of JSON: {line[:200]!r}"


def ends_as_it_should(ran: Ran) -> Iterator[str]:
    """In time, with the right exit code, within the memory, and without falling over."""
    if ran.seconds >= ran.case.within:
        yield f"it did not end within {ran.case.within:g} s"
    elif ran.code not in codes(ran.line.code):
        yield f"it ended with {ran.code}, not {' or '.join(map(str, codes(ran.line.code)))}"
    if ran.peak_mib >= MEMORY_MIB:
        yield f"it took {ran.peak_mib:.0f} MiB of memory"
    said = ran.stderr + ran.stdout[:1_000_000].decode(errors="replace")
    yield from (f"it fell over: {trace}" for trace in TRACES if trace in said)


def names_the_failure(ran: Ran) -> Iterator[str]:
    """The kind is the right one, and there is advice."""
    if not ran.talks_json or ran.code < 0:
        return
    kinds, wanted = {failure["kind"] for failure in ran.failures}, set(ran.line.kind.split())
    if wanted and not kinds and ran.code != 0:
        yield f"no failure is told, and one of kind {ran.line.kind} should be"
    if wanted and kinds - wanted:
        yield f"the failure is of kind {' and '.join(sorted(kinds))}, not {' or '.join(sorted(wanted))}"
    if ran.code == 0 and kinds:
        yield f"it tells of failures of kind {' and '.join(sorted(kinds))}"
    for failure in ran.failures:
        if not failure.get("hint") and failure["kind"] != "cancelled":
            yield f"no hint with: {failure}"


def tries_no_more_than_it_should(ran: Ran) -> Iterator[str]:
    """An answer that will be the same again is not asked for again and again."""
    sent = Counter(request.identity for request in ran.requests)
    # A request that lags may be sent a second time beside the first, which is no retry.
    allowed = ran.case.tries_allowed + ran.summary.get("duplicates", 0)
    if ran.case.tries_allowed and sent and max(sent.values()) > allowed:
        identity, times = sent.most_common(1)[0]
        yield f"it sent {' '.join(identity[:2])} {times} times, not {allowed} at most"


def shows_nothing_odd_to_people(ran: Ran) -> Iterator[str]:
    """No character that a terminal obeys, or that nobody sees, reaches it."""
    listed = b"" if ran.case.json or ran.verb == "cat" else ran.stdout
    shown = ran.stderr + listed.decode(errors="replace")
    odd = {c for c in set(shown) if c != "\n" and unicodedata.category(c) in UNSEEN}
    if odd:
        yield f"people are shown {', '.join(f'U+{ord(c):04X}' for c in sorted(odd))}"


def tells_no_secret(ran: Ran) -> Iterator[str]:
    """Nothing that was printed, recorded or received holds a secret in any form."""
    places = {"standard output": ran.stdout, "standard error": ran.stderr.encode(errors="surrogateescape")}
    places |= {path.name: _text_of(path) for path in (ran.folder / OUT).iterdir()}
    for secret in secrets_of(ran.credential, ran.requests[:200]):
        # The beginning of a long one is enough: a text may have been cut.
        forms = [form if len(form) < 64 else form[:48] for form in secret.forms]
        for place, text in places.items():
            if told := [form for form in forms if form.encode() in text]:
                yield f"{place} tells a secret: {told[0]}"
                break


def _text_of(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix != ".parquet":
        return data
    try:
        columns = parquet.read_table(path).columns
    except pyarrow.ArrowException:
        # Of a run that was stopped: its rows were never finished.
        return data
    return data + "\n".join(str(value) for column in columns for value in column.to_pylist()).encode()


def writes_only_where_it_was_told(ran: Ran) -> Iterator[str]:
    """Nothing outside the destination has changed."""
    now = contents(ran.folder)
    changed = [
        name for name in now.keys() | ran.before.keys() if now.get(name, b"") != ran.before.get(name, b"")
    ]
    if changed:
        yield f"it wrote outside the destination: {sorted(changed)[:5]}"


def leaves_only_whole_files(ran: Ran) -> Iterator[str]:
    """A file at the destination is the whole blob; after a success all of them are there."""
    if ran.verb != "cp" or "down" not in ran.line.text:
        return
    words = shlex.split(ran.line.text)
    container, _, prefix = words[1].removeprefix(f"{ran.case.scheme}://").partition("/")
    folder = prefix if prefix.endswith("/") or not prefix else prefix.rpartition("/")[0] + "/"
    there = ran.service.blobs.containers.get(container, {})
    asked = {key: blob.content for key, blob in there.items() if key.startswith(prefix)}
    wanted = {key.removeprefix(folder): content for key, content in asked.items()}
    found = ran.down
    wrong = [name for name in found if found[name] != wanted.get(name)]
    if wrong:
        yield f"these are not the blobs as they are: {wrong[:5]}"
    if ran.code == 0 and wanted.keys() - found.keys():
        yield f"it ended with 0, and these are missing: {sorted(wanted.keys() - found.keys())[:5]}"


def changes_only_what_was_named(ran: Ran) -> Iterator[str]:
    """Nothing is deleted or written that the line does not name, and nobody else is talked to."""
    words = shlex.split(ran.line.text)
    world = f"{ran.case.scheme}://"
    named = [word.removeprefix(world) for word in words if word.startswith(world)]
    removes = ran.verb in ("rm", "rb", "clean")
    # A copy that is not what it should be is removed again.
    made = {request.key for request in ran.service.asked("copy")}
    removals = [(request, request.key) for request in ran.service.asked("delete") if request.key not in made]
    removals += [(request, request.key) for request in ran.service.asked("remove")]
    for request in ran.service.asked("delete-many"):
        removals += [(request, key) for key in named_in(request.body)]
    for request in ran.service.asked("abort"):
        # What is begun and cannot be finished is removed again.
        removals += [(request, request.key)] if ran.verb != "cp" else []
    for request, key in removals:
        place = f"{request.container}/{key}"
        if not removes or not any(place.startswith(name) for name in named):
            yield f"it sent {request.method} for {place!r}"
        elif ran.code != 0 and not ran.case.deletes:
            yield f"it sent {request.method} for {place!r}, though it could not know what is there"
    for request in ran.service.asked("put", "put-block", "commit", "begin", "copy", "copy-part"):
        place = f"{request.container}/{request.key}"
        if ran.verb not in ("cp", "clean") or not place.startswith(named[-1]):
            yield f"it sent {request.method} for {place!r}"
    if odd := ran.service.asked("unknown"):
        yield f"it sent a request that no service knows: {odd[0].method} {odd[0].target[:100]}"
    if ran.elsewhere.connections:
        yield "it went to another host"


def signs_nothing_unasked(ran: Ran) -> Iterator[str]:
    """Who asks without a signature sends none, whatever keys there are."""
    if ran.credential == "unsigned" and any("authorization" in request.headers for request in ran.requests):
        yield "it sent a signature, and was told not to"


def proves_what_it_says(ran: Ran) -> Iterator[str]:
    """The proof of what was copied is what was compared, and no more is claimed."""
    if not ran.case.proof or not ran.talks_json:
        return
    copied = ran.objects("copied")
    if not copied:
        yield "nothing was copied"
    for told in copied:
        if told["proof"] != ran.case.proof:
            yield f"the proof of {told['name']!r} is {told['proof']}, not {ran.case.proof}"
    if ran.summary.get("proofs", {}).get(ran.case.proof) != len(copied):
        yield f"the summary does not count {len(copied)} as {ran.case.proof}: {ran.summary.get('proofs')}"
    if ran.case.proof != "crc64" and CHECKED in ran.stderr:
        yield f"it says: {CHECKED}"


JUDGES = (
    ends_as_it_should,
    names_the_failure,
    tries_no_more_than_it_should,
    shows_nothing_odd_to_people,
    tells_no_secret,
    writes_only_where_it_was_told,
    leaves_only_whole_files,
    changes_only_what_was_named,
    signs_nothing_unasked,
    proves_what_it_says,
)
