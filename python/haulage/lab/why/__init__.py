"""``haul why``: where the time of a real job went, what limited it, how sure that is, what would settle it.

The flow: :mod:`record` opens the file, :mod:`asking` runs the lab's own queries over it, :mod:`phases` parts
the job where its rate changed, :mod:`fit` splits the time of requests, :mod:`cause` names what limited them,
and :mod:`words`, :mod:`text` and :mod:`page` say so.

>>> from haulage.lab.why import explain  # doctest: +SKIP
>>> explain("run.parquet").whole.cause.cause  # doctest: +SKIP
'connection-rate'
"""

from haulage.lab.why.answer import as_dict
from haulage.lab.why.explain import Explanation, explain
from haulage.lab.why.page import page

__all__ = ["Explanation", "as_dict", "explain", "page"]
