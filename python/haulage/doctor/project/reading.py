"""Which kind of file a project has."""

from __future__ import annotations

from pathlib import Path

from haulage.doctor.project import environment_file, pyproject_file, requirements_file
from haulage.doctor.project.decoding import decoded
from haulage.doctor.project.wanted import Source
from haulage.errors import LocalIOError, NotFoundError, UsageError

KINDS = "requirements.txt, pyproject.toml or environment.yml"


def read(path: Path) -> Source:
    """Read the file of a project: what it is follows from its name.

    Raises:
        NotFoundError: It is not there.
        LocalIOError: It cannot be read.
        UsageError: It is none that lists what a project needs.
    """
    try:
        text = decoded(path.read_bytes())
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        cause = "it is a folder" if path.is_dir() else "there is no such file"
        raise NotFoundError("read", str(path), cause, f"name the project's {KINDS}") from None
    except UnicodeDecodeError:
        raise UsageError("read", str(path), "it is not UTF-8 text", f"name the project's {KINDS}") from None
    except OSError as error:
        raise LocalIOError("read", str(path), error.strerror or str(error)) from None
    return parse(path, text)


def parse(path: Path, text: str, *, alone: bool = False) -> Source:
    """Read the text of a project's file.

    Args:
        path: Its name; nothing is read from there.
        text: What it holds.
        alone: Whether somebody sent it, so that nothing that it includes is read.

    Raises:
        LocalIOError: What it includes cannot be read.
        UsageError: It is none that lists what a project needs.
    """
    try:
        match path.suffix.lower():
            case ".toml":
                return pyproject_file.read(path, text)
            case ".yml" | ".yaml":
                return environment_file.read(path, text, alone=alone)
            case ".txt" | ".in" | ".pip" | ".lock" if "[[package]]" not in text:
                return requirements_file.read(path, text, alone=alone)
            case _:
                hint = f"name the project's {KINDS}"
                raise UsageError("read", str(path), "not a file of a project", hint)
    except RecursionError:
        raise UsageError("read", str(path), "nested too deeply", f"name the project's {KINDS}") from None
