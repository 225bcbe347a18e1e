"""Choose table keys that fit the data and the expected queries.

>>> from haulage.tables.plan import propose
>>> plan = propose({"station": ["a", "a", "b"], "day": [1, 2, 1]}, ["station = ? and day = ?"])
>>> plan.command("obs")
"haul table import data.parquet az-table://obs --partition-key '{station}' --row-key '{day:02}'"
"""

from haulage.lazy import importing

# As `typing.TYPE_CHECKING`: what needs DuckDB is imported when it is first used, so that help comes at once.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from haulage.tables.index import IndexPlan, index_plan
    from haulage.tables.plan.predicting import Prediction
    from haulage.tables.plan.proposing import Plan, choose, predict, propose, reasons

__all__ = ["IndexPlan", "Plan", "Prediction", "choose", "index_plan", "predict", "propose", "reasons"]
__getattr__ = importing(
    __name__,
    {
        "haulage.tables.index": "IndexPlan index_plan",
        "haulage.tables.plan.predicting": "Prediction",
        "haulage.tables.plan.proposing": "Plan choose predict propose reasons",
    },
    extras={"duckdb": "tables", "pyarrow": "tables"},
)
