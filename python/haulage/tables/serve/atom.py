"""Entities as Atom, the XML that the table service wrote up to its version of 2015-12-11."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from haulage.errors import UnsupportedError
from haulage.tables.serve.encoding import address_of, etag_of
from haulage.tables.serve.entities import BOOLEAN, STRING, Entity

_D = "http://schemas.microsoft.com/ado/2007/08/dataservices"
_M = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"
_HEAD = (
    '<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"'
    f' xmlns:d="{_D}" xmlns:m="{_M}"><title type="text">{{0}}</title><id>{{0}}</id><updated>{{1}}</updated>'
)
TAIL = b"</feed>"
#: What XML 1.0 cannot hold, escaped or not.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NAME = re.compile(r"[^\W\d][\w.-]*")


def head(name: str, updated: str) -> bytes:
    """Return what stands before the entries."""
    return _HEAD.format(_escaped(name, name), updated).encode()


def entries(entities: Iterable[Entity], name: str, updated: str) -> bytes:
    """Return an entry for each entity.

    Raises:
        UnsupportedError: A value has a character that XML cannot hold.
    """
    return "".join(_entry(entity, name, updated) for entity in entities).encode()


def feed(entities: Iterable[Entity], name: str, updated: str) -> bytes:
    """Return a whole page."""
    return head(name, updated) + entries(entities, name, updated) + TAIL


def _entry(entity: Entity, name: str, updated: str) -> str:
    properties = "".join(
        f"<d:{_xml_name(key)}{_type(edm)}>{_escaped(_text(edm, value), key)}</d:{_xml_name(key)}>"
        for key, (edm, value) in entity.items()
    )
    etag, address = etag_of(entity), address_of(entity, name) or ""
    stamp = str(entity["Timestamp"][1]) if "Timestamp" in entity else updated
    link = f'<link rel="edit" title={quoteattr(name)} href={quoteattr(address)}/>' if address else ""
    return (
        f"<entry{f' m:etag={quoteattr(etag)}' if etag else ''}><id>{_escaped(address or name, name)}</id>"
        f'<category term={quoteattr(f"haulage.{name}")} scheme="{_D}/scheme"/>{link}<title/>'
        f"<updated>{_escaped(stamp, 'Timestamp')}</updated><author><name/></author>"
        f'<content type="application/xml"><m:properties>{properties}</m:properties></content></entry>'
    )


def _type(edm: str) -> str:
    return "" if edm == STRING else f' m:type="{edm}"'


def _text(edm: str, value: object) -> str:
    return str(value).lower() if edm == BOOLEAN else str(value)


def _escaped(text: str, name: str) -> str:
    illegal = _ILLEGAL.search(text)
    if illegal:
        cause = f"Atom cannot hold the character U+{ord(illegal[0]):04X}"
        raise UnsupportedError("write", name, cause, "ask for another format, such as JSON")
    # A reader of XML would take a bare carriage return for a line feed.
    return escape(text, {"\r": "&#13;"})


def _xml_name(name: str) -> str:
    """Return a name that XML takes: other characters become ``_xHHHH_``, as .NET's XmlConvert writes them."""
    if _NAME.fullmatch(name):
        return name
    kept = [
        one if re.fullmatch(r"[\w.-]", one) and (place or _NAME.fullmatch(one)) else f"_x{ord(one):04X}_"
        for place, one in enumerate(name)
    ]
    return "".join(kept) or "_x0000_"
