"""What a search finds among millions of names."""

from __future__ import annotations

from collections.abc import Sequence

from haulage.view.index import zarr
from haulage.view.joining.names import may_be_joined, series
from haulage.view.reading.place import Entry

#: Groups of files that belong together, in one answer.
_MOST_SERIES = 50


class Search:
    """What a search finds among names.

    Args:
        names: What is listed.
        text: Words that each name must hold.
    """

    def __init__(self, names: Sequence[Entry], text: str) -> None:
        self.names, self.text = names, text
        stores, words = zarr.roots(one.key for one in names), text.lower().split()
        found = _stores_as_one(names, stores) if stores else names
        if words:
            found = [one for one in found if all(word in one.key.lower() for word in words)]
        #: In the order of their names; each store is one.
        self.entries = found
        sizes = {one.key: one.size_bytes for one in found if may_be_joined(one.key)}
        #: What may be shown as one.
        self.series = [
            {"name": pattern, "files": len(members), "size": sum(sizes[name] for name in members)}
            for pattern, members in list(series(sizes).items())[:_MOST_SERIES]
        ]


def _stores_as_one(found: Sequence[Entry], stores: dict[str, str]) -> list[Entry]:
    """Return one entry for each Zarr store, of the size of all its objects, in place of these."""
    sizes = dict.fromkeys(stores, 0)
    shown = []
    for meta in found:
        folder = zarr.store_of(meta.key, stores)
        if folder is None:
            shown.append(meta)
            continue
        sizes[folder] += meta.size_bytes
        if meta.key == stores[folder]:
            shown.append(meta)
    of = {name: sizes[folder] for folder, name in stores.items()}
    return [one._replace(size_bytes=of[one.key]) if one.key in of else one for one in shown]
