"""Objects in memory, and the honest answer of S3 to a request for them."""

from __future__ import annotations

import hashlib
import itertools
import re
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote
from xml.sax.saxutils import escape

from hostile.blobs import DECLARATION, WRITTEN, XML
from hostile.documents import (
    NAMESPACE,
    copied,
    crc_header,
    entry,
    folder,
    page,
    part_entry,
    parts_page,
    upload_entry,
    uploads_page,
)
from hostile.wire import Answer, Headers, Request

#: No part but the last is smaller.
PART = 5 << 20
COPIED = "x-amz-copy-source"
CHECKSUM, KIND = "x-amz-checksum-crc64nvme", "x-amz-checksum-type"
#: What is asked, by the path's depth, the method, and the first of these that the query or the headers have.
APIS = {
    (0, "GET", ""): "list-containers",
    (1, "GET", "list-type"): "list",
    (1, "GET", "uploads"): "uploads",
    (1, "HEAD", ""): "head-container",
    (1, "PUT", ""): "make",
    (1, "DELETE", ""): "remove",
    (1, "POST", "delete"): "delete-many",
    (2, "HEAD", ""): "head",
    (2, "GET", ""): "get",
    (2, "GET", "tagging"): "tags",
    (2, "PUT", ""): "put",
    (2, "PUT", COPIED): "copy",
    (2, "DELETE", ""): "delete",
    (2, "POST", "uploads"): "begin",
    (2, "PUT", "partNumber"): "put-block",
    (2, "POST", "uploadId"): "commit",
    (2, "GET", "uploadId"): "blocks",
    (2, "DELETE", "uploadId"): "abort",
}
TELLING = ("list-type", "uploads", "delete", "tagging", "partNumber", "uploadId", COPIED)


@dataclass(frozen=True)
class Object:
    """An object and what is stored with it."""

    content: bytes
    etag: str
    content_type: str = "application/octet-stream"
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def headers(self) -> Headers:
        """What every answer that tells of the object says."""
        return (
            ("Last-Modified", WRITTEN),
            ("ETag", f'"{self.etag}"'),
            ("Content-Type", self.content_type),
            *((f"x-amz-meta-{name}", value) for name, value in self.metadata.items()),
        )


@dataclass
class Upload:
    """An upload that is neither finished nor removed."""

    bucket: str
    key: str
    headers: Mapping[str, str]
    parts: dict[int, bytes] = field(default_factory=dict)

    @property
    def algorithm(self) -> str:
        return self.headers.get("x-amz-checksum-algorithm", "")


def pieces(content: bytes) -> list[bytes]:
    """Return the smallest parts of an upload."""
    return [content[at : at + PART] for at in range(0, len(content), PART)]


def named_in(body: bytes) -> list[str]:
    """Return the names in a request that deletes many."""
    return [key.text or "" for key in ElementTree.fromstring(body).iter() if key.tag.endswith("Key")]


def refusal(status: int, code: str, message: str = "It says why.") -> Answer:
    """Answer with an error of the service."""
    return _ok(f"{DECLARATION}<Error><Code>{code}</Code><Message>{message}</Message></Error>", status)


def read(request: Request, there: Object) -> Answer:
    """Answer with the object, with a range of it, or with what is known of it."""
    if request.range is None:
        told: Headers = (("Content-Length", str(len(there.content))),)
        if request.headers.get("x-amz-checksum-mode") == "ENABLED":
            told = (*told, (CHECKSUM, crc_header(there.content)), (KIND, "FULL_OBJECT"))
        return Answer(200, (*there.headers, *told), there.content)
    first, end = request.range
    part = there.content[first:end]
    if not part:
        return refusal(416, "InvalidRange")
    held = f"bytes {first}-{first + len(part) - 1}/{len(there.content)}"
    return Answer(206, (*there.headers, ("Content-Range", held), ("Content-Length", str(len(part)))), part)


