"""Lines of a shell: the command with its variables and arguments, in a folder with files, right and wrong."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from string import Template

from command import Haul, Result


class Shell:
    """Runs lines in a folder. `$name` in a line stands for one of `names`."""

    def __init__(self, haul: Haul, **names: str) -> None:
        self.haul = haul
        self.names = names

    def fill(self, text: str) -> str:
        """Put what is known by then for the names."""
        return Template(text).safe_substitute(self.names)

    def __call__(self, line: str, code: int = 0, wrap: Sequence[str] = ()) -> Result:
        """Run a line: variables first, `NAME=value`, then the arguments."""
        words = [self.fill(word) for word in shlex.split(line)]
        variables = list(takewhile(re.compile(r"[A-Z_]+=").match, words))
        env = dict(word.split("=", 1) for word in variables)
        return self.haul(*words[len(variables) :], code=code, env=env, wrap=wrap)

    def expect(self, code: int, line: str, wrap: Sequence[str] = ()) -> Result:
        """Run a line that fails with this code, and with a hint."""
        went = self(line, code, wrap)
        assert went.hints, f"{line}\n{went.stderr[-2000:]}"
        return went


def lay_out(folder: Path) -> Path:
    """Make the files that the lines name."""
    for name in ("x", "y", "links", "not-utf-8", "into", "empty"):
        (folder / name).mkdir()
    for name in ("a", "b", "x/a", "not-utf-8/good"):
        (folder / name).write_text(name)
    (folder / "y/a").write_text("not as long as the other")
    (folder / "links/link").symlink_to("../a")
    (folder / "into/link").symlink_to("../x")
    for name in ("full", "held/by-a-folder/a", "held/by-a-link", "held/by-a-pipe"):
        (folder / name).mkdir(parents=True)
    (folder / "held/by-a-link/a").symlink_to("../../a")
    os.mkfifo(folder / "held/by-a-pipe/a")
    (folder / "held/by-a-file").write_text("")
    (folder / "bad.toml").write_text("concurrency = 0\n")
    (folder / "torn.jsonl").write_text('{"line":"receipt","haulage":"receipt 1","destination":"b"}\n')
    with open(os.fsencode(folder / "not-utf-8") + b"/\xff", "wb"):  # noqa: PTH123
        pass
    return folder
