"""Plans mean by a unit what the engine means by it, and what they write can be read."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

import pytest

import haulage
from haulage.errors import NotFoundError, UsageError
from haulage.lab.toml_tables import to_toml
from haulage.lab.units import parse_duration, parse_rate, parse_size

MIB = 2**20
Parse = Callable[[str], int]

#: The engine's own tests say the same of these.
TAKEN: list[tuple[str, Parse, str, int]] = [
    ("block_size", parse_size, "8MiB", 8 * MIB),
    ("block_size", parse_size, " 8 mib ", 8 * MIB),
    ("block_size", parse_size, "8m", 8 * MIB),
    ("block_size", parse_size, "1.5GiB", 3 << 29),
    ("block_size", parse_size, "500KB", 500_000),
    ("block_size", parse_size, "2tib", 2 << 40),
    ("block_size", parse_size, "1TB", 10**12),
    ("block_size", parse_size, ".5MiB", MIB // 2),
    ("cap", parse_rate, "20mbit", 20_000_000),
    ("cap", parse_rate, "1Gbit/s", 10**9),
    ("cap", parse_rate, "100MiB/s", 800 * MIB),
    ("cap", parse_rate, "10 kb", 80_000),
    ("stall_timeout", parse_duration, "60ms", 60_000_000),
    ("stall_timeout", parse_duration, "1.5 s", 1_500_000_000),
    ("stall_timeout", parse_duration, "30m", 1_800_000_000_000),
    ("stall_timeout", parse_duration, "2d", 172_800_000_000_000),
]
REFUSED: list[tuple[str, Parse, str]] = [
    ("block_size", parse_size, "8"),
    ("block_size", parse_size, "B"),
    ("block_size", parse_size, "-1MiB"),
    ("block_size", parse_size, "1.5.2B"),
    ("block_size", parse_size, "1e3B"),
    ("block_size", parse_size, "0"),
    ("block_size", parse_size, ".B"),
    ("block_size", parse_size, "8Ki"),
    ("block_size", parse_size, "8\u212aiB"),  # the sign for kelvin
    ("block_size", parse_size, "99999999999999TiB"),
    ("block_size", parse_size, "9" * 5000 + "B"),
    ("cap", parse_rate, "20"),
    ("cap", parse_rate, "1tib"),
    ("cap", parse_rate, "20mbit/h"),
    ("stall_timeout", parse_duration, "30"),
    ("stall_timeout", parse_duration, "30S"),
    ("stall_timeout", parse_duration, "2y"),
    ("stall_timeout", parse_duration, "999999999999h"),
]


@pytest.mark.parametrize(("option", "parse", "text", "value"), TAKEN, ids=[text for *_, text, _ in TAKEN])
def test_what_the_engine_takes_a_plan_takes(option: str, parse: Parse, text: str, value: int) -> None:
    assert parse(text) == value
    options: Any = {option: text}
    with pytest.raises(NotFoundError):
        haulage.copy("/nowhere/at/all", "/nowhere/else", **options)


@pytest.mark.parametrize(("option", "parse", "text"), REFUSED, ids=[text[:20] for *_, text in REFUSED])
def test_what_the_engine_refuses_a_plan_refuses_alike(option: str, parse: Parse, text: str) -> None:
    with pytest.raises(UsageError) as ours:
        parse(text)
    options: Any = {option: text}
    with pytest.raises(UsageError) as engine:
        haulage.copy("/nowhere/at/all", "/nowhere/else", **options)
    assert (ours.value.cause, ours.value.hint) == (engine.value.cause, engine.value.hint)


def test_only_plans_have_durations_in_pieces() -> None:
    assert parse_duration("9m30s") == parse_duration("9m 30s") == 570_000_000_000


def test_text_of_any_kind_is_written_so_that_it_reads_back() -> None:
    odd = 'a "quoted" \\ path\twith\r\n\x00\x7f\x1b and \u2028'
    values = {"title": odd, "key with space": 1, "of": {"x.y": [odd]}, "arms": [{"name": odd, "none": None}]}
    read = tomllib.loads(to_toml(values))
    assert read == values | {"arms": [{"name": odd}]}
