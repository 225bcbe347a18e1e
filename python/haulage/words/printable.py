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


def escaped(name: str) -> str:
    r"""Return a name with what a terminal would act on written as escapes, so that no two names become one.

    >>> escaped("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in name)


def _visible(letter: str) -> str:
    # Controls, formats (changes of direction), halves of pairs, ends of lines: no readable name has any.
    return letter if unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp") else _HIDDEN
