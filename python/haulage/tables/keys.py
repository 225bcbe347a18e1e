r"""Templates of keys: text with columns in braces, from which each row gets its PartitionKey and RowKey.

docs/reference/table-keys.md defines what a template means; this is its reference implementation, and
tests/table_keys.json holds examples that every implementation has to agree with.

>>> parse("{run}_{member:03}").render({"run": "a/b", "member": 7})
'a%2Fb_007'
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from haulage.errors import UsageError
from haulage.tables.values import BadKeyError, as_integer, as_ticks, iso, text_of, ticks_of

#: UTF-16 code units in a key at most: 1 KiB.
LONGEST = 512
#: The last tick of the year 9999, from which reversed times count back.
LAST_TICK = 3_155_378_975_999_999_999
LAST_INTEGER = 2**63 - 1

#: What the service allows in no key.
FORBIDDEN = re.compile(r"[/\\#?\x00-\x1f\x7f-\x9f]")
_ESCAPED = re.compile(FORBIDDEN.pattern + r"|%(?=[0-9A-Fa-f]{2})")
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")

_FIELD = re.compile(r'\{(?:"((?:[^"]|"")+)"|([^{}:?"]+))(\?)?(?::([^{}:]*))?\}')
_FORMAT = re.compile(
    r"0(?P<pad>[1-9]\d?)|signed(?P<signed>[1-9]\d?)|hash(?P<hash>[1-9]\d{0,4})|(?P<word>[a-z]+)"
)

Word = Literal["text", "pad", "signed", "hash", "reversed", "iso", "year", "month", "day", "hour"]
#: Formats of times by a word, and how much of the ISO form each keeps.
CUTS: dict[str, int] = {"year": 4, "month": 7, "day": 10, "hour": 13, "iso": 28}


@dataclass(frozen=True)
class Field:
    """A column in a template, and how its value is written."""

    column: str
    format: Word = "text"
    width: int = 0  #: digits of ``pad`` and ``signed``, buckets of ``hash``
    optional: bool = False

    @property
    def plain(self) -> bool:
        """Whether it is made of the text of a value, not of a number or a time."""
        return self.format in ("text", "hash")

    def __str__(self) -> str:
        plain = not re.search(r'[{}:?"]', self.column)
        name = self.column if plain else '"' + self.column.replace('"', '""') + '"'
        form = {"text": "", "pad": f":0{self.width}"}.get(self.format)
        if form is None:
            form = f":{self.format}{self.width or ''}"
        return f"{{{name}{'?' if self.optional else ''}{form}}}"

    def text(self, value: object) -> str:
        """Return the text of a value in the key, not yet escaped.

        >>> Field("level", "signed", 3).text(-1), Field("id", "hash", 16).text("a")
        ('0999', '03')
        """
        if value is None:
            if self.optional:
                return ""
            raise BadKeyError("missing", self.column, "the value is missing")
        try:
            return self._text(value)
        except BadKeyError as error:
            raise BadKeyError(error.kind, self.column, error.cause) from None

    def _text(self, value: object) -> str:
        if self.format == "text":
            return text_of(value)
        if self.format == "hash":
            bucket = zlib.crc32(text_of(value).encode()) % self.width
            return f"{bucket:0{len(str(self.width - 1))}}"
        if self.format in CUTS:
            return iso(as_ticks(value))[: CUTS[self.format]]
        if self.format == "reversed":
            return _reversed(value)
        number = as_integer(value)
        if self.format == "signed":
            if abs(number) >= 10**self.width:
                raise BadKeyError("range", "", f"{number} has more than {self.width} digits")
            return f"{number + 10**self.width:0{self.width + 1}}"
        if number < 0:
            raise BadKeyError("range", "", f"{number} is negative, and would not sort")
        if number >= 10**self.width:
            raise BadKeyError("range", "", f"{number} has more than {self.width} digits")
        return f"{number:0{self.width}}"


def _reversed(value: object) -> str:
    ticks = ticks_of(value)
    if ticks is not None:
        return f"{LAST_TICK - ticks:019}"
    number = as_integer(value)
    if not 0 <= number <= LAST_INTEGER:
        raise BadKeyError("range", "", f"{number} is not between 0 and {LAST_INTEGER}")
    return f"{LAST_INTEGER - number:019}"


@dataclass(frozen=True)
class Template:
    """A parsed template: literal text and fields in order."""

    parts: tuple[str | Field, ...]

    def __str__(self) -> str:
        written = (
            str(part) if isinstance(part, Field) else part.replace("{", "{{").replace("}", "}}")
            for part in self.parts
        )
        return "".join(written)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields alone."""
        return tuple(part for part in self.parts if isinstance(part, Field))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, each once."""
        return tuple(dict.fromkeys(field.column for field in self.fields))

    def render(self, row: Mapping[str, object]) -> str:
        """Return the key of a row.

        Raises:
            BadKeyError: A value is missing, of another type, out of range, or the key is too long.

        >>> parse("{station}_{hour:02}").render({"station": "oslo", "hour": 7})
        'oslo_07'
        """
        pieces = [part if isinstance(part, str) else part.text(row.get(part.column)) for part in self.parts]
        try:
            key = escape("".join(pieces))
            length = len(key.encode("utf-16-le")) // 2
        except UnicodeEncodeError:
            raise BadKeyError("text", self.columns[0], "the text is not valid Unicode") from None
        if length > LONGEST:
            column = self.columns[0] if self.columns else ""
            raise BadKeyError(
                "length", column, f"the key has {length} UTF-16 code units, {LONGEST} are allowed"
            )
        return key


def parse(template: str) -> Template:
    """Return a template that was read from text.

    Raises:
        UsageError: It is none.

    >>> str(parse('{station}_{time:iso}')), parse("{a?}").fields[0].optional
    ('{station}_{time:iso}', True)
    """
    parts: list[str | Field] = []
    literal = ""
    at = 0
    while at < len(template):
        letter = template[at]
        if template[at : at + 2] in ("{{", "}}"):
            literal += letter
            at += 2
        elif letter == "{":
            found = _FIELD.match(template, at)
            if not found:
                hint = "write {column}, {column:format}, or {{ for a brace"
                raise UsageError("read", f"template '{template}'", f"no field at '{template[at:]}'", hint)
            if literal:
                parts.append(literal)
            literal = ""
            parts.append(_field(template, found))
            at = found.end()
        elif letter == "}":
            hint = "write }} for a brace"
            raise UsageError("read", f"template '{template}'", "a } without its {", hint)
        else:
            literal += letter
            at += 1
    return Template((*parts, literal) if literal else tuple(parts))


def _field(template: str, found: re.Match[str]) -> Field:
    column = found[1].replace('""', '"') if found[1] is not None else found[2]
    optional = found[3] is not None
    if found[4] is None:
        return Field(column, optional=optional)
    form = _FORMAT.fullmatch(found[4])
    if form and form["pad"] and int(form["pad"]) <= 38:
        return Field(column, "pad", int(form["pad"]), optional)
    if form and form["signed"] and int(form["signed"]) <= 18:
        return Field(column, "signed", int(form["signed"]), optional)
    if form and form["hash"] and 2 <= int(form["hash"]) <= 65_536:
        return Field(column, "hash", int(form["hash"]), optional)
    for word in ("reversed", *CUTS):
        if found[4] == word:
            return Field(column, word, optional=optional)  # type: ignore[arg-type]
    hint = "formats are 0N, signedN, hashN, reversed, iso, year, month, day, hour"
    raise UsageError("read", f"template '{template}'", f"'{found[4]}' is no format", hint)


def escape(text: str) -> str:
    r"""Return text without the characters that no key may hold; :func:`unescape` restores it.

    >>> escape("a/b?"), escape("100%"), escape("%2F"), escape("\x80")
    ('a%2Fb%3F', '100%', '%252F', '%C2%80')
    """
    return _ESCAPED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)


def unescape(key: str) -> str:
    """Return the text that :func:`escape` was given.

    Raises:
        BadKeyError: The escaped bytes are not UTF-8.

    >>> unescape("a%2Fb%3F"), unescape("100%"), unescape("%252F")
    ('a/b?', '100%', '%2F')
    """
    try:
        return _ESCAPES.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode(), key)
    except UnicodeDecodeError:
        raise BadKeyError("text", "", "what is escaped in the key is not UTF-8") from None
