"""Experiments on a path: short transfers that change one thing.

All that moves bytes for a verdict is here; :mod:`haulage.lab.analysis` decides from the rows that it leaves.
"""
