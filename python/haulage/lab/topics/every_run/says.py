"""What is said of every run, as far as its tables allow."""

from __future__ import annotations

from haulage.lab.topics.baseline.says import a_a, power
from haulage.lab.topics.ceiling.says import ceiling
from haulage.lab.topics.over_time.says import steady
from haulage.lab.topics.rates.says import odd_cells

CARDS = {"": (ceiling, a_a, power, steady, odd_cells)}
