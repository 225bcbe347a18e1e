"""Blobs in memory, and the honest answer of a Blob service to a request for them."""

from __future__ import annotations

import base64
import functools
import hashlib
import itertools
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape

from crc64 import crc64
from hostile.wire import Answer, Headers, Request

ACCOUNT = "hostile"
#: What is asked, by the path's depth, the method, and what the query says.
APIS = {
    (0, "GET", "list"): "list-containers",
    (1, "GET", "list"): "list",
    (1, "PUT", ""): "make",
    (1, "DELETE", ""): "remove",
    (2, "HEAD", ""): "head",
    (2, "GET", ""): "get",
    (2, "PUT", ""): "put",
    (2, "DELETE", ""): "delete",
    (2, "PUT", "block"): "put-block",
    (2, "PUT", "blocklist"): "commit",
    (2, "GET", "blocklist"): "blocks",
}

XML = "application/xml"
WRITTEN = "Fri, 01 Jan 2021 00:00:00 GMT"
DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'


@functools.lru_cache(maxsize=256)
def crc_header(data: bytes) -> str:
    """Return a CRC64 as the service writes it in headers."""
    return base64.b64encode(crc64(data).to_bytes(8, "little")).decode()


@dataclass(frozen=True)
class Blob:
    """A blob and what is stored with it."""

    content: bytes
    etag: str
    content_type: str = "application/octet-stream"
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def headers(self) -> Headers:
        """What every answer that tells of the blob says."""
        return (
            ("Last-Modified", WRITTEN),
            ("ETag", f'"{self.etag}"'),
            ("Content-Type", self.content_type),
            ("x-ms-blob-type", "BlockBlob"),
            *((f"x-ms-meta-{name}", value) for name, value in self.metadata.items()),
        )


def entry(name: str, size: object = 1, etag: str = "0xE", *, more: str = "") -> str:
    """Return what a list says of a blob; `more` goes in beside the name."""
    return (
        f"<Blob>{_name(name)}{more}<Properties><Last-Modified>{WRITTEN}</Last-Modified><Etag>{etag}</Etag>"
        f"<Content-Length>{size}</Content-Length><Content-Type>text/plain</Content-Type>"
        "<BlobType>BlockBlob</BlobType></Properties><OrMetadata /></Blob>"
    )


def page(request: Request, entries: Iterable[str], marker: str = "") -> bytes:
    """Return a page of a list as the service would write it for this request."""
    asked = request.query
    parts = [
        f'{DECLARATION}<EnumerationResults ServiceEndpoint="http://blobs/"',
        f' ContainerName="{request.container}">',
        f"<Prefix>{escape(asked['prefix'])}</Prefix>" if "prefix" in asked else "",
        f"<Marker>{escape(asked['marker'])}</Marker>" if "marker" in asked else "",
        f"<Delimiter>{asked['delimiter']}</Delimiter>" if "delimiter" in asked else "",
        "<Blobs>",
        *entries,
        f"</Blobs><NextMarker>{escape(marker)}</NextMarker></EnumerationResults>",
    ]
    return "".join(parts).encode("utf-8", "surrogateescape")


def _name(name: str) -> str:
    """Return the element of a name; one that XML cannot hold is percent-encoded and says so."""
    if all(character >= " " and not "\ud800" <= character <= "\udfff" for character in name):
        return f"<Name>{escape(name)}</Name>"
    return f'<Name Encoded="true">{quote(name.encode("utf-8", "surrogateescape"), safe="/")}</Name>'


