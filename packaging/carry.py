"""Make the folder that is carried to machines without the Internet: `packaging/carry.py [--python 3.12]...`.

It holds the packages, a wheel for everything that Haulage and its extras need, the documents, the demo with
its data, an installer and the checksums of all of it. `make carry` calls it after `make packages` and
`make site`.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from release import version

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "build/packages"
SITE = ROOT / "build/site"
#: The oldest first: pip takes what an older glibc can run where there is a choice.
GLIBC = ("2_17", "2_24", "2_26", "2_27", "2_28")


def main() -> None:
    """Make the folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", action="append", dest="pythons", metavar="3.N")
    pythons = parser.parse_args().pythons or [f"3.{sys.version_info.minor}"]
    folder = ROOT / "build/carry" / f"haulage-{version()}-{platform.machine()}"
    shutil.rmtree(folder.parent, ignore_errors=True)
    shutil.copytree(PACKAGES, folder / "packages", ignore=shutil.ignore_patterns("*.whl", "SHA256SUMS"))
    wheelhouse = folder / "wheelhouse"
    wheelhouse.mkdir()
    for wheel in PACKAGES.glob("*.whl"):
        shutil.copy(wheel, wheelhouse)
    for python in pythons:
        download(wheelhouse, python)
    shutil.copytree(SITE, folder / "docs")
    shutil.copytree(ROOT / "examples/demo", folder / "demo", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("install.sh", "README.txt"):
        shutil.copy(ROOT / "packaging/carry" / name, folder)
    (folder / "PYTHON").write_text(" ".join(pythons) + "\n", encoding="utf-8")
    sums(folder)
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    print(f"{folder}: {len(files)} files, {size / 2**20:.0f} MiB, {len(list(wheelhouse.iterdir()))} wheels")


def download(wheelhouse: Path, python: str) -> None:
    """Fetch the wheels of every extra for a version of Python, in the versions that the tests use."""
    machine = platform.machine()
    (wheel,) = wheelhouse.glob("haulage-*.whl")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(wheelhouse)]
    command += ["--only-binary", ":all:", "--constraint", str(ROOT / "requirements/dev.lock")]
    command += ["--python-version", python, "--implementation", "cp"]
    for abi in (f"cp{python.replace('.', '')}", "abi3", "none"):
        command += ["--abi", abi]
    for glibc in GLIBC:
        command += ["--platform", f"manylinux_{glibc}_{machine}"]
    for older in ("manylinux2014", "manylinux2010", "manylinux1", "linux"):
        command += ["--platform", f"{older}_{machine}"]
    # pip too: a Python of a distribution may have none.
    subprocess.run([*command, f"{wheel}[all]", "pip"], check=True)


def sums(folder: Path) -> None:
    """Write the checksum of every file, as `sha256sum --check` reads them."""
    lines = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        lines.append(f"{digest}  {path.relative_to(folder).as_posix()}\n")
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
