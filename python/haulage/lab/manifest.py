"""What a run says of itself: what was run, where, with which versions, on which machine."""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import haulage
from haulage.errors import UsageError
from haulage.lab import host
from haulage.lab.chain import LAYOUT
from haulage.lab.plan import Plan
from haulage.lab.schedule import schedule
from haulage.lab.store import RunStore
from haulage.lab.target import Target
from haulage.words.secrets import command_without_secrets

#: What the tables are made and read with; their versions go into the manifest.
_PACKAGES = (
    "duckdb",
    "numpy",
    "scipy",
    "pandas",
    "ruptures",
    "pymannkendall",
    "diptest",
    "altair",
    "vl-convert-python",
    "jinja2",
    "tomli-w",
    "psutil",
)


def same_run(store: RunStore, plan: Plan, target: Target) -> None:
    """Refuse to continue a run with another plan or target.

    Raises:
        UsageError: It was begun with others.
    """
    before = store.manifest
    if before["plan_sha256"] != plan.sha256 or before["target"] != target.text:
        raise UsageError(
            "continue run",
            str(store.folder),
            "it was begun with another plan or target",
            "give no plan with --continue: the run's own is taken",
        )


def new_manifest(
    plan: Plan, target: Target, command: Sequence[str], left_out: Mapping[str, str]
) -> dict[str, Any]:
    """Return the manifest of a run that is about to begin."""
    cells = schedule(plan)
    return {
        "lab": LAYOUT,
        "run": secrets.token_hex(4),
        "plan": plan.name,
        "plan_sha256": plan.sha256,
        "state": "running",
        "seed": plan.seed,
        "created_unix_ns": time.time_ns(),
        "ended_unix_ns": None,
        "command": command_without_secrets(list(command) or ["haul", *sys.argv[1:]]),
        "target": target.text,
        "link": target.link,
        "faults": target.faults if target.faults not in (None, "none") else None,
        "insecure_http": target.insecure_http,
        "endpoint": (target.url or "").split("?")[0] or None,
        "versions": versions(),
        "commit": _commit(),
        "host": host.facts(),
        "factors": {
            "treatment": list(dict.fromkeys(cell.treatment for cell in cells)),
            "files": [files.name for files in plan.files],
            "size_bytes": [files.size_bytes for files in plan.files],
            "direction": list(plan.directions),
            "node": [node.name for node in plan.nodes],
        }
        | ({"node_count": list(plan.counts)} if plan.counts else {}),
        "replicates": plan.replicates,
        "replicates_by_files": {files.name: files.replicates or plan.replicates for files in plan.files},
        "order": "randomised, interleaved",
        "left_out": dict(left_out),
        "cells_planned": len(cells),
        "cells_done": 0,
        "stopped_because": None,
        "ceiling": None,
        "files": {},
    }


def _commit() -> str | None:
    """Return the commit of the checkout that contains this package; ``None`` for an installed one."""
    folder = Path(haulage.__file__).parent
    if not any((above / ".git").exists() for above in folder.parents):
        return None
    words = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.strip() or None


def versions() -> dict[str, str | None]:
    """Return the versions of Haulage, Python, the kernel, and of what the analysis is made with."""
    found: dict[str, str | None] = {
        "haulage": haulage.__version__,
        "python": sys.version.split()[0],
        "kernel": host.facts()["kernel"],
    }
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found
