"""The local, read-only HTTP server of the viewer.

A request goes through ``guarding`` (access), ``app`` (routes), ``library`` (open files and their cache) and
``views`` (values, series, means).
"""
