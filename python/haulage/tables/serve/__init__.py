"""A read-only proxy that serves the rows of tables and Parquet files over HTTP (``haul table serve``).

A request goes through ``app`` (access, and which table), ``asking`` (which rows, in which format), a source
(``table_source``, ``parquet_source``), ``encoding`` (entities as JSON, CSV, Atom, Arrow) and, for all rows at
once, ``streaming``.
"""