class Blobs:
    """Containers with blobs and staged blocks."""

    #: Where the service is, below its host.
    path = f"/{ACCOUNT}"

    def __init__(self, contents: Mapping[str, bytes], page_size: int) -> None:
        """Take blobs by `container/key`."""
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._page_size = page_size
        self.containers: dict[str, dict[str, Blob]] = {}
        self.staged: dict[tuple[str, str], dict[str, bytes]] = {}
        self._committed: dict[tuple[str, str], dict[str, bytes]] = {}
        for name, content in contents.items():
            container, _, key = name.partition("/")
            self.containers.setdefault(container, {})[key] = Blob(content, self._etag())

    @staticmethod
    def named(request: Request) -> Request:
        """Return the request with what it asks for, and of what."""
        account, container, key = (*request.target.partition("?")[0].split("/", 3)[1:], "", "")[:3]
        depth = 0 if not container else 1 if not key else 2
        api = APIS.get((depth, request.method, request.query.get("comp", "")), "unknown")
        key = unquote(key, errors="surrogateescape")
        return replace(request, api=api if account == ACCOUNT else "unknown", container=container, key=key)

    def answer(self, request: Request) -> Answer:
        """Answer honestly, and do what is asked."""
        with self._lock:
            answer = self._answer(request)
        number = f"{next(self._numbers):08}-0000-0000-0000-000000000000"
        return replace(answer, headers=(*answer.headers, ("x-ms-request-id", number)))

    def _answer(self, request: Request) -> Answer:
        if request.api == "list-containers":
            names = "".join(f"<Container><Name>{name}</Name></Container>" for name in sorted(self.containers))
            text = f'{DECLARATION}<EnumerationResults ServiceEndpoint="http://blobs/"><Containers>{names}'
            return _ok(f"{text}</Containers><NextMarker /></EnumerationResults>".encode(), XML)
        if request.api == "make":
            self.containers.setdefault(request.container, {})
            return Answer(201, (("ETag", '"0xC"'), ("Last-Modified", WRITTEN), ("Content-Length", "0")))
        there = self.containers.get(request.container)
        if there is None:
            return refusal(404, "ContainerNotFound")
        if request.api == "list":
            return _ok(self._page(request, there), XML)
        if request.api == "remove":
            del self.containers[request.container]
            return Answer(202, (("Content-Length", "0"),))
        if request.api in ("put", "put-block", "commit"):
            return self._write(request, there)
        if request.api == "blocks":
            return self._blocks(request, there)
        blob = there.get(request.key)
        if blob is None:
            return refusal(404, "BlobNotFound")
        if request.headers.get("if-match", f'"{blob.etag}"') != f'"{blob.etag}"':
            return refusal(412, "ConditionNotMet")
        if request.api == "delete":
            del there[request.key]
            return Answer(202, (("Content-Length", "0"),))
        return read(request, blob)

    def _page(self, request: Request, there: Mapping[str, Blob]) -> bytes:
        asked = request.query
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        found: dict[str, str] = {}
        for key in sorted(there, key=lambda key: key.encode("utf-8", "surrogateescape")):
            rest = key.removeprefix(prefix)
            if not key.startswith(prefix) or key <= asked.get("marker", ""):
                continue
            folder, cut, _ = rest.partition(delimiter) if delimiter else ("", "", "")
            if cut:
                name = prefix + folder + cut
                found[name] = f"<BlobPrefix>{_name(name)}</BlobPrefix>"
            else:
                found[key] = self._listed(key, there[key])
        if asked.get("include") == "uncommittedblobs":
            names = [key for container, key in self.staged if container == request.container]
            bare = "<Properties><Content-Length>0</Content-Length><BlobType>BlockBlob</BlobType></Properties>"
            found |= {key: f"<Blob>{_name(key)}{bare}</Blob>" for key in names if key.startswith(prefix)}
        names = list(found)
        shown = names[: self._page_size]
        more = shown[-1] if len(names) > len(shown) else ""
        return page(request, (found[name] for name in shown), more)

    @staticmethod
    def _listed(key: str, blob: Blob) -> str:
        stored = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in blob.metadata.items())
        listed = entry(key, len(blob.content), blob.etag).replace("text/plain", blob.content_type)
        return listed.replace("<OrMetadata />", f"<Metadata>{stored}</Metadata><OrMetadata />")

    def _blocks(self, request: Request, there: Mapping[str, Blob]) -> Answer:
        staged = self.staged.get((request.container, request.key), {})
        if not staged and request.key not in there:
            return refusal(404, "BlobNotFound")
        return _ok(block_list((name, len(data)) for name, data in staged.items()), XML)

    def _write(self, request: Request, there: dict[str, Blob]) -> Answer:
        place = (request.container, request.key)
        if request.headers.get("if-none-match") == "*" and request.key in there:
            return refusal(409, "BlobAlreadyExists")
        echo = _echo(request)
        if request.api == "put-block":
            self.staged.setdefault(place, {})[request.query["blockid"]] = request.body
            return Answer(201, (*echo, ("Content-Length", "0")))
        content = request.body
        if request.api == "commit":
            # The blocks that a blob is made of can be committed again.
            staged = self._committed.get(place, {}) | self.staged.get(place, {})
            wanted = [element.text or "" for element in ElementTree.fromstring(request.body)]
            if any(name not in staged for name in wanted):
                return refusal(400, "InvalidBlockList")
            content = b"".join(staged[name] for name in wanted)
            self._committed[place] = {name: staged[name] for name in wanted}
            self.staged.pop(place, None)
        metadata = {
            name[10:]: value for name, value in request.headers.items() if name.startswith("x-ms-meta-")
        }
        kind = request.headers.get("x-ms-blob-content-type", "application/octet-stream")
        blob = there[request.key] = Blob(content, self._etag(), kind, metadata)
        return Answer(
            201, (*echo, ("ETag", f'"{blob.etag}"'), ("Last-Modified", WRITTEN), ("Content-Length", "0"))
        )

    def _etag(self) -> str:
        return f"0x8D{next(self._numbers):012X}"


