"""`haulage.errors`: the same kinds as the engine's; wrong arguments say what to write instead."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import haulage
import haulage.errors
from haulage import _engine
from haulage.errors import BY_CODE, HaulageError, NotFoundError
from sentences import Sentence


def test_kinds_and_exit_codes_agree_with_the_engine() -> None:
    assert {code: kind.exit_code for code, kind in BY_CODE.items()} == _engine.error_kinds()


def test_the_engine_lists_every_kind() -> None:
    """One that is missing from `ErrorKind::ALL` would be in no table and have no class."""
    source = Path(__file__).parents[1].joinpath("crates/haulage/src/error/kind.rs").read_text()
    codes = re.findall(r'Self::\w+ => "(\w+)"', source)
    assert sorted(codes) == sorted(_engine.error_kinds())


def test_the_table_of_the_module_has_every_kind() -> None:
    table = re.findall(r"^(\w+Error) +(\w+) +(\d+)$", haulage.errors.__doc__ or "", re.MULTILINE)
    assert {code: (name, int(exit_code)) for name, code, exit_code in table} == {
        code: (kind.__name__, kind.exit_code) for code, kind in BY_CODE.items()
    }


def test_every_class_is_public() -> None:
    for kind in BY_CODE.values():
        assert getattr(haulage, kind.__name__) is kind


def test_an_error_reads_as_one_line_and_survives_pickling() -> None:
    error = NotFoundError(
        "read", "az://data/a.nc", "no such blob", "list what is there with: haul ls az://data"
    )
    line = "read az://data/a.nc: no such blob (hint: list what is there with: haul ls az://data)"
    copy = pickle.loads(pickle.dumps(error))
    assert str(error) == str(copy) == line
    assert (copy.code, copy.exit_code, copy.operation) == ("not_found", 4, "read")


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"block_size": 8}, "write 8KiB or 8MiB"),
        ({"max_memory": "96"}, "write 96KiB or 96MiB"),
        ({"stall_timeout": "30"}, "write 30s or 30m"),
        ({"concurrency": 0}, "whole number from 1"),
        ({"method": "fast"}, "auto, whole, ranges"),
        ({"checksum": "sha1"}, "crc64, md5, none"),
        ({"overwrite": "sometimes"}, "if-different, always, never"),
        ({"no_such_option": 1}, "help(haulage.copy)"),
    ],
)
def test_a_wrong_option_says_what_to_write(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(haulage.UsageError) as caught:
        haulage.copy("a", "b", **options)
    assert caught.value.hint is not None
    assert hint in caught.value.hint


def test_a_url_in_a_path_is_refused(sentence: Sentence) -> None:
    with pytest.raises(haulage.UsageError) as error:
        haulage.copy(Path("az://data/a"), "b")
    sentence(error.value)


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(haulage.UsageError, match="UTF-8"):
        haulage.copy("a\udcff", "b")


def test_one_source_needs_a_destination() -> None:
    with pytest.raises(haulage.UsageError, match="no destination"):
        haulage.copy("a")


def test_a_wrong_link_is_refused() -> None:
    with pytest.raises(HaulageError) as caught:
        haulage.Emulator(link="rtt=60")
    assert caught.value.code == "usage"
