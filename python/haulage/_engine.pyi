# The bindings, by hand; `make check` compares them with the built module (stubtest).
# Options are the keyword arguments of `haulage.copy`; None stands for the engine's default.
from collections.abc import Callable, Sequence
from datetime import datetime
from os import PathLike
from typing import Any, Final, final

__all__ = [
    "VERSION",
    "AzureCredential",
    "Coordinator",
    "Emulator",
    "EventLog",
    "Job",
    "Listing",
    "Node",
    "Reader",
    "S3Credential",
    "Session",
    "Table",
    "TableExport",
    "TableImport",
    "Writer",
    "coordinate",
    "coordinate_sync",
    "error_kinds",
    "generate",
    "get",
    "get_first",
    "get_ranges",
    "hear_decisions",
    "heard",
    "identity",
    "knock",
    "main",
    "make_container",
    "plan",
    "presign",
    "put",
    "read_pairs",
    "remove",
    "remove_container",
    "say_decisions",
    "stat",
    "table_compare",
    "table_page_arrow",
    "way",
]

VERSION: Final[str]

def main(argv: Sequence[str], /) -> int | tuple[str, str, dict[str, Any]]: ...
def error_kinds() -> dict[str, int]: ...
def plan(
    sources: Sequence[str | PathLike[str]], destination: str | PathLike[str], /, **options: object
) -> dict[str, Any]: ...
def read_pairs(path: str | PathLike[str], /) -> list[tuple[str, str]]: ...
def generate(name: str | PathLike[str], /, size_bytes: int, seed: int) -> None: ...
def stat(url: str | PathLike[str], /, **options: object) -> dict[str, Any]: ...
def presign(url: str | PathLike[str], /, *, write: bool, expires: str, **options: object) -> str: ...
def say_decisions(level: int, /) -> None: ...
def hear_decisions(level: int, /) -> None: ...
def heard(timeout_s: float, /) -> list[tuple[int, str]] | None: ...
def way(url: str | PathLike[str], /, **options: object) -> dict[str, Any]: ...
def identity(url: str | PathLike[str], /, **options: object) -> dict[str, Any]: ...
def knock(
    url: str | PathLike[str], times: int, crc64: bool, /, **options: object
) -> list[dict[str, Any]]: ...
def put(url: str | PathLike[str], data: bytes, /, **options: object) -> dict[str, Any]: ...
def get(url: str | PathLike[str], /, **options: object) -> bytes: ...
def get_first(url: str | PathLike[str], size: int, /, **options: object) -> tuple[dict[str, Any], bytes]: ...
def get_ranges(
    url: str | PathLike[str],
    ranges: Sequence[tuple[int, int | None]],
    /,
    version: str | None = None,
    **options: object,
) -> list[bytes]: ...
def remove(
    urls: Sequence[str | PathLike[str]],
    /,
    *,
    recursive: bool,
    dry_run: bool,
    max_delete: int | None,
    include: Sequence[str],
    exclude: Sequence[str],
    **options: object,
) -> dict[str, Any]: ...
def make_container(url: str | PathLike[str], /, **options: object) -> None: ...
def remove_container(
    url: str | PathLike[str],
    /,
    *,
    force: bool,
    dry_run: bool,
    max_delete: int | None,
    **options: object,
) -> dict[str, Any]: ...

@final
class Job:
    @staticmethod
    def copy(
        sources: Sequence[str | PathLike[str]], destination: str | PathLike[str], /, **options: object
    ) -> Job: ...
    @staticmethod
    def copy_pairs(
        pairs: Sequence[tuple[str | PathLike[str], str | PathLike[str]]], /, **options: object
    ) -> Job: ...
    @staticmethod
    def verify(
        source: str | PathLike[str],
        destination: str | PathLike[str],
        /,
        stored: bool,
        deep: bool,
        **options: object,
    ) -> Job: ...
    @staticmethod
    def sync(
        source: str | PathLike[str],
        destination: str | PathLike[str],
        /,
        delete: bool,
        max_delete: str | None,
        allow_empty: bool,
        **options: object,
    ) -> Job: ...
    @staticmethod
    def move_(
        sources: Sequence[str | PathLike[str]], destination: str | PathLike[str], /, **options: object
    ) -> Job: ...
    def start(self, *, listen: bool) -> None: ...
    def next_events(self, max: int, /) -> list[dict[str, Any]]: ...
    def progress(self) -> dict[str, Any] | None: ...
    def cancel(self) -> None: ...
    def set_cap(self, rate: str | None, /) -> None: ...
    def wait(self, on_progress: Callable[[dict[str, Any]], object] | None = None) -> dict[str, Any]: ...

@final
class Coordinator:
    def job(self) -> str: ...
    def urls(self) -> list[str]: ...
    def spec(self) -> bytes: ...
    def phase(self) -> str: ...
    def next(self, nodes: int, /) -> tuple[int, int, int, bytes] | None: ...
    def came(self, result: bytes, /) -> None: ...
    def beat(self, beat: bytes, /) -> None: ...
    def clock(self, node: str, offset_ns: int, /) -> None: ...
    def gone(self, node: str, /) -> None: ...
    def warn(self, object: str, words: str, /) -> None: ...
    def lost(self, shard: int, /) -> None: ...
    def failed(
        self, shard: int, kind: str, operation: str, object: str, cause: str, hint: str | None, /
    ) -> None: ...
    def fail(self, kind: str, object: str, cause: str, hint: str | None, /) -> None: ...
    def allowances(self) -> list[tuple[str, int | None, float | None]]: ...
    def ended(self, end: bytes, record: bytes | None, /) -> None: ...
    def finish(self) -> None: ...

