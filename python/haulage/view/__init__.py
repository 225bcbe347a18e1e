"""Climate data seen where it lies: NetCDF in an object store, read by ranges (``haul view``, ``haul index``).

A view passes ``reading`` (objects, pinned to their version, by ranges), ``index`` (what is in a file and
where), ``decode`` (the chunks that a slab needs), ``cf`` (axes, calendars, grids) and ``serve`` (answers
over HTTP).
"""
