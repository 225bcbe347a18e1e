"""``haul why``: where the time of a real job went, what limited it, how sure that is, what would settle it.

The flow: :mod:`record` opens the file, :mod:`asking` runs the lab's own queries over it, :mod:`phases` parts
the job where its rate changed, :mod:`explaining` has :mod:`haulage.causes` name what limited it, and
:mod:`words`, :mod:`text` and :mod:`drawing` say so.

>>> from haulage.lab.why.explaining import explain
>>> explain("nowhere.parquet")
Traceback (most recent call last):
haulage.errors.NotFoundError: read record nowhere.parquet: no such file (hint: check the path of the record)
"""
