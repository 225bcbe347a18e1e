"""Put manual pages, completions and notices into a wheel: `packaging/complete_wheel.py WHEEL FOLDER NOTICES`.

FOLDER has what goes below the prefix of an environment: `share/man/man1/haul.1` becomes
`venv/share/man/man1/haul.1`, where `man` looks once `venv/bin` is in PATH.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: The same bytes make the same wheel.
WHEN = (2020, 1, 1, 0, 0, 0)


def complete(wheel: Path, folder: Path, notices: Path) -> None:
    """Add the files and write the record of the wheel anew."""
    with zipfile.ZipFile(wheel) as old:
        files = [(info, old.read(info)) for info in old.infolist()]
    record = next(info.filename for info, _ in files if info.filename.endswith(".dist-info/RECORD"))
    information = record.removesuffix("RECORD")
    # So that it can be done again.
    data = information.replace(".dist-info/", ".data/data/")
    kept = [(i, b) for i, b in files if i.filename != record and not i.filename.startswith(data)]
    kept = [(i, b) for i, b in kept if i.filename != f"{information}licenses/{notices.name}"]
    kept = [(i, _with_notices(b, notices.name) if i.filename.endswith("/METADATA") else b) for i, b in kept]
    # The list of parts names ours by the folder in which they were compiled.
    kept = [(i, _without_folder(b) if "/sboms/" in i.filename else b) for i, b in kept]
    added = {data + path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    added[f"{information}licenses/{notices.name}"] = notices
    kept += [(_info(name), path.read_bytes()) for name, path in sorted(added.items())]
    kept.append((_info(record), _record([(info.filename, content) for info, content in kept], record)))
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for info, content in kept:
            new.writestr(info, content, zipfile.ZIP_DEFLATED, 9)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, WHEN)
    info.external_attr = 0o100644 << 16
    return info


def _with_notices(metadata: bytes, name: str) -> bytes:
    """Name the notices beside the licence."""
    head, gap, body = metadata.decode().partition("\n\n")
    line = f"License-File: {name}"
    return (head if line in head.split("\n") else f"{head}\n{line}").encode() + gap.encode() + body.encode()


def _without_folder(parts: bytes) -> bytes:
    return parts.replace(f"file://{ROOT}/".encode(), b"file:///haulage/")


def _record(files: list[tuple[str, bytes]], record: str) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for name, content in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        rows.writerow([name, f"sha256={digest}", len(content)])
    rows.writerow([record, "", ""])
    return text.getvalue().encode()


if __name__ == "__main__":
    complete(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
