"""What S3 writes: pages of lists, and what it says of copies and checksums."""

from __future__ import annotations

import base64
import functools
import threading
from collections.abc import Iterable
from urllib.parse import quote
from xml.sax.saxutils import escape

from crc64 import crc64
from hostile.blobs import DECLARATION
from hostile.wire import Request

NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
LISTED = "2021-01-01T00:00:00.000Z"
#: To look at mebibytes byte by byte takes a second, in which nobody else need do the same.
LARGE, _LOOKING = 1 << 20, threading.Lock()


def crc_header(data: bytes) -> str:
    """Return a CRC64 as the service writes it in headers."""
    if len(data) < LARGE:
        return _crc_header(data)
    with _LOOKING:
        return _crc_of_large(data)


@functools.lru_cache(maxsize=8)
def _crc_of_large(data: bytes) -> str:
    return _crc_header(data)


def _crc_header(data: bytes) -> str:
    return base64.b64encode(crc64(data).to_bytes(8, "big")).decode()


def entry(name: str, size: object = 1, etag: str = "e") -> str:
    """Return what a list says of an object."""
    return (
        f"<Contents><Key>{quoted(name)}</Key><LastModified>{LISTED}</LastModified>"
        f"<ETag>&quot;{etag}&quot;</ETag><Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
    )


def folder(name: str) -> str:
    """Return what a list says of a folder."""
    return f"<CommonPrefixes><Prefix>{quoted(name)}</Prefix></CommonPrefixes>"


def page(request: Request, entries: Iterable[str], token: str = "") -> bytes:
    """Return a page of a list as the service would write it for this request."""
    asked, held = request.query, list(entries)
    parts = [
        f"{DECLARATION}<ListBucketResult {NAMESPACE}><Name>{request.container}</Name>",
        f"<Prefix>{quoted(asked.get('prefix', ''))}</Prefix><EncodingType>url</EncodingType>",
        f"<Delimiter>{asked['delimiter']}</Delimiter>" if "delimiter" in asked else "",
        f"<KeyCount>{len(held)}</KeyCount><MaxKeys>{asked.get('max-keys', 1000)}</MaxKeys>",
        f"<IsTruncated>{'true' if token else 'false'}</IsTruncated>",
    ]
    if "continuation-token" in asked:
        parts.append(f"<ContinuationToken>{escape(asked['continuation-token'])}</ContinuationToken>")
    if token:
        parts.append(f"<NextContinuationToken>{escape(token)}</NextContinuationToken>")
    return "".join([*parts, *held, "</ListBucketResult>"]).encode()


def upload_entry(key: str, upload_id: str, begun: str = "2999-01-01T00:00:00.000Z") -> str:
    """Return what a list of uploads says of one."""
    return (
        f"<Upload><Key>{quoted(key)}</Key><UploadId>{escape(upload_id)}</UploadId>"
        f"<StorageClass>STANDARD</StorageClass><Initiated>{begun}</Initiated></Upload>"
    )


def uploads_page(request: Request, entries: Iterable[str], after: tuple[str, str] | None = None) -> bytes:
    """Return a page of a list of uploads; `after` says where the next begins."""
    more = ""
    if after:
        more = f"<NextKeyMarker>{quoted(after[0])}</NextKeyMarker>"
        more += f"<NextUploadIdMarker>{escape(after[1])}</NextUploadIdMarker>"
    return (
        f"{DECLARATION}<ListMultipartUploadsResult {NAMESPACE}><Bucket>{request.container}</Bucket>"
        f"<EncodingType>url</EncodingType><IsTruncated>{'true' if after else 'false'}</IsTruncated>{more}"
        f"{''.join(entries)}</ListMultipartUploadsResult>"
    ).encode()


def part_entry(number: object, size: object, etag: str = "e", crc: str = "") -> str:
    """Return what a list of parts says of one."""
    checksum = f"<ChecksumCRC64NVME>{crc}</ChecksumCRC64NVME>" if crc else ""
    return (
        f"<Part><PartNumber>{number}</PartNumber><LastModified>{LISTED}</LastModified>"
        f"<ETag>&quot;{etag}&quot;</ETag><Size>{size}</Size>{checksum}</Part>"
    )


def parts_page(
    request: Request, entries: Iterable[str], after: int = 0, algorithm: str = "CRC64NVME"
) -> bytes:
    """Return a page of a list of parts; `after` is the number after which the next begins."""
    declared = f"<ChecksumAlgorithm>{algorithm}</ChecksumAlgorithm>" if algorithm else ""
    more = f"<NextPartNumberMarker>{after}</NextPartNumberMarker>" if after else ""
    return (
        f"{DECLARATION}<ListPartsResult {NAMESPACE}><Bucket>{request.container}</Bucket>"
        f"<Key>{escape(request.key)}</Key><UploadId>{escape(request.query['uploadId'])}</UploadId>{declared}"
        f"<IsTruncated>{'true' if after else 'false'}</IsTruncated>{more}{''.join(entries)}</ListPartsResult>"
    ).encode()


def copied(root: str, etag: str, content: bytes) -> bytes:
    """Return what is said of a copy that the service has made."""
    checksum = f"<ChecksumCRC64NVME>{crc_header(content)}</ChecksumCRC64NVME>"
    return f"{DECLARATION}<{root}><ETag>&quot;{etag}&quot;</ETag>{checksum}</{root}>".encode()


def quoted(name: str) -> str:
    """Return a name as a list has it: as in the query of a URL."""
    return quote(name.encode("utf-8", "surrogateescape"), safe="/")
