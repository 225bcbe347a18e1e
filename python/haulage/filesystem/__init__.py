"""fsspec file systems: ``haulaz://container/path`` and ``hauls3://bucket/key``.

Once ``haulage[fsspec]`` is installed, xarray, pandas, pyarrow, DuckDB, Dask and everything else that accepts
fsspec URLs reads and writes through the engine; there is nothing to import or register.

>>> import fsspec
>>> type(fsspec.filesystem("haulaz")).__name__
'AzureFileSystem'

:func:`zarr_store` returns a store for Zarr 3.
"""

from __future__ import annotations

from haulage.lazy import importing

# As `typing.TYPE_CHECKING`: what needs fsspec or zarr is imported when it is first used.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from haulage.filesystem.base import (
        AzureFileSystem as AzureFileSystem,
        HaulageFileSystem as HaulageFileSystem,
        S3FileSystem as S3FileSystem,
    )
    from haulage.filesystem.store import ZarrStore as ZarrStore, zarr_store as zarr_store

__getattr__ = importing(
    __name__,
    {
        "haulage.filesystem.base": "AzureFileSystem HaulageFileSystem S3FileSystem",
        "haulage.filesystem.store": "ZarrStore zarr_store",
    },
    extras={"fsspec": "fsspec", "zarr": "zarr"},
)

__all__ = ["AzureFileSystem", "HaulageFileSystem", "S3FileSystem", "ZarrStore", "zarr_store"]
