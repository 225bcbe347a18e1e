"""Places from which a plan is run: ``--from A,B``, to tell whose fault it is that a rate falls.

A place is a way to the target: a link of its own, a network namespace, a proxy, or another way in. It
takes the part of a node, so that every replicate holds each treatment from every place.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from haulage.errors import UsageError
from haulage.lab.link import parse_link
from haulage.lab.plan import Node, Plan
from haulage.lab.relay import NETNS, PROXY
from haulage.lab.target import Target, need_privacy

#: What a link's specification may go on with after a comma.
_OF_LINKS = ("rtt", "conn", "total", "at", "jitter", "loss", "wan", "lan")


def seen_from(plan: Plan, words: str, target: Target) -> Plan:
    """Return the plan with the places in place of its nodes.

    Args:
        plan: What is to be run.
        words: Places after commas: the name of one of the plan's, or ``NAME=WAY``.
        target: Where to; an emulated one can be given links.

    Raises:
        UsageError: A place that is not known, a way that does not parse or does not go with the target.
    """
    if plan.nodes:
        raise UsageError(
            "read places", words, f"{plan.name} has nodes already", "choose a plan without [[nodes]]"
        )
    places = tuple(_place(word, plan, target) for word in split(words))
    labels = [place.name for place in places]
    if len(set(labels)) < len(labels):
        raise UsageError("read places", words, "a name is there twice", "give every place a name of its own")
    # Files with a link of their own are of what comes after; from other places they say nothing.
    files = tuple(item for item in plan.files if item.link is None)
    return replace(plan, nodes=places, files=files or plan.files)


def split(words: str) -> list[str]:
    """Split at commas, but not at those within a link.

    >>> split("here,far=rtt=20ms,total=8mbit,vpn=netns:vpn")
    ['here', 'far=rtt=20ms,total=8mbit', 'vpn=netns:vpn']
    """
    found: list[str] = []
    for word in words.split(","):
        if found and "=" in found[-1] and word.partition("=")[0].strip() in _OF_LINKS:
            found[-1] += f",{word}"
        else:
            found.append(word.strip())
    return found


def _place(word: str, plan: Plan, target: Target) -> Node:
    name, equals, way = word.partition("=")
    known = {place.name: place for place in plan.places}
    if not equals:
        if name not in known:
            names = ", ".join(known) or "none"
            raise UsageError(
                "read places",
                name or word,
                "no place of this name in the plan",
                f"its places: {names}; or write NAME=LINK, NAME=netns:NAME, NAME=proxy:HOST:PORT, NAME=URL",
            )
        place = known[name]
    elif way.startswith((NETNS, PROXY, "http://", "https://")):
        place = Node(name=name, via=way)
    else:
        parse_link(way)
        place = Node(name=name, link=way)
    if place.via and place.via.startswith("http://") and not target.insecure_http:
        need_privacy(place.via)
    if place.link and not target.emulated:
        raise UsageError(
            "read places",
            word,
            "only an emulated target has links to choose from",
            "write NAME=netns:NAME, NAME=proxy:HOST:PORT, or NAME=URL of another way in",
        )
    if (
        place.via
        and place.via.startswith((NETNS, PROXY))
        and urlsplit(target.url or "").scheme in ("https", "az")
    ):
        raise UsageError(
            "read places",
            word,
            "what is carried over another way must be http: a certificate is for one name",
            "give a target of http, or the place as NAME=https://HOST of another way in",
        )
    return place
