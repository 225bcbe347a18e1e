"""View climate data in place: NetCDF in an object store, read by ranges (``haul view``, ``haul index``).

A view goes through ``reading`` (ranges of objects, pinned to a version), ``index`` (the contents of a file
and where they are), ``decode`` (the chunks that a slab needs), ``cf`` (axes, calendars, grids) and ``serve``
(the HTTP server).
"""
