"""What is installed in one Python, told by it.

This source is sent to nodes as text. So it imports nothing of ours, and runs in any Python from 3.8 on.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from importlib import metadata
from typing import Any


def inventory() -> dict[str, Any]:
    """Return the versions of Python and of all packages, what each requires, and what markers are judged by.

    Returns:
        ``packages``: by canonical name, ``name``, ``version`` and ``requires``; ``conda``: versions of the
        packages of the conda environment, Python or not; ``markers``: the environment of PEP 508;
        ``host`` and ``executable``.
    """
    packages: dict[str, Any] = {}
    for one in metadata.distributions():
        name = one.metadata["Name"]
        # The first on the path is the one that is imported.
        if name and re.sub(r"[-_.]+", "-", name).lower() not in packages:
            packages[re.sub(r"[-_.]+", "-", name).lower()] = {
                "name": name,
                "version": one.version,
                "requires": list(one.requires or []),
            }
    kind = sys.implementation.version
    version = f"{kind.major}.{kind.minor}.{kind.micro}"
    if kind.releaselevel != "final":
        version += kind.releaselevel[0] + str(kind.serial)
    return {
        "host": platform.node(),
        "executable": sys.executable,
        "packages": packages,
        "conda": _conda(),
        "markers": {
            "implementation_name": sys.implementation.name,
            "implementation_version": version,
            "os_name": os.name,
            "platform_machine": platform.machine(),
            "platform_python_implementation": platform.python_implementation(),
            "platform_release": platform.release(),
            "platform_system": platform.system(),
            "platform_version": platform.version(),
            "python_full_version": platform.python_version(),
            "python_version": ".".join(platform.python_version_tuple()[:2]),
            "sys_platform": sys.platform,
        },
    }


def _conda() -> dict[str, str]:
    folder = os.path.join(sys.prefix, "conda-meta")  # noqa: PTH118
    found = {}
    for file in os.listdir(folder) if os.path.isdir(folder) else []:  # noqa: PTH112, PTH208
        if file.endswith(".json"):
            with open(os.path.join(folder, file), encoding="utf-8") as text:  # noqa: PTH118, PTH123
                told = json.load(text)
            found[str(told["name"]).lower()] = str(told["version"])
    return found
