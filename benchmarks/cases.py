"""The whole campaign as data: what is moved, over what, by whom, and what it must reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
AZURE = ("haul", "rclone", "azcopy", "obstore", "azure")
FAST = ("haul", "rclone", "azcopy", "obstore")
S3 = ("haul", "s5cmd", "rclone", "obstore")
#: Written in Go.
GO = ("s5cmd", "rclone", "azcopy")

Verb = Literal["up", "down", "list", "version", "same"]
#: `emulate` by Azure's interface, `emulate-s3` by the other; `s3` is versitygw.
Server = Literal["emulate", "emulate-s3", "nginx", "tls", "azurite", "s3", "none"]


@dataclass(frozen=True)
class Target:
    """A bound on a figure of haul's runs, all of which `figures.py` knows.

    ``than`` names the other side: a mover, a case, the "best" by wall time, or of those in Go ("go") the one
    whose figure is the least.
    """

    figure: str
    least: float | None = None
    most: float | None = None
    than: str = ""


@dataclass(frozen=True)
class Case:
    """Work that every arm does alike. Sizes are for one object."""

    name: str
    group: str
    title: str
    does: Verb
    count: int = 1
    size: int = 0
    server: Server = "emulate"
    store: str = "null"
    link: str = "none"
    faults: str = ""
    arms: tuple[str, ...] = AZURE
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  #: by arm
    seed: tuple[str, ...] = ()  #: options of the upload that a download reads
    events: bool = False  #: whether to count what haul's requests came to
    slow: bool = False  #: peers take part only with --peers-on-slow
    rounds: int = 5
    targets: tuple[Target, ...] = ()

    @property
    def bytes(self) -> int:
        """Payload in all."""
        return self.count * self.size


def most(figure: str, bound: float, than: str = "") -> Target:
    """At most ``bound``."""
    return Target(figure, most=bound, than=than)


def least(figure: str, bound: float, than: str = "") -> Target:
    """At least ``bound``."""
    return Target(figure, least=bound, than=than)


MEMORY = most("memory, MiB", 128)
#: rclone's default of 4 files at a time would measure its caution; the others choose by themselves.
SMALL = {"rclone": ("--transfers", "32", "--checkers", "32")}
COLLAPSE = "rtt=60ms,total=40mbit,at=5s:total=2.3mbit,at=60s:total=40mbit"
WAN_UP = (most("wall, s", 10.3), least("times faster", 3.5, "azcopy"), MEMORY)
WAN_MANY = (most("wall, s", 10.3), least("times faster", 3, "best"), MEMORY)
S3_LARGE = (most("wall to theirs", 1, "best"), most("CPU to theirs", 0.5, "go"), MEMORY)
S3_SMALL = (least("times faster", 3, "best"), most("CPU to theirs", 0.5, "go"), MEMORY)
#: Its server takes most of the time, whoever asks it.
S3_OTHER = (most("wall to theirs", 1, "best"), most("CPU to theirs", 0.5, "go"), MEMORY)

CASES = (
    Case("version", "startup", "start and end", "version", server="none",
         targets=(most("wall, s", 0.06),)),
    Case("tiny", "startup", "up 1 x 1 KiB", "up", size=KIB, targets=(most("wall, s", 0.1), MEMORY)),
    Case("up", "loopback", "up 1 GiB", "up", size=GIB,
         targets=(most("CPU, s", 0.5), most("wall to theirs", 1, "obstore"), MEMORY)),
    Case("up-md5", "loopback", "up 1 GiB, MD5 on every block", "up", size=GIB,
         arms=("haul", "rclone", "azcopy"),
         options={"haul": ("--checksum", "md5"), "azcopy": ("--put-md5",)},
         targets=(most("CPU, s", 0.75), most("CPU to theirs", 0.2, "azcopy"), MEMORY)),
    Case("up-https", "loopback", "up 1 GiB, https", "up", size=GIB, server="tls",
         arms=("haul", "rclone", "obstore"),
         targets=(most("CPU over http, s/GiB", 0.4, "up"), MEMORY)),
    Case("down-https", "loopback", "down 1 GiB, https", "down", size=GIB, server="tls",
         arms=("haul", "rclone", "obstore"),
         targets=(most("CPU over http, s/GiB", 0.25, "down"), MEMORY)),
    Case("down", "loopback", "down 4 GiB", "down", size=4 * GIB,
         targets=(most("wall to theirs", 0.5, "best"), most("CPU, s/GiB", 0.5), most("memory, MiB", 256))),
    Case("down-md5", "loopback", "down 2 GiB that has an MD5", "down", size=2 * GIB, store="memory",
         seed=("--content-md5",), arms=("haul", "rclone", "azcopy"), targets=(MEMORY,)),
    Case("small-up", "small", "up 10,000 x 4 KiB", "up", 10_000, 4 * KIB, options=SMALL,
         targets=(least("times faster", 3, "best"), MEMORY)),
    Case("small-down", "small", "down 10,000 x 4 KiB", "down", 10_000, 4 * KIB, options=SMALL,
         targets=(least("times faster", 3, "best"), MEMORY)),
    Case("list", "small", "list 1,000,000 names", "list", 1_000_000, arms=("haul", "rclone", "obstore"),
         targets=(most("CPU to theirs", 1 / 3, "obstore"), most("memory, MiB", 64))),
    Case("wan-up", "wan", "WAN, up 1 GiB", "up", size=GIB, link="wan", targets=WAN_UP),
    Case("wan-up-50", "wan", "WAN, up 50 x 20 MiB", "up", 50, 20 * MIB, link="wan", targets=WAN_MANY),
    Case("wan-down-50", "wan", "WAN, down 50 x 20 MiB", "down", 50, 20 * MIB, link="wan", targets=WAN_MANY),
    Case("far-up", "wan", "far, up 256 MiB", "up", size=256 * MIB, link="rtt=200ms,conn=5mbit,total=200mbit",
         rounds=3, targets=(least("share of the link", 0.75), MEMORY)),
    Case("slow-up", "slow", "slow, up 40 MiB", "up", size=40 * MIB, link="rtt=100ms,total=2mbit",
         events=True, slow=True, rounds=2,
         targets=(most("failed", 0), most("attempts timed out", 0), least("share of the link", 0.92),
                  MEMORY)),
    Case("collapse-up", "slow", "collapse, up 60 MiB", "up", size=60 * MIB, link=COLLAPSE,
         events=True, slow=True, rounds=2,
         targets=(most("failed", 0), least("share of the link", 0.9), MEMORY)),
    Case("busy-up", "faults", "30 % answered 503, up 1 GiB", "up", size=GIB, faults="busy=30%,seed=7",
         events=True, rounds=3, targets=(most("failed", 0), most("requests to needed", 1.6), MEMORY)),
    Case("nginx-up", "second", "nginx, up 1 GiB", "up", size=GIB, server="nginx", targets=(MEMORY,)),
    Case("nginx-down", "second", "nginx, down 4 GiB", "down", size=4 * GIB, server="nginx",
         targets=(most("memory, MiB", 256),)),
    Case("azurite-same", "second", "Azurite, up 64 MiB, read back", "same", size=64 * MIB, server="azurite",
         rounds=1, targets=(most("failed", 0), MEMORY)),
    Case("s3-null-up", "s3", "S3, up 1 GiB", "up", size=GIB, server="emulate-s3", arms=S3,
         targets=S3_LARGE),
    Case("s3-null-down", "s3", "S3, down 1 GiB", "down", size=GIB, server="emulate-s3", arms=S3,
         targets=S3_LARGE),
    Case("s3-null-small-up", "s3", "S3, up 10,000 x 4 KiB", "up", 10_000, 4 * KIB, server="emulate-s3",
         arms=S3, options=SMALL, targets=S3_SMALL),
    Case("s3-null-small-down", "s3", "S3, down 10,000 x 4 KiB", "down", 10_000, 4 * KIB,
         server="emulate-s3", arms=S3, options=SMALL, targets=S3_SMALL),
    Case("s3-up", "s3", "S3 (another server), up 1 GiB", "up", size=GIB, server="s3", arms=S3,
         targets=S3_LARGE),
    Case("s3-down", "s3", "S3 (another server), down 1 GiB", "down", size=GIB, server="s3", arms=S3,
         targets=S3_LARGE),
    Case("s3-small-up", "s3", "S3 (another server), up 10,000 x 4 KiB", "up", 10_000, 4 * KIB,
         server="s3", arms=S3, options=SMALL, targets=S3_OTHER),
    Case("s3-small-down", "s3", "S3 (another server), down 10,000 x 4 KiB", "down", 10_000, 4 * KIB,
         server="s3", arms=S3, options=SMALL, targets=S3_OTHER),
)  # fmt: skip

GROUPS = tuple(dict.fromkeys(case.group for case in CASES))
BY_NAME = {case.name: case for case in CASES}
#: What `make bench` runs; `make bench-peers` runs all.
SHORT = ("startup", "loopback", "small", "wan")
