"""Blobs whose names are traps: the list and the contents are honest, as a service would give them."""

from __future__ import annotations

from collections.abc import Iterable

from hostile.bends import lists, on, status
from hostile.blobs import entry
from hostile.case import Case, Line
from hostile.run import Ran

GOOD = {"data/tree/good": b"whole and right"}
DOWN = "cp az://data/tree/ down/"
LOOKS = (Line("ls -r az://data/tree/"), Line("du az://data/tree/"), Line("plan az://data/tree/ down/"))
SHOWN = ("ls -r az://data/tree/", "ls az://data/tree/", "plan az://data/tree/ down/", DOWN)

#: Made by an interrupted download of ours; nobody else's content may have such a name.
LEFTOVER = ".haul-0123456789abcdef.partial"
#: What turns text round, hides in it, or moves the cursor.
UNSEEN = {
    "turned": "invoice\u202egpj.exe",
    "isolated": "\u2066a\u2069b",
    "marked": "a\u200eb\u061cc",
    "hidden": "pass\u200bword\ufeff\u2060\u00ad",
    "parted": "a\u2028b\u2029c",
}
CONTROLS = {
    "line": "one\nhaul: two",
    "back": "a\rb",
    "red": "\x1b[31mred\x1b[0m",
    "bell": "\a\b\t\x7f",
    "c1": "\u009b2J",
}
ODD = (
    "-rf",
    "~",
    "$(id)",
    "`id`",
    "*",
    " ",
    "%2e%2e",
    "%00",
    "..a",
    "a..",
    "...",
    "a\\..\\b",
    "CON",
    "a:b",
    "az:x",
    "x\u0301",
    ".haul",
)


def blobs(*names: str) -> dict[str, bytes]:
    """Return blobs of these names below the prefix, beside one that is as it should be."""
    return GOOD | {f"data/tree/{name}": f"content of {name!r}".encode() for name in names}


def the_good_arrives(ran: Ran) -> Iterable[str]:
    """What is as it should be is copied although others are not."""
    if ran.verb == "cp" and "good" not in ran.down:
        yield "the blob of a good name was not copied"


def no_leftover_is_made(ran: Ran) -> Iterable[str]:
    """There is no file that `clean` would take for a leftover of its own."""
    if any(path.name == LEFTOVER for path in (ran.folder / "work").rglob("*")):
        yield f"there is a file called {LEFTOVER}"
    if ran.line.text == DOWN:
        yield from the_good_arrives(ran)


def refused(name: str, does: str, *names: str) -> Case:
    """Return the case of names that cannot be files below a folder: they fail, the others are copied."""
    return Case(
        name,
        does,
        lines=(DOWN, *LOOKS),
        code=1,
        kind="unsupported",
        must="these fail, the others are copied",
        blobs=blobs(*names),
        check=the_good_arrives,
    )


def shown(name: str, does: str, names: Iterable[str]) -> Case:
    """Return the case of names that are files like others, but must not reach a terminal as they are."""
    return Case(
        name,
        does,
        lines=SHOWN,
        code=0,
        must="they are copied, and shown escaped",
        blobs=blobs(*names),
        json=False,
        seen=20,
    )


def told(name: str, does: str, names: Iterable[str]) -> Case:
    """Return the case of such names in messages: none of the blobs can be read."""
    return Case(
        name,
        does,
        lines=(DOWN, "verify az://data/tree/ up/", "cat 'az://data/tree/invoice\u202egpj.exe'"),
        bends=on("get", status(409)),
        code=(1, 5),
        must="messages show them escaped",
        blobs=blobs(*names),
        json=False,
        seen=20,
    )


