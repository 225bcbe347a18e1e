"""No name of a file or an object moves the cursor from an error of a command that is written in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Haul
from haulage.errors import NotFoundError
from sentences import Sentence

NAME = "no\x1b]0;title\x07\x1b[2Jsuch"


def test_an_error_in_words_is_one_line_of_what_can_be_seen(sentence: Sentence) -> None:
    error = NotFoundError("stat", NAME, "gone\nfor\udc80 good", "look at \u202eit")
    sentence(str(error))
    assert error.object == NAME


@pytest.mark.parametrize(
    "words",
    [
        ["watch", "--once", NAME],
        ["why", NAME],
        ["view", NAME],
        ["index", NAME],
        ["lab", "report", NAME],
        ["doctor", "--project", NAME],
        ["table", "plan", f"{NAME}.csv"],
    ],
    ids=lambda words: "-".join(words[:-1]),
)
def test_what_commands_say_moves_no_cursor(tmp_path: Path, words: list[str]) -> None:
    ran = Haul(tmp_path, loaded=True)(*words, code=4)
    assert "such" in ran.text + ran.stderr
    assert not {"\x1b", "\x07"} & set(ran.text + ran.stderr)
