"""What does not fit on this machine: nodes, links and a service with limits, as a discrete-event simulation.

:mod:`~haulage.lab.simulation.model` is the simulation: requests are events, bytes flow between them at rates
that all who are in flight share. :mod:`~haulage.lab.simulation.calibrate` takes its numbers from the few
nodes of a run, :mod:`~haulage.lab.simulation.founding` has what it gave for those of 2010.
"""
