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


def not_again(led: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return the options before a name without those that stand after it too: the latter count.

    >>> not_again(["--json", "--progress", "none", "-q"], ["run", "--progress=bar", "-vq", "--", "--json"])
    ['--json']
    """
    end = words.index("--") if "--" in words else len(words)
    later = {_name(word) for word in words[:end]}
    kept: list[str] = []
    at = 0
    while at < len(led):
        length = 2 if led[at] == "--progress" else 1
        if _name(led[at]) not in later:
            kept += led[at : at + length]
        at += length
    return kept


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


def _name(word: str) -> str:
    """Return the long name of an option of all commands."""
    return "--quiet" if _letters(word) and "q" in word else word.partition("=")[0]


def _letters(word: str) -> bool:
    """Return whether a word holds nothing but ``-q`` and ``-v``."""
    return word[:1] == "-" and word[1:] != "" and not word[1:].strip("qv")
