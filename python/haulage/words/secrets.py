"""Takes secrets out of text, also such as the engine has never seen.

Text of others, such as what a worker logs or somebody types, may hold any. Text of our own holds what people
paste as URLs.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

REDACTED = "REDACTED"

#: Who stands before the host of a URL, and what may be the signature of a SAS: as the engine redacts them.
#: Before the host of abfss:// stands a container, and a URL where a path belongs has lost a slash.
_USER = re.compile(r"(://|https?:/)(?!(?<=abfss://)[A-Za-z0-9-]*@)(?!(?<=abfs://)[A-Za-z0-9-]*@)[^/\s]*@")
_SAS = re.compile(r"(sig=)[A-Za-z0-9%+/=\-_.~]*", re.IGNORECASE)
#: The query of a URL, which may be a SAS.
_QUERY = re.compile(r"(://[^\s?]*)\?\S*")

#: What stands before a secret: the end of a name with what assigns a value to it, a header, a signature, the
#: scheme of an authorization, the name of a user in front of a host, or the beginning of a private key. In a
#: list or a pair a value follows the quoted name after a comma, on a command line after a space.
_BEFORE = re.compile(
    r"(?P<name>key|token|secret|passw(?:or)?d|passphrase|pwd|sharedaccesssignature|(?<=-)(?:sas|pass))"
    r"(?:\\?[\"']?[ \t]*+(?:=>|={1,2}|:(?![:/])|(?P<quoted>%3d))[ \t]*+"
    r"|(?P<comma>\\?[\"'],)\s*+(?=[bfru]{0,2}\\?[\"'])"
    r"|(?P<space>(?:[ \t]|\\\r?\n)++)(?=\S))"
    r"|(?P<header>authorization)(?:\\?[\"']?[ \t]*+(?:=>|={1,2}|:(?![:/]))|\\?[\"'],)\s*+"
    r"|(?:\b|%26|%3f)(?P<signature>sig|x-amz-signature|signature(?=(?:=|%3d)[\w%+/-]{16})"
    r"|credential(?=(?:=|%3d)\w{8,128}+(?:/|%2f)))(?:=|%3d)"
    r"|\b(?P<scheme>bearer|basic|sharedkey(?:lite)?)\s++(?=\S{16})"
    r"|://[^\s/?#:@\"'<>]*+(?P<user>:)(?=[^\s/?#\"'<>]*@)"
    r"|-----BEGIN [A-Z0-9 ]{0,40}(?P<pem>PRIVATE KEY(?: BLOCK)?-----)",
    re.IGNORECASE,
)
_OPENING = re.compile(r"[bfru]{0,2}(\\?[\"'])", re.IGNORECASE)
_VALUE = re.compile(r"(?:(?:bearer|basic|sharedkey)\s++)?[^\s&;\"'<>]+", re.IGNORECASE)
_IN_QUERY = re.compile(r"(?:(?!%26)[^\s&;\"'<>])+", re.IGNORECASE)
_SIGNATURE = re.compile(r"[^\s&;\"'<>@]+")
_ARGUMENT = re.compile(r"[^\s\"'<>]+")
#: What follows a name where something is said of it, and no value is given.
_SAID = re.compile(
    r"(?:a|accepted|and|are|argument|can|cannot|denied|does|empty|expired|failed|false|for|from|given|has|if|in"
    r"|incorrect|instead|invalid|is|may|missing|must|needed|needs|no|none|not|null|ok|omitted|option|optional|or"
    r"|rejected|required|requires|set|should|takes|the|to|true|undefined|unknown|unset|was|when|will|with|wrong"
    r"|yes)(?=[.,;:!?)\]}\"']*+(?:\s|\Z))|null(?=[,}\]])",
    re.IGNORECASE,
)
#: Another option in place of a value.
_ANOTHER = re.compile(r"--?[a-z][a-z-]{0,40}(?=[\s=,.;:\"')\]]|\Z)")
#: The scheme in front of what a header holds; without one that is known, something that is long.
_IN_HEADER = re.compile(
    r"(?:(?:aws4-hmac-sha256|aws|apikey|basic|bearer|digest|negotiate|ntlm|sharedkey(?:lite)?|token)[ \t]++"
    r"(?=[^\s\"']{4})|[\w-]{1,40}+[ \t]++(?=[^\s\"']{20})|(?=[^\s\"']{20}))",
    re.IGNORECASE,
)
#: What is in a private key behind its beginning, where its end is not there: headers and lines of Base64. A
#: break between lines may be written as two letters.
_BREAK = r"(?:\s|\\+[nr])"
_CUT_OFF = re.compile(
    rf"(?:{_BREAK}++[A-Za-z-]{{1,30}}+: [^\n\\]*+)*+"
    rf"(?:{_BREAK}*+[\"'+,]*+{_BREAK}*+[A-Za-z0-9+/=]{{16,}}+)*+"
    rf"(?:(?:[ \t]*+(?:\r|\n|\\+[nr]))++[ \t]*+[A-Za-z0-9+/=]{{1,15}}+(?={_BREAK}|[\"'\\]|\Z))?+"
)
_DASHES = re.compile(r"-----(?P<which>BEGIN|END) [A-Z0-9 ]{0,60}-----", re.IGNORECASE)
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
#: The beginning of a list or pair, in front of a name between quotes.
_PAIR = re.compile(r"[(\[][ \t]*[bfru]{0,2}\\?[\"']\Z", re.IGNORECASE)
#: How long a value may be to be looked at for what closes the pair.
_SHORT = 1000
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


def without_url_secrets(text: str) -> str:
    """Return text of our own without passwords in URLs and signatures.

    >>> without_url_secrets("https:/me:pw@host/a: no such file")
    'https:/REDACTED@host/a: no such file'

    >>> without_url_secrets("http://me:pw@host/a@b, ?sv=1&sig=AAAA&sp=r, abfss://c@host/a")
    'http://REDACTED@host/a@b, ?sv=1&sig=REDACTED&sp=r, abfss://c@host/a'
    """
    return _SAS.sub(rf"\1{REDACTED}", _USER.sub(rf"\1{REDACTED}@", text))


def command_without_secrets(words: Iterable[str]) -> list[str]:
    """Return the words of a command line without secrets and without the queries of URLs.

    >>> command_without_secrets(["haul", "--to=https://me:pw@host/c?sv=1&sig=abc", "--token", "two words"])
    ['haul', '--to=https://REDACTED@host/c?...', '--token', 'REDACTED']
    """
    shown: list[str] = []
    before = ""
    for word in words:
        plain = without_secrets(without_url_secrets(_QUERY.sub(r"\1?...", word)))
        # An option may say that its value is one.
        secret = before.startswith("--") and not without_secrets(f"{before} {plain}").endswith(plain)
        shown.append(REDACTED if secret else plain)
        before = word
    return shown


def _secret(text: str, found: re.Match[str]) -> tuple[int, int]:
    """Return where a secret begins and ends; at one place where there is none."""
    begin = found.end()
    if found["pem"]:
        return begin, _end_of_key(text, begin)
    if found["header"]:
        return _in_header(text, begin)
    if found["name"] is None:
        value = _PASSWORD if found["user"] else _SIGNATURE
        return begin, _end(value, text, begin)
    opening = _OPENING.match(text, begin)
    first = opening.end() if opening else begin
    said = _SAID.match(text, first)
    whole = said and (not opening or text.startswith(opening[1], said.end()))
    if whole or not _is_named(text, found, first):
        return begin, begin
    key = _BEFORE.match(text, first)
    if key and key["pem"]:
        return key.end(), _end_of_key(text, key.end())
    if opening:
        end = _closing(text, first, opening[1])
        return (first, end) if _is_value(text, found, first, end, opening[1]) else (begin, begin)
    value = _ARGUMENT if found["space"] else _IN_QUERY if found["quoted"] else _VALUE
    return begin, _end(value, text, begin)


def _is_named(text: str, found: re.Match[str], first: int) -> bool:
    """Whether a name is that of a secret, and where a space follows it, that of an option with a value."""
    end = found.end("name")
    whole = _name(text, end)
    if found["name"].lower() == "key" and not _is_of_secret(whole, text, first):
        return False
    option = whole.startswith("-")
    if found["name"].lower() == "pass" and whole.strip("-").lower() != "pass":
        return False
    if found["space"]:
        return option and not whole.startswith("--no-") and not _ANOTHER.match(text, first)
    if found["comma"] and option:
        return not _ANOTHER.match(text, first)
    return True


def _is_value(text: str, found: re.Match[str], first: int, end: int, quote: str) -> bool:
    """Whether what is between quotes is of the name: after a comma, of an option or where both are a pair."""
    whole = _name(text, found.end("name"))
    if not found["comma"] or whole.startswith("-") or end - first > _SHORT:
        return True
    start = found.end("name") - len(whole)
    after = end + len(quote)
    # Where the text is cut off, nothing closes it.
    closes = not text.startswith(quote, end) or text[after : after + 8].lstrip()[:1] in ("", ")", "]")
    return closes and bool(_PAIR.search(text[max(0, start - 8) : start]))


def _name(text: str, end: int) -> str:
    """Return the name that ends here, as far as it is looked at."""
    name = text[max(0, end - _LETTERS) : end]
    return name[len(name.rstrip(_OF_NAMES)) :]


def _in_header(text: str, begin: int) -> tuple[int, int]:
    opening = _OPENING.match(text, begin)
    first = opening.end() if opening else begin
    scheme = _IN_HEADER.match(text, first)
    if not scheme or _SAID.match(text, scheme.end()):
        return begin, begin
    end = _end(_ARGUMENT, text, scheme.end())
    if text[end - 1 : end] == "=" and text[end : end + 1] in ('"', "'"):
        # A name with a value between quotes, which is looked at by itself.
        return begin, begin
    return scheme.end(), end


def _end_of_key(text: str, begin: int) -> int:
    """Return where a private key ends: before the line that says so, or where it was cut off."""
    dashes = _DASHES.search(text, begin)
    if dashes and dashes["which"].upper() == "END":
        return dashes.start()
    return _end(_CUT_OFF, text, begin)


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


def _is_of_secret(name: str, text: str, first: int) -> bool:
    """Whether a name that ends in ``key`` is that of a secret, by the word before it or by the value."""
    before = name[:-3]
    word = before.rstrip("_-").lower()
    if not word.strip("-") or word.endswith(_PLACES):
        value = _RANDOM.match(text, first)
        kinds = (str.islower, str.isupper, str.isdigit)
        return value is not None and all(any(map(kind, value[0])) for kind in kinds)
    parted = before[-1] in "_-" or (name[-3] == "K" and not before[-1].isupper())
    return parted or word.endswith(_OF_KEYS)
