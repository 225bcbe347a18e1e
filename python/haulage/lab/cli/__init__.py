"""The commands ``haul lab``: one call, render. Data goes to standard output, talk to standard error."""
