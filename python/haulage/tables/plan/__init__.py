"""Choose table keys that fit the data and the expected queries.

>>> from haulage.tables.plan import propose
>>> plan = propose({"station": ["a", "a", "b"], "day": [1, 2, 1]}, ["station = ? and day = ?"])
>>> plan.command("obs")
"haul table import data.parquet az-table://obs --partition-key '{station}' --row-key '{day:02}'"
"""

from haulage.tables.index import IndexPlan, index_plan
from haulage.tables.plan.predicting import Prediction
from haulage.tables.plan.proposing import Plan, choose, predict, propose, reasons

__all__ = ["IndexPlan", "Plan", "Prediction", "choose", "index_plan", "predict", "propose", "reasons"]
