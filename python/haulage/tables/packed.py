"""Files that are packed with gzip or Zstandard: read to their end and checked, which DuckDB does not do."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from haulage.errors import IntegrityError, UsageError
from haulage.tables.unreadable import unreadable

#: How packed files begin, by the ends of their names.
_MAGIC = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}
_PACKERS = {".gz": "gzip", ".zst": "Zstandard"}
_CHUNK = 1 << 20


def opened(path: Path) -> BinaryIO:
    """Return a file to read from, unpacked if its name ends in ``.gz`` or ``.zst``."""
    match path.suffix.lower():
        case ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        case ".zst":
            import pyarrow

            return cast(BinaryIO, io.BufferedReader(pyarrow.CompressedInputStream(str(path), "zstd"), _CHUNK))
        case _:
            return path.open("rb")


def check(path: Path) -> None:
    """Read a packed file to its end; of others only look at how they begin.

    Raises:
        IntegrityError: It is damaged: its end is missing, or its bytes do not fit its checksum.
        UsageError: It is packed, or not packed, against what its name says.
    """
    try:
        with path.open("rb") as file:
            begins = file.read(4)
    except OSError as error:
        raise unreadable(path, error) from error
    said = path.suffix.lower() if path.suffix.lower() in _MAGIC else None
    found = next((end for end, magic in _MAGIC.items() if begins.startswith(magic)), None)
    if said != found:
        cause = (
            f"it is packed with {_PACKERS[found]}, but its name does not end in {found}"
            if found is not None
            else f"its name ends in {said}, but it is not packed with {_PACKERS[said or '']}"
        )
        hint = f"rename it so that its name ends in {found}" if found else "rename it, or fetch it again"
        raise UsageError("read", str(path), cause, hint)
    if said is None:
        return
    try:
        with opened(path) as file:
            while file.read(_CHUNK):
                pass
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise unreadable(path, error) from error
        cause = f"the file is damaged: {str(error).rstrip('.')}"
        raise IntegrityError("read", str(path), cause, "fetch it again, or pack it again") from error
