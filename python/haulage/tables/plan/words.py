"""Shares and keys for people, and text of others made fit for a terminal."""

from __future__ import annotations

from haulage.words.printable import printable


def percent(share: float) -> str:
    """Return a share, with more digits where it is small.

    >>> percent(0.9), percent(0.0012), percent(0)
    ('90 %', '0.12 %', '0 %')
    """
    if not share or share >= 0.01:
        return f"{100 * share:.0f} %"
    return f"{100 * share:.2g} %"


def short(text: str, most: int = 60) -> str:
    r"""Return text without what a terminal would act on, cut to a length.

    >>> short("a\x1b[2J\u202eb")
    'a�[2J�b'
    """
    kept = printable(text)
    return kept if len(kept) <= most else kept[: most - 1] + "…"


def listed(names: list[str] | tuple[str, ...], most: int = 8) -> str:
    """Return some of the names, and how many more there are.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