def read(request: Request, blob: Blob) -> Answer:
    """Answer with the blob, with a range of it, or with what is known of it."""
    if request.range is None:
        return Answer(200, (*blob.headers, ("Content-Length", str(len(blob.content)))), blob.content)
    first, end = request.range
    part = blob.content[first:end]
    if not part:
        return refusal(416, "InvalidRange")
    told: Headers = (
        ("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(blob.content)}"),
        ("Content-Length", str(len(part))),
    )
    if "x-ms-range-get-content-crc64" in request.headers:
        told = (*told, ("x-ms-content-crc64", crc_header(part)))
    return Answer(206, (*blob.headers, *told), part)


def refusal(status: int, code: str, message: str = "It says why.") -> Answer:
    """Answer with an error of the service."""
    body = f"{DECLARATION}<Error><Code>{code}</Code><Message>{message}</Message></Error>".encode()
    headers = (("Content-Type", XML), ("x-ms-error-code", code), ("Content-Length", str(len(body))))
    return Answer(status, headers, body)


def block_list(blocks: Iterable[tuple[str, int]]) -> bytes:
    """Return a list of uncommitted blocks: names and sizes."""
    return b"".join(block_list_pieces(blocks))


def block_list_pieces(blocks: Iterable[tuple[str, int]]) -> Iterator[bytes]:
    """Yield a list of uncommitted blocks piece by piece."""
    yield f"{DECLARATION}<BlockList><CommittedBlocks /><UncommittedBlocks>".encode()
    for name, size in blocks:
        yield f"<Block><Name>{name}</Name><Size>{size}</Size></Block>".encode()
    yield b"</UncommittedBlocks></BlockList>"


def _ok(body: bytes, content_type: str) -> Answer:
    return Answer(200, (("Content-Type", content_type), ("Content-Length", str(len(body)))), body)


def _echo(request: Request) -> Headers:
    """What the service says that it received: the same kind of checksum as was sent."""
    if "content-md5" in request.headers:
        return (("Content-MD5", base64.b64encode(hashlib.md5(request.body).digest()).decode()),)
    return (("x-ms-content-crc64", crc_header(request.body)),)
