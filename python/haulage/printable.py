"""Text of others made fit for a terminal."""

from __future__ import annotations

import unicodedata

#: What stands for a character that would move the cursor or change the direction of the text.
_HIDDEN = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    r"""Return text of one line without what a terminal would act on.

    Names of objects and messages come from other machines: one may hold an escape sequence.

    >>> printable("a\x1b[2Jb\nc")
    'a�[2Jb c'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text.replace("\n", " ").replace("\t", " ")))


def _visible(letter: str) -> str:
    # Controls, formats such as changes of direction, halves of pairs: nothing of a readable name.
    return letter if unicodedata.category(letter) not in ("Cc", "Cf", "Cs") else _HIDDEN
