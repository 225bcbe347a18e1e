"""A proxy that serves rows of tables and of Parquet files over HTTP (``haul table serve``). It only reads.

A request passes ``app`` (who asks, for which table), ``asking`` (for which rows, in which form), a source
(``table_source``, ``parquet_source``), ``encoding`` (entities as JSON, CSV, Atom, Arrow) and, for all rows at
once, ``streaming``.
"""
