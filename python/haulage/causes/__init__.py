"""What limited a transfer, judged in one place: of the record of one job for ``haul why``, and for the lab.

The flow: :mod:`evidence` has the numbers, :mod:`fit` splits the time of requests, :mod:`split` the time in
flight by causes, and ``decide`` in :mod:`rules` names one. With :mod:`effects` of experiments,
:mod:`confirmed` may confirm it. :mod:`vocabulary`, :mod:`sentences` and :mod:`jobs` have the words, and
:mod:`settling` the experiment that would settle it. Nothing here knows files, commands or reports.
"""
