"""The server on this machine: what is seen over HTTP, to read only.

A request passes ``guarding`` (who asks), ``app`` (for what), ``library`` (files that are open, and what is
kept of them) and ``views`` (values, series, means).
"""
