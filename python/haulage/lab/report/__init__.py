"""The report: one offline page, the check of its numbers, and the comparison of two runs."""
