"""The options that every command takes, where they stand before the name of the command."""

from __future__ import annotations

from collections.abc import Sequence


def leading(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divide a command line into the options of all commands that it begins with, and the rest.

    >>> leading(["--json", "--progress", "none", "-qv", "run", "--quiet"])
    (['--json', '--progress', 'none', '-qv'], ['run', '--quiet'])
    """
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--progress":
            at += 2
        elif word in ("--json", "--quiet", "--verbose") or word.startswith("--progress=") or _letters(word):
            at += 1
        else:
            break
    return list(words[:at]), list(words[at:])


def without_verbose(words: Sequence[str]) -> tuple[list[str], int]:
    """Return the words without those that ask for what is decided, and how often they do.

    >>> without_verbose(["-vv", "-qv", "--verbose", "run", "-q", "--", "-v"])
    (['-q', 'run', '-q', '--', '-v'], 4)
    """
    end = words.index("--") if "--" in words else len(words)
    kept: list[str] = []
    count = 0
    for word in words[:end]:
        if word == "--verbose":
            count += 1
        elif _letters(word):
            count += word.count("v")
            kept += ["-q"] * word.count("q")
        else:
            kept.append(word)
    return [*kept, *words[end:]], count


def _letters(word: str) -> bool:
    """Return whether a word holds nothing but ``-q`` and ``-v``."""
    return word[:1] == "-" and word[1:] != "" and not word[1:].strip("qv")
