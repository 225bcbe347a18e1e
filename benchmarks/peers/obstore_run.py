"""What a person would write who moves files with obstore: its defaults, many files side by side.

`obstore_run.py up FILE NAME`, `down NAME FILE`, `up-many FOLDER PREFIX`, `down-many PREFIX FOLDER`,
`list PREFIX`, `version`. The account comes from BENCH_URL, BENCH_CONTAINER, BENCH_ACCOUNT, BENCH_KEY;
without the last two it is one of S3, whose keys are where AWS's clients look.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

#: Files at a time. obstore leaves this to its caller; more made none of our cases quicker.
AT_A_TIME = 64

# By name, because it is installed only where this runs, not where types are checked.
obstore: Any = import_module("obstore")


def account() -> Any:
    """Return the store that the environment names."""
    url, bucket = os.environ["BENCH_URL"], os.environ["BENCH_CONTAINER"]
    stores = import_module("obstore.store")
    if "BENCH_KEY" not in os.environ:
        return stores.S3Store(bucket, endpoint=url, client_options={"allow_http": url.startswith("http:")})
    return stores.AzureStore(
        bucket,
        account_name=os.environ["BENCH_ACCOUNT"],
        account_key=os.environ["BENCH_KEY"],
        endpoint=url,
        client_options={"allow_http": url.startswith("http:")},
    )


def down(store: Any, name: str, target: Path) -> None:
    """Stream one object into a file."""
    with target.open("wb") as file:
        for piece in obstore.get(store, name).stream():
            file.write(piece)


async def side_by_side(one: Callable[[Any], Awaitable[None]], many: Iterable[Any]) -> None:
    """Do ``one`` to each of ``many``, some at a time."""
    gate = asyncio.Semaphore(AT_A_TIME)

    async def gated(item: Any) -> None:
        async with gate:
            await one(item)

    await asyncio.gather(*(gated(item) for item in many))


def up_many(store: Any, folder: Path, prefix: str) -> None:
    """Upload the files of a folder."""

    async def one(path: Path) -> None:
        await obstore.put_async(store, f"{prefix}/{path.name}", path)

    asyncio.run(side_by_side(one, folder.iterdir()))


def down_many(store: Any, prefix: str, folder: Path) -> None:
    """Download all below a prefix."""
    folder.mkdir()

    async def one(meta: Any) -> None:
        got = await obstore.get_async(store, meta["path"])
        with (folder / Path(meta["path"]).name).open("wb") as file:
            async for piece in got.stream():
                file.write(piece)

    found = (meta for batch in obstore.list(store, prefix) for meta in batch)
    asyncio.run(side_by_side(one, found))


def main(verb: str, *words: str) -> None:
    """Do what the first word says."""
    if verb == "version":
        print(f"obstore {version('obstore')}")
        return
    store = account()
    if verb == "up":
        obstore.put(store, words[1], Path(words[0]))
    elif verb == "down":
        down(store, words[0], Path(words[1]))
    elif verb == "up-many":
        up_many(store, Path(words[0]), words[1])
    elif verb == "down-many":
        down_many(store, words[0], Path(words[1]))
    elif verb == "list":
        print(sum(len(batch) for batch in obstore.list(store, words[0])))
    else:
        sys.exit(f"unknown: {verb}")


if __name__ == "__main__":
    main(*sys.argv[1:])
