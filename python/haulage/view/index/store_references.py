"""References to the objects of a Zarr store, in the form of kerchunk: its metadata, and each chunk."""

from __future__ import annotations

from typing import Any

from haulage.errors import NotFoundError, ProtocolError
from haulage.view.index import zarr
from haulage.view.reading.objects import Objects
from haulage.view.reading.place import Place


def store_references(
    place: Place, root: str, as_url: str | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the references of a store, and which of its arrays no reader takes; chunks stay objects.

    Args:
        place: Where it is, listed.
        root: The object that describes it.
        as_url: The URL that readers open in place of its folder.

    Raises:
        ProtocolError: Its metadata is broken.
    """
    folder = root[: root.rfind("/") + 1]
    names = [meta.key for meta in place.names()[0] if meta.key.startswith(folder)]
    described = zarr.documents_of(root, names)
    read = dict(zip(described, Objects("", place.reach).read(described), strict=True))
    bodies = {name: body for name, body in read.items() if body is not None}
    if root not in bodies:
        raise NotFoundError("index", root, "it was removed meanwhile", "run the command again")
    index = zarr.read(root, bodies)
    refs: dict[str, Any] = {}
    for name, body in bodies.items():
        try:
            refs[name[len(folder) :]] = body.decode()
        except UnicodeDecodeError:
            hint = "write the store again, with zarr-python or xarray"
            raise ProtocolError("index", name, "it is not JSON", hint) from None
    before = f"{as_url.rstrip('/')}/" if as_url else None
    for name in names:
        if name not in read:
            key = name[len(folder) :]
            refs[key] = [before + key if before else place.url_of(name)]
    return {"version": 1, "refs": refs}, dict(index.left_out) if index else {}
