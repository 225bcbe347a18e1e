"""The report: one offline page, the check of its numbers, and the comparison of two runs."""

from haulage.lab.report.compare import Comparison as Comparison, compare as compare
from haulage.lab.report.page import write as write
from haulage.lab.report.verify import Check as Check, verify as verify