TRAPS = (
    refused(
        "name-dot-dot",
        "Names with `..` in them",
        "../x",
        "..",
        "a/../../../outside/x",
        "a/..",
        "../../home/x",
    ),
    refused("name-dot", "Names with `.` in them", "./x", ".", "a/./b", "a/."),
    refused("name-double-slash", "Names with `//` in them", "a//b", "/x", "//x"),
    refused("name-slash-at-the-end", "Names of blobs with content that end in `/`", "a/", "a/b//"),
    refused("name-nul", "Names with the character 0", "a\0b", "good\0", "\0"),
    Case(
        "name-absolute",
        "Names that are absolute paths",
        lines=("cp az://data/ down/", "cp az://data down/"),
        kind="unsupported",
        must="these fail, the others are copied",
        blobs={"data/good": b"whole", "data//etc/x": b"1", "data/$outside/x": b"2", "data///dev/shm/x": b"3"},
        check=the_good_arrives,
    ),
    Case(
        "name-of-a-leftover",
        f"A blob called `{LEFTOVER}`, as our own partial files are",
        lines=(DOWN, Line(f"cp az://data/tree/{LEFTOVER} down/", 2, "unsupported")),
        kind="unsupported",
        must="it fails, the others are copied; no such file is written, which `clean` would take for its own",
        blobs=blobs(LEFTOVER, f"sub/{LEFTOVER}"),
        seen=15,
        check=no_leftover_is_made,
    ),
)

LONG = (
    Case(
        "name-of-300-bytes",
        "A name with a part of 300 bytes, more than a file may have",
        lines=(DOWN, *LOOKS),
        kind="io unsupported",
        must="it fails, the others are copied",
        blobs=blobs("x" * 300, "y" * 300 + "/z"),
        check=the_good_arrives,
    ),
    Case(
        "name-of-1025-bytes",
        "A name of 1,025 bytes, one more than a service takes",
        lines=(DOWN, *LOOKS),
        code=(0, 1),
        kind="protocol",
        must="it is copied like any other, or the list is refused",
        blobs={**GOOD, "data/tree/" + "/".join(["d" * 202] * 5) + "x" * 6: b"far down"},
    ),
    Case(
        "name-of-5000-bytes",
        "A name of 5,000 bytes, more than a path may have",
        lines=(DOWN, Line("ls -r az://data/tree/", (0, 1), "protocol")),
        kind="io unsupported protocol",
        must="it fails, or the list is refused",
        blobs=blobs("/".join(["d" * 199] * 25)),
    ),
)

PAIRS = (
    Case(
        "names-equal-but-for-case",
        "Names that are equal but for case, or but for the way an accent is written",
        lines=(DOWN, *LOOKS),
        code=0,
        must="each is a file of its own",
        blobs=blobs("A", "a", "B/x", "b/x", "\u00e9", "e\u0301"),
    ),
    Case(
        "names-of-file-and-folder",
        "A blob `a` and a blob `a/b`",
        lines=(DOWN, *LOOKS),
        kind="exists io unsupported",
        must="one of them fails, the others are copied",
        blobs=blobs("a", "a/b", "c/d/e", "c/d"),
        check=the_good_arrives,
    ),
    Case(
        "name-twice",
        "The same blob twice in a list",
        lines=(DOWN, "cp az://data/tree/ down/ --overwrite always"),
        bends=on("list", lists(entry("tree/good", 15, "0x8D000000000001"))),
        code=(0, 1),
        kind="protocol exists",
        must="the file is whole",
        blobs=GOOD,
    ),
    Case(
        "name-not-utf-8",
        "A name that is percent-encoded and not UTF-8, beside one that it must not be taken for",
        lines=(DOWN, "rm -r az://data/tree/", "ls -r az://data/tree/"),
        bends=on("list", lists(entry("NAME").replace("<Name>NAME", '<Name Encoded="true">tree/%FFx'))),
        kind="protocol",
        must="nothing is copied or deleted",
        blobs={"data/tree/a": b"a", "data/tree/\ufffdx": b"another"},
    ),
)

TEXTS = (
    Case(
        "name-odd",
        "Odd names that are right: `-rf`, `$(id)`, ` `, `...`, `%2e%2e`",
        lines=(DOWN, *LOOKS),
        code=0,
        must="they are copied like any other",
        blobs=blobs(*ODD),
    ),
    shown(
        "name-unseen",
        "Names with characters that turn text round or cannot be seen, such as U+202E and U+200B",
        UNSEEN.values(),
    ),
    shown("name-control", "Names with line breaks, ESC and other control characters", CONTROLS.values()),
    told("name-unseen-in-errors", "Names that turn text round, where reading fails", UNSEEN.values()),
    told(
        "name-control-in-errors",
        "Names with control characters, where reading fails",
        [*CONTROLS.values(), UNSEEN["turned"]],
    ),
)

CASES = (*TRAPS, *LONG, *PAIRS, *TEXTS)
