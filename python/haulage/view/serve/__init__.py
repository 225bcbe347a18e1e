"""The local, read-only HTTP server of the viewer.

A request goes through ``app`` (routes; :mod:`haulage.web` lets it in), ``library`` (open files and their
cache) and ``views`` (values, series, means).
"""
