"""What limited a transfer, judged in one place: of the record of one job for ``haul why``, and for the lab.

The flow: :mod:`vocabulary` has the causes and their words. It knows no files and no commands.
"""
