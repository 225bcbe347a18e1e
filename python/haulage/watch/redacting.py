"""Takes out what looks like a secret that the engine has never seen, from text that a worker logs."""

from __future__ import annotations

import re
import string

REDACTED = "REDACTED"

#: What stands before a secret: the end of a name with what assigns a value to it, a signature in a URL, the
#: scheme of an authorization, or the name of a user in front of a host.
_BEFORE = re.compile(
    r"(?P<name>key|token|secret|passw(?:or)?d|passphrase|pwd|sharedaccesssignature)"
    r"\\?[\"']?[ \t]*+(?:=>|={1,2}|:(?![:/])|(?P<quoted>%3d))[ \t]*+"
    r"|(?:\b|%26|%3f)(?P<signature>sig|x-amz-signature)(?:=|%3d)"
    r"|\b(?P<scheme>bearer|basic|sharedkey)\s++(?=\S{16})"
    r"|://[^\s/?#:@\"'<>]*+(?P<user>:)(?=[^\s/?#\"'<>]*@)",
    re.IGNORECASE,
)
_OPENING = re.compile(r"[bfru]{0,2}(\\?[\"'])", re.IGNORECASE)
_VALUE = re.compile(r"(?:(?:bearer|basic|sharedkey)\s++)?[^\s&;\"'<>]+", re.IGNORECASE)
_IN_QUERY = re.compile(r"(?:(?!%26)[^\s&;\"'<>])+", re.IGNORECASE)
_SIGNATURE = re.compile(r"[^\s&;\"'<>@]+")
#: What is between quotes, by the quote that opens it.
_QUOTED = {
    '"': re.compile(r'(?:[^"\\]++|\\.)*+(?=")', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]++|\\.)*+(?=')", re.DOTALL),
    '\\"': re.compile(r'.*?(?=\\")', re.DOTALL),
    "\\'": re.compile(r".*?(?=\\')", re.DOTALL),
}
#: Up to the last @ before the host.
_PASSWORD = re.compile(r"[^\s/?#\"'<>]*(?=@)")

#: Words before ``key`` without a ``_`` between; as a monkey is none, others are not taken for secrets.
_OF_KEYS = ("account", "access", "api", "auth", "master", "private", "secret", "shared", "storage")
#: Keys that say where something is, not how to get in.
_PLACES = ("cache", "foreign", "object", "partition", "primary", "public", "row", "sort", "unique")
_OF_NAMES = f"{string.ascii_letters}{string.digits}_-"
#: How much of a name is looked at, and how much of what may be random.
_LETTERS = 64
#: What is random where it has small and large letters and digits.
_RANDOM = re.compile(r"[\w+/=-]{20,64}+", re.ASCII)


def without_secrets(text: str) -> str:
    """Return text with ``REDACTED`` in place of what looks like a signature, key, token or password.

    >>> without_secrets("DB_PASSWORD='two words', https://user:p@ss@host/, monkey: 1")
    "DB_PASSWORD='REDACTED', https://user:REDACTED@host/, monkey: 1"
    """
    parts: list[str] = []
    kept = at = 0
    while found := _BEFORE.search(text, at):
        begin, at = _secret(text, found)
        if begin < at:
            parts += [text[kept:begin], REDACTED]
            kept = at
    return "".join([*parts, text[kept:]])


def _secret(text: str, found: re.Match[str]) -> tuple[int, int]:
    """Return where a secret begins and ends; at one place where there is none."""
    begin = found.end()
    if found["name"] is None:
        value = _PASSWORD if found["user"] else _SIGNATURE
        return begin, _end(value, text, begin)
    opening = _OPENING.match(text, begin)
    first = opening.end() if opening else begin
    if found["name"].lower() == "key" and not _is_of_secret(text, found.end("name"), first):
        return begin, begin
    if opening:
        return first, _closing(text, first, opening[1])
    return begin, _end(_IN_QUERY if found["quoted"] else _VALUE, text, begin)


def _end(value: re.Pattern[str], text: str, begin: int) -> int:
    found = value.match(text, begin)
    return found.end() if found else begin


def _closing(text: str, first: int, quote: str) -> int:
    """Return where a quote closes; the end of the line where it does not."""
    found = _QUOTED[quote].match(text, first)
    if found:
        return found.end()
    end = text.find("\n", first)
    return end if end >= 0 else len(text)


def _is_of_secret(text: str, end: int, first: int) -> bool:
    """Whether a name that ends in ``key`` is that of a secret, by the word before it or by the value."""
    name = text[max(0, end - _LETTERS) : end]
    before = name[len(name.rstrip(_OF_NAMES)) : -3]
    word = before.rstrip("_-").lower()
    if not word or word.endswith(_PLACES):
        value = _RANDOM.match(text, first)
        kinds = (str.islower, str.isupper, str.isdigit)
        return value is not None and all(any(map(kind, value[0])) for kind in kinds)
    parted = before[-1] in "_-" or (name[-3] == "K" and not before[-1].isupper())
    return parted or word.endswith(_OF_KEYS)
