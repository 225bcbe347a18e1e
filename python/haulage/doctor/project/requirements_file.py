"""``requirements.txt``: a requirement a line, with options of pip, and other files that it includes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from haulage.doctor.project import pep508
from haulage.doctor.project.decoding import decoded
from haulage.doctor.project.wanted import Source, Trouble
from haulage.errors import LocalIOError

#: A file that includes itself is read once; so many of them are a mistake.
DEEPEST = 20

_INCLUDE = re.compile(r"(?:-r|--requirement)[\s=]*(.+)")
_CONSTRAIN = re.compile(r"(?:-c|--constraint)[\s=]*(.+)")
_EDITABLE = re.compile(r"(?:-e|--editable)[\s=]*(.+)")
_EGG = re.compile(r"#egg=([A-Za-z0-9._-]+)")
#: What pip takes for a requirement alone, such as a hash.
_PER_LINE = re.compile(r"\s+--(?:hash|config-settings|global-option)\b.*", re.DOTALL)
_COMMENT = re.compile(r"(^|\s)#.*$", re.MULTILINE)


def read(path: Path, text: str, above: tuple[Path, ...] = (), *, alone: bool = False) -> Source:
    """Read a file of requirements, and those that it includes, unless it stands ``alone``.

    Raises:
        LocalIOError: One of these cannot be read.
    """
    source = Source(path, text, alone)
    for start, line in _lines(text):
        _take(source, start, line, above if alone else (*above, path.resolve()))
    return source


def _lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield logical lines, each with its first character in the text; a `\` at the end goes on."""
    for found in re.finditer(r"(?:[^\\\n]|\\.|\\\n)+", text, re.DOTALL):
        yield found.start(), found[0]


def _take(source: Source, start: int, line: str, above: tuple[Path, ...]) -> None:
    # Comments and the ends of lines become spaces, so that places stay what they are.
    plain = _COMMENT.sub(lambda found: " " * len(found[0]), line) if "#" in line else line
    plain = plain.replace("\\\n", "  ")
    begin = start + len(plain) - len(plain.lstrip())
    plain = plain.strip()
    if not plain:
        return
    if (found := _INCLUDE.fullmatch(plain)) is not None:
        included = _other(source, start, found[1].strip(), above)
        if included is not None:
            source.included.append((begin, begin + len(plain), included))
    elif (found := _CONSTRAIN.fullmatch(plain)) is not None:
        constraining = _other(source, start, found[1].strip(), above)
        if constraining is not None:
            for one in constraining.everything():
                source.constraints += [*(place.wanted for place in one.places), *one.constraints]
            source.troubles += [trouble for one in constraining.everything() for trouble in one.troubles]
    elif plain.startswith("-") and _EDITABLE.fullmatch(plain) is None:
        return
    elif _is_address(plain):
        named = _EGG.search(plain)
        if named is not None:
            pep508.add(source, f"{named[1]} @ {named[0]}", begin, begin + len(plain))
        else:
            hint = "check it by hand, or write: NAME @ URL"
            text = f"{plain}: the name and the version are not in the file"
            source.troubles.append(Trouble(pep508.place_of(source, start), text, hint))
    else:
        requirement = _PER_LINE.sub("", plain)
        pep508.add(source, requirement, begin, begin + len(plain))


def _is_address(plain: str) -> bool:
    """Whether a line names a path or a URL rather than a package."""
    name = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(?:\[[^\]]*\]\s*)?@\s", plain)
    if name is not None:
        return False
    return bool(
        re.match(r"(?:-e|--editable)|[./~]|[A-Za-z][A-Za-z0-9+.-]*://|git\+", plain)
        or re.search(r"\.(?:whl|zip|tar\.gz)$", plain)
    )


def _other(source: Source, start: int, name: str, above: tuple[Path, ...]) -> Source | None:
    if source.alone:
        hint = "paste its contents into this file, or run haul doctor --project where the files are"
        where = pep508.place_of(source, start)
        source.troubles.append(Trouble(where, f"{name}: other files are not read from an upload", hint))
        return None
    path = source.path.parent / name
    if path.resolve() in above or len(above) > DEEPEST:
        text = f"{name} includes itself"
        source.troubles.append(
            Trouble(pep508.place_of(source, start), text, "remove the line that includes it")
        )
        return None
    if "://" in name:
        hint = "save it beside this file and include that"
        source.troubles.append(
            Trouble(pep508.place_of(source, start), f"{name}: a file on the network is not read", hint)
        )
        return None
    try:
        return read(path, decoded(path.read_bytes()), above)
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        hint = f"it is included by {pep508.place_of(source, start)}"
        raise LocalIOError("read", str(path), cause, hint) from None
