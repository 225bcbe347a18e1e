"""The options that say how to reach stores, and what calls take in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from haulage.commands.grammar import with_options
from haulage.options import REACH, StoreOptions

ENDPOINT = click.option("--endpoint", metavar="URL", help="The service of az:// or s3://.")
INSECURE_HTTP = click.option("--insecure-http", is_flag=True, help="Allow plain http to other machines.")
PROXY = click.option("--proxy", metavar="URL|none", help="Use this proxy, or none; overrides HTTPS_PROXY.")
BIND = click.option("--bind", metavar="ADDRESS", help="Connect from this address of the machine.")
CA = click.option("--ca", metavar="FILE", help="Also trust the certificate authorities in this PEM file.")
STALL_TIMEOUT = click.option(
    "--stall-timeout",
    metavar="DURATION",
    help="Retry a request after this long without progress; default 30s.",
)
CAP = click.option("--cap", metavar="RATE", help="Limit the rate, such as 100mbit.")

#: All of them.
store_options = with_options(
    ENDPOINT,
    click.option("--region", metavar="NAME", help="Region of an S3 bucket."),
    click.option(
        "--addressing",
        metavar="HOW",
        type=click.Choice(["auto", "path", "virtual"]),
        help="How S3 URLs name a bucket: auto (host at AWS, path elsewhere), path or virtual.",
    ),
    click.option(
        "--no-sign-request",
        "unsigned",
        is_flag=True,
        help="Send S3 requests without a signature, for public data.",
    ),
    click.option(
        "--requester-pays", is_flag=True, help="Agree to pay for reads from requester-pays S3 buckets."
    ),
    INSECURE_HTTP,
    PROXY,
    BIND,
    CA,
    STALL_TIMEOUT,
    CAP,
)


def reached(given: Mapping[str, Any]) -> StoreOptions:
    """Return what a command was given of these as a call takes it; what was left out is not in it."""
    options: StoreOptions = {}
    for name in REACH:
        if given.get(name) not in (None, False):
            options[name] = given[name]  # type: ignore[literal-required]
    return options
