"""`haul lab` in this process, where its packages are loaded once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Result, clean_environment, in_process


class InProcess:
    """Called as `command.Haul` is, with the folder and the environment of a test."""

    def __init__(
        self, folder: Path, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[bytes]
    ) -> None:
        patch.chdir(folder)
        for name, value in clean_environment(folder).items():
            patch.setenv(name, value)
        self._captured = captured

    def __call__(self, command: str, *args: str | Path, code: int = 0) -> Result:
        """Run it; fail unless it ends with `code`."""
        self._captured.readouterr()
        line = [*map(str, args)]
        ended = in_process(command, *line)
        said = self._captured.readouterr()
        result = Result(["haul", command, *line], ended, said.out, said.err.decode(errors="replace"))
        assert ended == code, f"{' '.join(result.args)}\nended with {ended}, not {code}:\n{result.stderr}"
        return result
