"""Fail where a committed file names this machine or a package index, or a document links to nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: What a lockfile or a script picks up from the machine it was made on.
MACHINE = re.compile(
    r"/(?:home|Users)/\w+/|/tmp/wt\b|/root/|@ file:///\w|--(?:index-url|find-links|trusted-host) \S"
)
#: Lockfiles name versions and hashes; where they come from is the reader's choice. Cargo.lock names
#: the public index by design.
LOCKFILES = re.compile(r"requirements/.*\.lock|package-lock\.json")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def committed() -> list[Path]:
    """Return the text files under version control."""
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    paths = [ROOT / name for name in found.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:4096]]


def machine_faults(path: Path, text: str) -> Iterator[str]:
    """Yield each line that names the machine the file was made on."""
    if path == Path(__file__).resolve():
        return
    lockfile = LOCKFILES.search(path.relative_to(ROOT).as_posix())
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE.search(line) or (lockfile and re.search(r'"resolved"|https?://\S+\.(?:whl|tgz)', line)):
            yield f"{path.relative_to(ROOT)}:{number}: names a machine or an index: {line.strip()[:80]}"


def link_faults(path: Path, text: str) -> Iterator[str]:
    """Yield each link of a Markdown file to a file that is not there."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    for target in LINK.findall(prose):
        if "://" not in target and not target.startswith("mailto:") and not (path.parent / target).exists():
            yield f"{path.relative_to(ROOT)}: links to {target}, which is not there"


def main() -> int:
    """Print each fault; return 1 if there is one."""
    faults: list[str] = []
    for path in committed():
        text = path.read_text(encoding="utf-8", errors="replace")
        faults += machine_faults(path, text)
        if path.suffix == ".md":
            faults += link_faults(path, text)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