class Objects:
    """Buckets with objects and uploads."""

    #: Where the service is, below its host.
    path = ""

    def __init__(self, contents: Mapping[str, bytes], page_size: int) -> None:
        """Take objects by `bucket/key`."""
        self._lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._page_size = page_size
        self.containers: dict[str, dict[str, Object]] = {}
        self.uploads: dict[str, Upload] = {}
        for name, content in contents.items():
            bucket, _, key = name.partition("/")
            self.containers.setdefault(bucket, {})[key] = Object(content, self._etag())

    @staticmethod
    def named(request: Request) -> Request:
        """Return the request with what it asks for, and of what."""
        bucket, key = (*request.target.partition("?")[0].split("/", 2)[1:], "")[:2]
        depth = 0 if not bucket else 1 if not key else 2
        told = next((name for name in TELLING if name in {*request.query, *request.headers}), "")
        api = APIS.get((depth, request.method, told), "unknown")
        if api == "put-block" and COPIED in request.headers:
            api = "copy-part"
        return replace(request, api=api, container=bucket, key=unquote(key, errors="surrogateescape"))

    def answer(self, request: Request) -> Answer:
        """Answer honestly, and do what is asked."""
        with self._lock:
            answer = self._answer(request)
        return replace(answer, headers=(*answer.headers, ("x-amz-request-id", f"{next(self._numbers):016X}")))

    def _answer(self, request: Request) -> Answer:
        if request.api == "list-containers":
            names = "".join(f"<Bucket><Name>{name}</Name></Bucket>" for name in sorted(self.containers))
            return _ok(
                f"{DECLARATION}<ListAllMyBucketsResult><Buckets>{names}</Buckets></ListAllMyBucketsResult>"
            )
        if request.api == "make":
            self.containers.setdefault(request.container, {})
            return Answer(200, (("Location", f"/{request.container}"), ("Content-Length", "0")))
        there = self.containers.get(request.container)
        if there is None:
            return refusal(404, "NoSuchBucket")
        answers = {
            "list": self._page,
            "uploads": self._uploads,
            "head-container": lambda _request, _there: Answer(200, (("Content-Length", "0"),)),
            "remove": self._remove,
            "delete-many": self._delete_many,
            "put": self._put,
            "copy": self._copy,
            "begin": self._begin,
            "put-block": self._put_part,
            "copy-part": self._copy_part,
            "commit": self._complete,
            "blocks": self._parts,
            "abort": self._abort,
        }
        if request.api in answers:
            return answers[request.api](request, there)
        found = there.get(request.key)
        if request.api == "delete":
            there.pop(request.key, None)
            return Answer(204)
        if found is None:
            return refusal(404, "NoSuchKey")
        if request.api == "tags":
            return _ok(f"{DECLARATION}<Tagging {NAMESPACE}><TagSet></TagSet></Tagging>")
        if request.headers.get("if-match", f'"{found.etag}"') != f'"{found.etag}"':
            return refusal(412, "PreconditionFailed")
        return read(request, found)

    def _page(self, request: Request, there: Mapping[str, Object]) -> Answer:
        asked = request.query
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        after = _after(asked.get("continuation-token", ""))
        found: dict[str, str] = {}
        for key in sorted(there, key=lambda key: key.encode("utf-8", "surrogateescape")):
            rest = key.removeprefix(prefix)
            below, cut, _ = rest.partition(delimiter) if delimiter else ("", "", "")
            name = prefix + below + cut if cut else key
            if key.startswith(prefix) and name > after:
                found[name] = folder(name) if cut else entry(key, len(there[key].content), there[key].etag)
        most = min(self._page_size, int(asked.get("max-keys", "1000")))
        shown = list(found)[:most]
        more = shown[-1].encode("utf-8", "surrogateescape").hex() if len(found) > len(shown) else ""
        return _ok(page(request, (found[name] for name in shown), more))

    def _remove(self, request: Request, there: Mapping[str, Object]) -> Answer:
        if there:
            return refusal(409, "BucketNotEmpty")
        del self.containers[request.container]
        return Answer(204)

    def _delete_many(self, request: Request, there: dict[str, Object]) -> Answer:
        names = named_in(request.body)
        for name in names:
            there.pop(name, None)
        told = "".join(f"<Deleted><Key>{escape(name)}</Key></Deleted>" for name in names)
        return _ok(f"{DECLARATION}<DeleteResult {NAMESPACE}>{told}</DeleteResult>")

    def _put(self, request: Request, there: dict[str, Object]) -> Answer:
        if request.headers.get("if-none-match") == "*" and request.key in there:
            return refusal(412, "PreconditionFailed")
        there[request.key] = self._stored(request.body, request.headers)
        echo = _echo(request)
        return Answer(200, (("ETag", f'"{there[request.key].etag}"'), *echo, ("Content-Length", "0")))

    def _copy(self, request: Request, there: dict[str, Object]) -> Answer:
        source = self._source(request)
        if isinstance(source, Answer):
            return source
        there[request.key] = replace(source, etag=self._etag())
        return _ok(copied("CopyObjectResult", there[request.key].etag, source.content))

    def _copy_part(self, request: Request, _there: Mapping[str, Object]) -> Answer:
        upload, source = self.uploads.get(request.query["uploadId"]), self._source(request)
        if upload is None:
            return refusal(404, "NoSuchUpload")
        if isinstance(source, Answer):
            return source
        first, _, last = (
            request.headers.get("x-amz-copy-source-range", "bytes=0-").partition("=")[2].partition("-")
        )
        part = source.content[int(first) : int(last) + 1 if last else None]
        upload.parts[int(request.query["partNumber"])] = part
        return _ok(copied("CopyPartResult", hashlib.md5(part).hexdigest(), part))

    def _source(self, request: Request) -> Object | Answer:
        bucket, _, key = unquote(request.headers[COPIED]).lstrip("/").partition("/")
        source = self.containers.get(bucket, {}).get(key)
        if source is None:
            return refusal(404, "NoSuchKey")
        wanted = request.headers.get(f"{COPIED}-if-match", f'"{source.etag}"')
        return source if wanted == f'"{source.etag}"' else refusal(412, "PreconditionFailed")

    def _begin(self, request: Request, _there: Mapping[str, Object]) -> Answer:
        number = f"upload-{next(self._numbers)}"
        self.uploads[number] = Upload(request.container, request.key, request.headers)
        return _ok(
            f"{DECLARATION}<InitiateMultipartUploadResult><Bucket>{request.container}</Bucket>"
            f"<Key>{escape(request.key)}</Key><UploadId>{number}</UploadId></InitiateMultipartUploadResult>"
        )

    def _put_part(self, request: Request, _there: Mapping[str, Object]) -> Answer:
        upload = self.uploads.get(request.query["uploadId"])
        if upload is None:
            return refusal(404, "NoSuchUpload")
        upload.parts[int(request.query["partNumber"])] = request.body
        etag = hashlib.md5(request.body).hexdigest()
        return Answer(200, (("ETag", f'"{etag}"'), *_echo(request), ("Content-Length", "0")))

    def _complete(self, request: Request, there: dict[str, Object]) -> Answer:
        upload = self.uploads.get(request.query["uploadId"])
        if upload is None:
            return refusal(404, "NoSuchUpload")
        if request.headers.get("if-none-match") == "*" and request.key in there:
            return refusal(412, "PreconditionFailed")
        named = re.findall(rb"<PartNumber>(\d+)</PartNumber><ETag>&quot;(.*?)&quot;", request.body)
        content = b""
        for number, etag in named:
            part = upload.parts.get(int(number))
            if part is None or hashlib.md5(part).hexdigest().encode() != etag:
                return refusal(400, "InvalidPart")
            content += part
        del self.uploads[request.query["uploadId"]]
        there[request.key] = self._stored(content, upload.headers)
        return _ok(
            f"{DECLARATION}<CompleteMultipartUploadResult><Bucket>{request.container}</Bucket>"
            f"<Key>{escape(request.key)}</Key><ETag>&quot;{there[request.key].etag}&quot;</ETag>"
            f"<ChecksumCRC64NVME>{crc_header(content)}</ChecksumCRC64NVME>"
            "<ChecksumType>FULL_OBJECT</ChecksumType></CompleteMultipartUploadResult>"
        )

    def _uploads(self, request: Request, _there: Mapping[str, Object]) -> Answer:
        prefix = request.query.get("prefix", "")
        of_bucket = (item for item in self.uploads.items() if item[1].bucket == request.container)
        found = [upload_entry(one.key, name) for name, one in of_bucket if one.key.startswith(prefix)]
        return _ok(uploads_page(request, found))

    def _parts(self, request: Request, _there: Mapping[str, Object]) -> Answer:
        upload = self.uploads.get(request.query["uploadId"])
        if upload is None:
            return refusal(404, "NoSuchUpload")
        parts = sorted(upload.parts.items())
        told = [
            part_entry(number, len(data), hashlib.md5(data).hexdigest(), crc_header(data))
            for number, data in parts
        ]
        return _ok(parts_page(request, told, algorithm=upload.algorithm))

    def _abort(self, request: Request, _there: Mapping[str, Object]) -> Answer:
        gone = self.uploads.pop(request.query["uploadId"], None)
        return Answer(204) if gone else refusal(404, "NoSuchUpload")

    def _stored(self, content: bytes, headers: Mapping[str, str]) -> Object:
        meta = {name[11:]: value for name, value in headers.items() if name.startswith("x-amz-meta-")}
        return Object(content, self._etag(), headers.get("content-type", "binary/octet-stream"), meta)

    def _etag(self) -> str:
        return f"{next(self._numbers):032x}"


def _after(token: str) -> str:
    """Return the name after which a page begins; a token that is none of ours leads back to the first."""
    try:
        return bytes.fromhex(token).decode("utf-8", "surrogateescape")
    except ValueError:
        return ""


def _ok(body: str | bytes, status: int = 200) -> Answer:
    data = body if isinstance(body, bytes) else body.encode("utf-8", "surrogateescape")
    return Answer(status, (("Content-Type", XML), ("Content-Length", str(len(data)))), data)


def _echo(request: Request) -> Headers:
    """What the service says that it received: the checksum that was sent, of what arrived."""
    return ((CHECKSUM, crc_header(request.body)),) if CHECKSUM in request.headers else ()
