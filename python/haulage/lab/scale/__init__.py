"""Many nodes at once (E4): each a process of its own, started at one agreed moment.

A cell of so many nodes goes like this. The nodes connect to the :class:`~haulage.lab.scale.fleet.Fleet`,
which asks each for its clock sixteen times and keeps the answer with the shortest round trip; half of that
is the most by which the offset can be wrong. Each is told what to move and says that it is ready. Then all
are told one moment, each on its own clock, wait for it, and move their files with the arm's method. Each
writes its requests to a Parquet file of its own, on its own clock; :mod:`~haulage.lab.scale.merge` puts
them on one.

What the nodes say of themselves becomes ``nodes.parquet``: a row for every node that was declared, also
for one that was lost.
"""
