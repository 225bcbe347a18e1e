"""Choose table keys that fit the data and the expected queries.

>>> from haulage.tables.plan import propose
>>> plan = propose({"station": ["a", "a", "b"], "day": [1, 2, 1]}, ["station = ? and day = ?"])
>>> plan.command("obs")
"haul table import data.parquet az-table://obs --partition-key '{station}' --row-key '{day:02}'"
"""

# As `typing.TYPE_CHECKING`: what needs DuckDB is imported when it is first used, so that help comes at once.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from haulage.tables.index import IndexPlan, index_plan
    from haulage.tables.plan.predicting import Prediction
    from haulage.tables.plan.proposing import Plan, choose, predict, propose, reasons

__all__ = ["IndexPlan", "Plan", "Prediction", "choose", "index_plan", "predict", "propose", "reasons"]

_HOME_OF = {"IndexPlan": "index", "index_plan": "index", "Prediction": "plan.predicting"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"haulage.tables.{_HOME_OF.get(name, 'plan.proposing')}"), name)
