"""Sentences about jobs whose requests had little to do with how long they took."""

from __future__ import annotations

from haulage.causes.evidence import Evidence
from haulage.words.numbers import counted, format_time


def before(_: object, evidence: Evidence) -> str:
    """Say what came before the first request."""
    return (
        f"{format_time(evidence.before_ns)} of {format_time(evidence.wall_ns)} passed before the first"
        " request: finding out what to copy, or starting nodes if there were several. The link did not limit"
        " this job."
    )


def listing(_: object, evidence: Evidence) -> str:
    """Say how long lists took before the first request."""
    return (
        f"{format_time(evidence.before_ns)} of {format_time(evidence.wall_ns)} passed before the first"
        f" request for an object. Haulage listed for {format_time(evidence.asked_ns)} of it, one page after"
        " another."
        " The rate of the link did not limit this job."
    )


def nodes(_: object, evidence: Evidence) -> str:
    """Say how long nodes were starting."""
    return (
        f"{format_time(evidence.before_ns)} of {format_time(evidence.wall_ns)} passed before the first node"
        " sent a request: the nodes were starting, or this machine was connecting to them. The link did not"
        " limit this job."
    )


def after(_: object, evidence: Evidence) -> str:
    """Say what came after the last request."""
    return (
        f"{format_time(evidence.after_ns)} of {format_time(evidence.wall_ns)} passed after the last request:"
        " waiting for the disk to have it all. The link did not limit this job."
    )


def few(_: object, evidence: Evidence) -> str:
    """Say that a few requests explain nothing."""
    return (
        f"It finished in {counted(evidence.requests, 'request')} within {format_time(evidence.wall_ns)}:"
        " there is nothing to explain, and too little to judge the path by."
    )


def empty(_: object, __: Evidence) -> str:
    """Say that the record holds no requests."""
    return (
        "The record holds no requests: all was there already, nothing was found to copy, or the job ended"
        " before its first request."
    )
