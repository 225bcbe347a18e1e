"""What a person would write who moves files with azure-storage-blob: blocks of 8 MiB, 8 side by side.

The words are those of obstore_run.py.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

BLOCK = 8 << 20
#: Its own default is 1, which nobody who is in a hurry leaves.
CONCURRENCY = 8
#: Files at a time; its pool of connections holds ten.
AT_A_TIME = 10


def account() -> Any:
    """Return the client of the container that the environment names."""
    service = import_module("azure.storage.blob").BlobServiceClient(
        os.environ["BENCH_URL"],
        credential={"account_name": os.environ["BENCH_ACCOUNT"], "account_key": os.environ["BENCH_KEY"]},
        max_block_size=BLOCK,
        max_single_put_size=BLOCK,
        max_single_get_size=BLOCK,
        max_chunk_get_size=BLOCK,
    )
    return service.get_container_client(os.environ["BENCH_CONTAINER"])


def up(container: Any, source: Path, name: str) -> None:
    """Upload one file."""
    with source.open("rb") as file:
        container.upload_blob(name, file, overwrite=True, max_concurrency=CONCURRENCY)


def down(container: Any, name: str, target: Path) -> None:
    """Download one blob."""
    with target.open("wb") as file:
        container.download_blob(name, max_concurrency=CONCURRENCY).readinto(file)


def up_many(container: Any, folder: Path, prefix: str) -> None:
    """Upload the files of a folder."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(lambda path: up(container, path, f"{prefix}/{path.name}"), folder.iterdir()))


def down_many(container: Any, prefix: str, folder: Path) -> None:
    """Download all below a prefix."""
    folder.mkdir()
    names = container.list_blob_names(name_starts_with=f"{prefix}/")
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(lambda name: down(container, name, folder / Path(name).name), names))


def main(verb: str, *words: str) -> None:
    """Do what the first word says."""
    if verb == "version":
        print(f"azure-storage-blob {version('azure-storage-blob')}")
        return
    container = account()
    if verb == "up":
        up(container, Path(words[0]), words[1])
    elif verb == "down":
        down(container, words[0], Path(words[1]))
    elif verb == "up-many":
        up_many(container, Path(words[0]), words[1])
    elif verb == "down-many":
        down_many(container, words[0], Path(words[1]))
    elif verb == "list":
        print(sum(1 for _ in container.list_blob_names(name_starts_with=words[0])))
    else:
        sys.exit(f"unknown: {verb}")


if __name__ == "__main__":
    main(*sys.argv[1:])