@final
class Node:
    def __new__(cls, spec: bytes, name: str, /, *, record: str | PathLike[str] | None) -> Node: ...
    def run(self, shard: bytes, /, *, again: bool, stopped: Callable[[], bool]) -> bytes: ...
    def beat(self) -> bytes: ...
    def allow(self, bits_per_second: int | None, requests_per_second: float | None, /) -> None: ...
    def has_ended(self) -> bool: ...
    def cancel(self) -> None: ...
    def end(self) -> bytes: ...

def coordinate(
    sources: Sequence[str | PathLike[str]],
    destination: str | PathLike[str] | None,
    pairs: Sequence[tuple[str | PathLike[str], str | PathLike[str]]],
    /,
    listen: bool,
    **options: object,
) -> tuple[Job, Coordinator]: ...
def coordinate_sync(
    source: str | PathLike[str],
    destination: str | PathLike[str],
    /,
    listen: bool,
    delete: bool,
    max_delete: str | None,
    allow_empty: bool,
    **options: object,
) -> tuple[Job, Coordinator]: ...

@final
class Listing:
    def __new__(cls, url: str | PathLike[str], /, recursive: bool, **options: object) -> Listing: ...
    def next_page(self) -> dict[str, Any] | None: ...

@final
class Reader:
    def __new__(
        cls, url: str | PathLike[str], /, version: str | None = None, **options: object
    ) -> Reader: ...
    def meta(self) -> dict[str, Any]: ...
    def read_at(self, offset: int, size: int, /) -> bytes: ...
    def is_foreign(self) -> bool: ...

@final
class Writer:
    def __new__(cls, url: str | PathLike[str], /, **options: object) -> Writer: ...
    def write(self, data: bytes, /) -> None: ...
    def commit(self) -> dict[str, Any]: ...
    def discard(self) -> None: ...

@final
class AzureCredential:
    def __new__(
        cls, kind: str, secret: object, /, account: str | None, endpoint: str | None
    ) -> AzureCredential: ...
    @property
    def account(self) -> str | None: ...

@final
class S3Credential:
    def __new__(
        cls,
        *,
        keys: tuple[str, str, str | None] | None,
        profile: str | None,
        endpoint: str | None,
        region: str | None,
    ) -> S3Credential: ...

@final
class Session:
    def __new__(cls, credentials: Sequence[AzureCredential | S3Credential], /) -> Session: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...

@final
class EventLog:
    def __new__(
        cls,
        url: str | PathLike[str],
        /,
        *,
        job: str | None = None,
        node: str | None = None,
        spool: str | PathLike[str] | None = None,
        **options: object,
    ) -> EventLog: ...
    @property
    def job(self) -> str: ...
    @property
    def node(self) -> str: ...
    @property
    def stream(self) -> str: ...
    @property
    def dropped(self) -> int: ...
    def say(self, event: str, fields: str, /) -> None: ...
    def beat(self, seconds: float, /) -> None: ...
    def flush(self, seconds: float, /) -> bool: ...
    def close(self, seconds: float, /) -> bool: ...

@final
class Table:
    def __new__(cls, url: str | PathLike[str], /, **options: object) -> Table: ...
    @property
    def name(self) -> str: ...
    @property
    def url(self) -> str: ...
    def page(
        self,
        *,
        filter: str | None = None,
        select: Sequence[str] | None = None,
        top: int | None = None,
        next: tuple[str, str | None] | None = None,
        level: str = "minimal",
    ) -> tuple[bytes, str, tuple[str, str | None] | None]: ...
    def create(self) -> None: ...
    def remove(self, *, dry_run: bool = False) -> None: ...
    def names(self) -> list[str]: ...

@final
class TableExport:
    def __new__(
        cls,
        table: str | PathLike[str],
        path: str | PathLike[str],
        /,
        *,
        format: str | None = None,
        filter: str | None = None,
        select: Sequence[str] | None = None,
        queries: int | None = None,
        formulas: str | None = None,
        **options: object,
    ) -> TableExport: ...
    def run(self, on_progress: Callable[[dict[str, Any]], object] | None = None) -> dict[str, Any]: ...
    def progress(self) -> dict[str, Any]: ...

@final
class TableImport:
    def __new__(
        cls,
        source: str | PathLike[str],
        table: str | PathLike[str],
        /,
        *,
        format: str | None = None,
        mode: str = "replace",
        partition_key: str | None = None,
        row_key: str | None = None,
        exclude: Sequence[str] | None = None,
        index: str | None = None,
        create: bool = False,
        dead_letters: str | PathLike[str] | None = None,
        transactions: int | None = None,
        **options: object,
    ) -> TableImport: ...
    def run(self, on_progress: Callable[[dict[str, Any]], object] | None = None) -> dict[str, Any]: ...
    def progress(self) -> dict[str, Any]: ...

def table_compare(
    first: str | PathLike[str],
    second: str | PathLike[str],
    scratch: str | PathLike[str],
    /,
    **options: object,
) -> dict[str, Any]: ...
def table_page_arrow(body: bytes, /) -> bytes: ...

@final
class Emulator:
    def __new__(
        cls,
        *,
        store: str | None = None,
        link: str | None = None,
        faults: str | None = None,
        hierarchical: bool = False,
    ) -> Emulator: ...
    @property
    def endpoint(self) -> str: ...
    @property
    def connection_string(self) -> str: ...
    @property
    def s3(self) -> dict[str, str]: ...
    def sas(self, permissions: str, expires: datetime, /) -> str: ...
    def stats(self) -> dict[str, Any]: ...
    def close(self) -> None: ...
